package fusefs

import (
	"path"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fuse"
	"github.com/scrfs/scrfs/prefixfs"
)

// Unlink removes a name that is no directory.
func (r *requests) Unlink(_ <-chan struct{}, h *fuse.InHeader, name string) fuse.Status {
	n, status := r.enter(h)
	if !status.Ok() {
		return status
	}
	return r.status(r.remove(n, name, caller(h), "unlink"))
}

// Rmdir removes an empty directory.
func (r *requests) Rmdir(_ <-chan struct{}, h *fuse.InHeader, name string) fuse.Status {
	n, status := r.enter(h)
	if !status.Ok() {
		return status
	}
	return r.status(r.remove(n, name, caller(h), "rmdir"))
}

func (r *requests) remove(n *node, name string, c Caller, op string) error {
	if name == hidden {
		return errNoEntry
	}
	dir, err := dirOf(n)
	if err != nil {
		return err
	}
	_, there, err := r.catalogued(dir, name)
	if err != nil {
		return err
	}
	if !there && n.prefix == nil {
		return errNoEntry
	}
	if there {
		return r.removeCatalogued(n, dir, name, c, op)
	}
	if op == "rmdir" {
		err = r.rmdirPrefix(n.prefix, dir, name)
	} else {
		err = n.prefix.Unlink(name)
	}
	if err == nil {
		r.ns.PrefixChanged(PrefixEvent{Op: op, Path: path.Join(dir.Path, name), Caller: c})
	}
	return err
}

// removeCatalogued removes a name of the catalogue, and what the prefix has
// under the same name, which would come to light: an older file, or the copy
// of a published one.
func (r *requests) removeCatalogued(n *node, dir Dir, name string, c Caller, op string) error {
	if op == "rmdir" {
		return r.ns.Rmdir(noContext(), dir, name, c)
	}
	if err := r.ns.Unlink(noContext(), dir, name, c); err != nil || n.prefix == nil {
		return err
	}
	switch err := n.prefix.Unlink(name); err {
	case syscall.ENOENT, syscall.EISDIR:
		return nil
	default:
		return err
	}
}

// rmdirPrefix removes a directory of the prefix that holds no catalogue names.
// The hidden directory, which no program can see, does not count.
func (r *requests) rmdirPrefix(parent *prefixfs.Node, dir Dir, name string) error {
	at := path.Join(dir.Path, name)
	names, err := r.ns.ReadDir(noContext(), Dir{Path: at})
	if err == nil && len(names) > 0 {
		return syscall.ENOTEMPTY
	}
	err = parent.Rmdir(name)
	state, ok := r.ns.(StateRemover)
	if err != syscall.ENOTEMPTY || !ok {
		return err
	}
	if err := state.RemoveState(noContext(), at); err != nil {
		return err
	}
	return parent.Rmdir(name)
}

// changed tells the Namespace of a finished change to a node of the prefix.
func (m *Mount) changed(op string, p *prefixfs.Node, c Caller) {
	if at, ok := p.Path(); ok {
		m.ns.PrefixChanged(PrefixEvent{Op: op, Path: at, Caller: c})
	}
}
