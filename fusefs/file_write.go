package fusefs

import (
	"syscall"

	"github.com/hanwen/go-fuse/v2/fuse"
)

// Writev serves what the kernel does not write by itself.
func (r *requests) Writev(_ <-chan struct{}, in *fuse.WriteIn, pieces [][]byte) (uint32, fuse.Status) {
	h := r.table.handle(in.Fh)
	if h == nil {
		return 0, fuse.EBADF
	}
	r.writes.Add(1)
	n, err := r.write(h, in, pieces)
	if n == 0 && err != nil {
		return 0, r.status(err)
	}
	if in.WriteFlags&fuse.WRITE_KILL_SUIDGID != 0 {
		if err := r.killSetID(h.node); err != nil {
			return 0, r.status(err)
		}
	}
	return uint32(n), fuse.OK
}

func (r *requests) write(h *handle, in *fuse.WriteIn, pieces [][]byte) (int, error) {
	if h.prefix != nil {
		// Pages written back from the page cache have their place already.
		appending := int(in.Flags)&syscall.O_APPEND != 0 && in.WriteFlags&fuse.WRITE_CACHE == 0
		return h.prefix.Write(pieces, int64(in.Offset), appending)
	}
	written := 0
	for _, p := range pieces {
		n, err := h.file.WriteAt(noContext(), p, int64(in.Offset)+int64(written))
		written += n
		if err != nil {
			return written, err
		}
	}
	return written, nil
}

// Fallocate reserves, punches or zeroes a range.
func (r *requests) Fallocate(_ <-chan struct{}, in *fuse.FallocateIn) fuse.Status {
	h := r.table.handle(in.Fh)
	if h == nil {
		return fuse.EBADF
	}
	var err error
	if h.prefix != nil {
		err = h.prefix.Allocate(int64(in.Offset), int64(in.Length), in.Mode)
	} else {
		err = h.file.Allocate(noContext(), int64(in.Offset), int64(in.Length), in.Mode)
	}
	// Only root keeps set-user-id bits; FALLOCATE has no flag that says so.
	if err == nil && in.Uid != 0 {
		err = r.killSetID(h.node)
	}
	return r.status(err)
}

// copyBytes bounds one copy: the program waits for it, and a signal with it.
const copyBytes = 64 << 20

// CopyFileRange copies between two files of this node or of the prefix without
// passing the bytes through this process. Where that cannot be, the kernel
// copies by reading and writing (EXDEV).
func (r *requests) CopyFileRange(_ <-chan struct{}, in *fuse.CopyFileRangeIn) (uint32, fuse.Status) {
	from, to := r.table.handle(in.FhIn), r.table.handle(in.FhOut)
	if from == nil || to == nil {
		return 0, fuse.EBADF
	}
	fromFd, ok1 := from.localFd()
	toFd, ok2 := to.localFd()
	if !ok1 || !ok2 {
		return 0, fuse.EXDEV
	}
	n, err := r.prefix.CopyRange(fromFd, int64(in.OffIn), toFd, int64(in.OffOut), int(min(in.Len, copyBytes)))
	if err == syscall.EBADF || err == syscall.EINVAL {
		// The descriptor here may lack a right that the program's has.
		return 0, fuse.EXDEV
	}
	if err != nil {
		return 0, r.status(err)
	}
	if in.Uid != 0 {
		err = r.killSetID(to.node)
	}
	return uint32(n), r.status(err)
}
