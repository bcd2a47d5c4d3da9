package fusefs

import (
	"os"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fuse"
	"github.com/scrfs/scrfs/prefixfs"
	"golang.org/x/sys/unix"
)

// place is where a new name shall be: in the catalogue or on the prefix.
type place struct {
	dir       Dir
	catalogue bool
}

// newName decides where a name that shall be made belongs. A name that exists
// is left to the caller to find; there says that the catalogue has it.
func (r *requests) newName(n *node, name string, kind Kind, flags uint32, c Caller) (at place, there bool, err error) {
	if name == hidden {
		return place{}, false, syscall.EPERM
	}
	if len(name) > 255 {
		return place{}, false, syscall.ENAMETOOLONG
	}
	if at.dir, err = dirOf(n); err != nil {
		return at, false, err
	}
	if n.prefix == nil {
		at.catalogue = true
		return at, false, nil
	}
	if _, there, err = r.catalogued(at.dir, name); err != nil || there {
		at.catalogue = true
		return at, there, err
	}
	if !r.ns.Claim(noContext(), at.dir, name, kind, flags, c) {
		return at, false, nil
	}
	// What the prefix has already stays there.
	_, err = n.prefix.StatName(name)
	switch err {
	case nil:
		return at, false, nil
	case errNoEntry:
		at.catalogue = true
		return at, false, nil
	}
	return at, false, err
}

// Create makes a regular file and opens it.
func (r *requests) Create(_ <-chan struct{}, in *fuse.CreateIn, name string, out *fuse.CreateOut) fuse.Status {
	n, status := r.enter(&in.InHeader)
	if !status.Ok() {
		return status
	}
	return r.status(r.create(n, in, name, out))
}

func (r *requests) create(n *node, in *fuse.CreateIn, name string, out *fuse.CreateOut) error {
	c := caller(&in.InHeader)
	at, _, err := r.newName(n, name, RegularFile, in.Flags, c)
	if err != nil {
		return err
	}
	h := &handle{flags: in.Flags, opener: c}
	var mode uint32
	if at.catalogue {
		var e Entry
		if e, h.file, err = r.ns.Create(noContext(), at.dir, name, in.Flags, in.Mode&0o7777, c); err != nil {
			return err
		}
		h.node, mode = r.tellCatalogue(&e, &out.EntryOut), e.Mode
	} else {
		var p *prefixfs.Node
		var st prefixfs.Stat
		if p, h.prefix, st, err = n.prefix.Create(name, int(in.Flags), in.Mode, owner(&in.InHeader)); err != nil {
			return err
		}
		h.node, mode = r.tellPrefix(p, &st, &out.EntryOut), uint32(st.Mode)
	}
	r.opened(h, mode, &out.OpenOut)
	return nil
}

// Tmpfile makes a file without a name (O_TMPFILE). Below a catalogue directory
// there is none: every file of a dataset has a name.
func (r *requests) Tmpfile(_ <-chan struct{}, in *fuse.CreateIn, out *fuse.CreateOut) fuse.Status {
	n, status := r.enter(&in.InHeader)
	if !status.Ok() {
		return status
	}
	if n.prefix == nil {
		return fuse.ENOTSUP
	}
	p, file, st, err := n.prefix.Tmpfile(int(in.Flags), in.Mode, owner(&in.InHeader))
	if err != nil {
		return r.status(err)
	}
	h := &handle{flags: in.Flags, opener: caller(&in.InHeader), prefix: file}
	h.node = r.tellPrefix(p, &st, &out.EntryOut)
	r.opened(h, uint32(st.Mode), &out.OpenOut)
	return fuse.OK
}

// Mkdir makes a directory.
func (r *requests) Mkdir(_ <-chan struct{}, in *fuse.MkdirIn, name string, out *fuse.EntryOut) fuse.Status {
	n, status := r.enter(&in.InHeader)
	if !status.Ok() {
		return status
	}
	c := caller(&in.InHeader)
	at, there, err := r.newName(n, name, Directory, 0, c)
	switch {
	case err != nil:
	case there:
		err = errExists
	case at.catalogue:
		var e Entry
		if e, err = r.ns.Mkdir(noContext(), at.dir, name, in.Mode&0o7777, c); err == nil {
			r.tellCatalogue(&e, out)
		}
	default:
		var p *prefixfs.Node
		var st prefixfs.Stat
		if p, st, err = n.prefix.Mkdir(name, in.Mode, owner(&in.InHeader)); err == nil {
			r.changed("mkdir", p, c)
			r.tellPrefix(p, &st, out)
		}
	}
	return r.status(err)
}

// Symlink makes a symbolic link.
func (r *requests) Symlink(_ <-chan struct{}, h *fuse.InHeader, target, name string, out *fuse.EntryOut) fuse.Status {
	n, status := r.enter(h)
	if !status.Ok() {
		return status
	}
	at, there, err := r.newName(n, name, SymbolicLink, 0, caller(h))
	switch {
	case err != nil:
	case there:
		err = errExists
	case at.catalogue:
		var e Entry
		if e, err = r.ns.Symlink(noContext(), at.dir, name, target, caller(h)); err == nil {
			r.tellCatalogue(&e, out)
		}
	default:
		var p *prefixfs.Node
		var st prefixfs.Stat
		if p, st, err = n.prefix.Symlink(name, target, owner(h)); err == nil {
			r.tellPrefix(p, &st, out)
		}
	}
	return r.status(err)
}

// Mknod makes a file, FIFO, socket or device.
func (r *requests) Mknod(_ <-chan struct{}, in *fuse.MknodIn, name string, out *fuse.EntryOut) fuse.Status {
	n, status := r.enter(&in.InHeader)
	if !status.Ok() {
		return status
	}
	c, kind := caller(&in.InHeader), Special
	if in.Mode&syscall.S_IFMT == syscall.S_IFREG {
		kind = RegularFile
	}
	at, there, err := r.newName(n, name, kind, 0, c)
	switch {
	case err != nil:
	case there:
		err = errExists
	case at.catalogue && kind == Special:
		err = r.makeSpecial(at.dir, name, in.Mode, c, out)
	case at.catalogue:
		var e Entry
		var f File
		e, f, err = r.ns.Create(noContext(), at.dir, name, uint32(os.O_RDWR|os.O_EXCL), in.Mode&0o7777, c)
		if err == nil {
			f.Release()
			r.tellCatalogue(&e, out)
		}
	default:
		var p *prefixfs.Node
		var st prefixfs.Stat
		if p, st, err = n.prefix.Mknod(name, in.Mode, in.Rdev, owner(&in.InHeader)); err == nil {
			r.tellPrefix(p, &st, out)
		}
	}
	return r.status(err)
}

// makeSpecial makes a FIFO or socket in the catalogue. Devices it has none.
func (r *requests) makeSpecial(dir Dir, name string, mode uint32, c Caller, out *fuse.EntryOut) error {
	kind := mode & syscall.S_IFMT
	s, ok := r.ns.(SpecialMaker)
	if !ok || kind != syscall.S_IFIFO && kind != syscall.S_IFSOCK {
		return syscall.EOPNOTSUPP
	}
	e, err := s.MakeSpecial(noContext(), dir, name, kind|mode&0o7777, c)
	if err == nil {
		r.tellCatalogue(&e, out)
	}
	return err
}

// Link gives a file a further name.
func (r *requests) Link(_ <-chan struct{}, in *fuse.LinkIn, name string, out *fuse.EntryOut) fuse.Status {
	n, status := r.enter(&in.InHeader)
	if !status.Ok() {
		return status
	}
	old := r.table.node(in.Oldnodeid)
	if old == nil {
		return fuse.Status(errStale)
	}
	return r.status(r.link(old, n, name, caller(&in.InHeader), out))
}

func (r *requests) link(old, n *node, name string, c Caller, out *fuse.EntryOut) error {
	if name == hidden {
		return syscall.EPERM
	}
	dir, err := dirOf(n)
	if err != nil {
		return err
	}
	if old.prefix == nil {
		if n.prefix != nil {
			if _, err := n.prefix.StatName(name); err != unix.ENOENT {
				return orExists(err)
			}
		}
		e, err := r.ns.Link(noContext(), old.ino, dir, name, c)
		if err == nil {
			r.tellCatalogue(&e, out)
		}
		return err
	}
	if n.prefix == nil {
		return errCrossDev
	}
	if _, there, err := r.catalogued(dir, name); err != nil || there {
		return orExists(err)
	}
	st, err := old.prefix.Link(n.prefix, name)
	if err == nil {
		r.tellPrefix(old.prefix, &st, out)
	}
	return err
}

// orExists is err, and EEXIST if there is none.
func orExists(err error) error {
	if err == nil {
		return errExists
	}
	return err
}
