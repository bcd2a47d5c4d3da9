package fusefs

import (
	"context"

	"github.com/hanwen/go-fuse/v2/fuse"
	"github.com/scrfs/scrfs/prefixfs"
)

// requests has a method for each kind of request of the kernel; what it does
// not have the kernel does by itself or without.
type requests struct {
	fuse.RawFileSystem
	*Mount
}

func (r *requests) String() string { return "scrfs" }

// hidden is the name of SCR's own directories: they are nobody else's.
const hidden = ".scr"

// noContext is given to the Namespace: requests are not interrupted.
func noContext() context.Context { return context.Background() }

func caller(h *fuse.InHeader) Caller {
	return Caller{UID: h.Uid, GID: h.Gid, PID: h.Pid}
}

func owner(h *fuse.InHeader) prefixfs.Owner {
	return prefixfs.Owner{UID: h.Uid, GID: h.Gid}
}

// refused tells whether the caller is nobody we serve.
func (m *Mount) refused(h *fuse.InHeader) bool {
	return h.Uid != m.uid && h.Uid != 0
}

// enter returns the node of a request after checking who asks.
func (m *Mount) enter(h *fuse.InHeader) (*node, fuse.Status) {
	if m.refused(h) {
		return nil, fuse.EACCES
	}
	if v, ok := m.ns.(Visitor); ok {
		v.Visit(noContext(), caller(h))
	}
	n := m.table.node(h.NodeId)
	if n == nil {
		return nil, fuse.Status(errStale)
	}
	return n, fuse.OK
}

// dirOf returns what the Namespace knows a directory by; ENOENT if it was
// removed.
func dirOf(n *node) (Dir, error) {
	if n.prefix == nil {
		return Dir{Ino: n.ino}, nil
	}
	path, ok := n.prefix.Path()
	if !ok {
		return Dir{}, errNoEntry
	}
	return Dir{Path: path}, nil
}

// catalogued asks the Namespace for a name; found is false if it has none.
func (m *Mount) catalogued(dir Dir, name string) (e Entry, found bool, err error) {
	e, err = m.ns.Lookup(noContext(), dir, name)
	if errno, _ := Errno(err); errno == errNoEntry {
		return Entry{}, false, nil
	}
	return e, err == nil, err
}
