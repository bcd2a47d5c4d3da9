package fusefs

import (
	"syscall"

	"github.com/hanwen/go-fuse/v2/fuse"
)

// Lookup finds a name, in the catalogue first.
func (r *requests) Lookup(_ <-chan struct{}, h *fuse.InHeader, name string, out *fuse.EntryOut) fuse.Status {
	n, status := r.enter(h)
	if !status.Ok() {
		return status
	}
	return r.status(r.lookup(n, name, out))
}

func (r *requests) lookup(n *node, name string, out *fuse.EntryOut) error {
	if name == hidden {
		return errNoEntry
	}
	if len(name) > 255 {
		return syscall.ENAMETOOLONG
	}
	dir, err := dirOf(n)
	if err != nil {
		return err
	}
	e, found, err := r.catalogued(dir, name)
	if err != nil {
		return err
	}
	if found {
		r.tellCatalogue(&e, out)
		return nil
	}
	if n.prefix == nil {
		return errNoEntry
	}
	child, st, err := n.prefix.Lookup(name)
	if err != nil {
		return err
	}
	r.tellPrefix(child, &st, out)
	return nil
}

// Forget takes back look-ups.
func (r *requests) Forget(id, count uint64) {
	if ino := r.table.forget(id, count); ino != 0 {
		r.forgotten(ino)
	}
}

// forgotten tells the Namespace, if it wants to know.
func (m *Mount) forgotten(ino uint64) {
	if f, ok := m.ns.(Forgetter); ok {
		f.Forget(ino)
	}
}

// Readlink returns the text of a symbolic link.
func (r *requests) Readlink(_ <-chan struct{}, h *fuse.InHeader) ([]byte, fuse.Status) {
	n, status := r.enter(h)
	if !status.Ok() {
		return nil, status
	}
	if n.prefix != nil {
		text, err := n.prefix.Readlink()
		return text, r.status(err)
	}
	e, err := r.ns.Attr(noContext(), n.ino)
	return []byte(e.Target), r.status(err)
}

// StatFs returns the figures of the prefix directory's file system: what is
// written here comes to lie there.
func (r *requests) StatFs(_ <-chan struct{}, h *fuse.InHeader, out *fuse.StatfsOut) fuse.Status {
	n, status := r.enter(h)
	if !status.Ok() {
		return status
	}
	at := n.prefix
	if at == nil {
		at = r.prefix.Root()
	}
	s, err := at.Statfs()
	if err != nil {
		return r.status(err)
	}
	out.FromStatfsT(&syscall.Statfs_t{
		Blocks: s.Blocks, Bfree: s.Bfree, Bavail: s.Bavail, Files: s.Files, Ffree: s.Ffree,
		Bsize: s.Bsize, Frsize: s.Frsize, Namelen: s.Namelen,
	})
	return fuse.OK
}
