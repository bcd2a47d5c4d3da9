package fusefs

import "github.com/hanwen/go-fuse/v2/fuse"

// Flush is close(2) of one descriptor; the program waits for it.
func (r *requests) Flush(_ <-chan struct{}, in *fuse.FlushIn) fuse.Status {
	h := r.table.handle(in.Fh)
	switch {
	case h == nil:
		return fuse.EBADF
	case h.file != nil:
		return r.status(h.file.Flush(noContext(), caller(&in.InHeader)))
	case h.writes():
		return r.status(h.prefix.Flush())
	}
	return fuse.OK
}

// Fsync makes a file durable.
func (r *requests) Fsync(_ <-chan struct{}, in *fuse.FsyncIn) fuse.Status {
	h := r.table.handle(in.Fh)
	dataOnly := in.FsyncFlags&1 != 0
	switch {
	case h == nil:
		return fuse.EBADF
	case h.file != nil:
		return r.status(h.file.Sync(noContext(), dataOnly))
	}
	return r.status(h.prefix.Sync(dataOnly))
}
