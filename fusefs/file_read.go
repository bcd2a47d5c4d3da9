package fusefs

import (
	"errors"
	"io"

	"github.com/hanwen/go-fuse/v2/fuse"
)

// Read serves what the kernel does not read by itself.
func (r *requests) Read(_ <-chan struct{}, in *fuse.ReadIn, buf []byte) (fuse.ReadResult, fuse.Status) {
	h := r.table.handle(in.Fh)
	if h == nil {
		return nil, fuse.EBADF
	}
	r.reads.Add(1)
	n, err := r.readAt(h, buf[:min(len(buf), int(in.Size))], int64(in.Offset))
	if err != nil {
		return nil, r.status(err)
	}
	return fuse.ReadResultData(buf[:n]), fuse.OK
}

func (r *requests) readAt(h *handle, p []byte, off int64) (int, error) {
	if h.prefix != nil {
		return h.prefix.ReadAt(p, off)
	}
	n, err := h.file.ReadAt(noContext(), p, off)
	if errors.Is(err, io.EOF) || n > 0 {
		err = nil
	}
	return n, err
}

// Lseek finds data and holes; the kernel does the rest of lseek(2).
func (r *requests) Lseek(_ <-chan struct{}, in *fuse.LseekIn, out *fuse.LseekOut) fuse.Status {
	h := r.table.handle(in.Fh)
	if h == nil {
		return fuse.EBADF
	}
	var at int64
	var err error
	if h.prefix != nil {
		at, err = h.prefix.Seek(int64(in.Offset), int(in.Whence))
	} else {
		at, err = h.file.Seek(noContext(), int64(in.Offset), int(in.Whence))
	}
	out.Offset = uint64(at)
	return r.status(err)
}
