package fusefs

import (
	"syscall"

	"github.com/hanwen/go-fuse/v2/fuse"
)

// listing is what one open directory shows: all names as they were when it was
// read from the start. Offsets are positions in it, so telldir and seekdir
// work, and names that come and go meanwhile move nothing.
type listing struct {
	entries []fuse.DirEntry
	read    bool
}

// OpenDir opens a directory.
func (r *requests) OpenDir(_ <-chan struct{}, in *fuse.OpenIn, out *fuse.OpenOut) fuse.Status {
	n, status := r.enter(&in.InHeader)
	if !status.Ok() {
		return status
	}
	h := &handle{node: n, flags: in.Flags, opener: caller(&in.InHeader), dir: &listing{}}
	if n.prefix != nil {
		var err error
		if h.prefix, err = n.prefix.OpenDir(); err != nil {
			return r.status(err)
		}
	}
	r.table.addHandle(h)
	out.Fh = h.id
	return fuse.OK
}

// ReadDir returns a piece of a listing. The kernel sends one request at a time
// for each open directory.
func (r *requests) ReadDir(_ <-chan struct{}, in *fuse.ReadIn, out *fuse.DirEntryList) fuse.Status {
	h := r.table.handle(in.Fh)
	if h == nil || h.dir == nil {
		return fuse.EBADF
	}
	if in.Offset == 0 || !h.dir.read {
		if err := r.list(h); err != nil {
			return r.status(err)
		}
	}
	for at := in.Offset; at < uint64(len(h.dir.entries)); at++ {
		e := h.dir.entries[at]
		e.Off = at + 1
		if !out.AddDirEntry(e) {
			break
		}
	}
	return fuse.OK
}

// list reads the directory: the catalogue's names, and those of the prefix
// that it does not have.
func (r *requests) list(h *handle) error {
	entries := []fuse.DirEntry{{Name: ".", Mode: syscall.S_IFDIR}, {Name: "..", Mode: syscall.S_IFDIR}}
	seen := make(map[string]struct{})
	if dir, err := dirOf(h.node); err == nil {
		names, err := r.ns.ReadDir(noContext(), dir)
		if err != nil {
			return err
		}
		for _, e := range names {
			if e.Name == hidden {
				continue
			}
			seen[e.Name] = struct{}{}
			entries = append(entries, fuse.DirEntry{Name: e.Name, Ino: e.Ino, Mode: e.Mode})
		}
	}
	if h.prefix != nil {
		names, err := h.prefix.ReadDir()
		if err != nil {
			return err
		}
		for _, e := range names {
			if _, twice := seen[e.Name]; twice || e.Name == hidden {
				continue
			}
			entries = append(entries, fuse.DirEntry{Name: e.Name, Ino: e.Ino, Mode: e.Mode})
		}
	}
	h.dir.entries, h.dir.read = entries, true
	return nil
}

// ReleaseDir closes a directory.
func (r *requests) ReleaseDir(in *fuse.ReleaseIn) {
	if h := r.table.handle(in.Fh); h != nil {
		r.table.dropHandle(h)
		r.release(h)
	}
}

// FsyncDir makes the names of a directory durable.
func (r *requests) FsyncDir(_ <-chan struct{}, in *fuse.FsyncIn) fuse.Status {
	h := r.table.handle(in.Fh)
	switch {
	case h == nil:
		return fuse.EBADF
	case h.prefix != nil:
		return r.status(h.prefix.Sync(in.FsyncFlags&1 != 0))
	}
	return r.status(r.ns.SyncDir(noContext(), h.node.ino))
}
