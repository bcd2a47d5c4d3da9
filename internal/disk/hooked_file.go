package disk

import "io/fs"

// hookedFile belongs to a hooked FS. What is done through Fd is not seen.
type hookedFile struct {
	inner File
	h     *hooked
}

func (f *hookedFile) do(kind Kind, call func() error) error {
	return f.h.do(kind, f.inner.Name(), call)
}

// transfer is do for calls on a range; call tells how many bytes it moved.
func (f *hookedFile) transfer(kind Kind, b []byte, off int64, call func(b []byte) (int, error)) (n int, err error) {
	op := &Op{Kind: kind, Name: f.h.name(f.inner.Name()), Tag: f.h.tag, Off: off, Bytes: int64(len(b)), limit: len(b)}
	err = f.h.around(op, func() error {
		n, err = call(b[:min(op.limit, len(b))])
		op.Bytes = int64(n)
		return err
	})
	return n, err
}

func (f *hookedFile) Read(b []byte) (int, error) { return f.transfer(OpRead, b, -1, f.inner.Read) }

func (f *hookedFile) ReadAt(b []byte, off int64) (int, error) {
	return f.transfer(OpRead, b, off, func(b []byte) (int, error) { return f.inner.ReadAt(b, off) })
}

func (f *hookedFile) Write(b []byte) (int, error) { return f.transfer(OpWrite, b, -1, f.inner.Write) }

func (f *hookedFile) WriteAt(b []byte, off int64) (int, error) {
	return f.transfer(OpWrite, b, off, func(b []byte) (int, error) { return f.inner.WriteAt(b, off) })
}

func (f *hookedFile) Seek(off int64, whence int) (pos int64, err error) {
	err = f.do(OpSeek, func() (err error) {
		pos, err = f.inner.Seek(off, whence)
		return err
	})
	return pos, err
}

func (f *hookedFile) Stat() (fs.FileInfo, error) {
	return get(f.h, OpFstat, f.inner.Name(), f.inner.Stat)
}

func (f *hookedFile) Sync() error { return f.do(OpSync, f.inner.Sync) }

func (f *hookedFile) Truncate(size int64) error {
	op := &Op{Kind: OpTruncate, Name: f.h.name(f.inner.Name()), Tag: f.h.tag, Off: -1, Bytes: size}
	return f.h.around(op, func() error { return f.inner.Truncate(size) })
}

func (f *hookedFile) Allocate(off, n int64) error {
	op := &Op{Kind: OpAllocate, Name: f.h.name(f.inner.Name()), Tag: f.h.tag, Off: off, Bytes: n}
	return f.h.around(op, func() error { return f.inner.Allocate(off, n) })
}

func (f *hookedFile) Close() error { return f.do(OpClose, f.inner.Close) }

func (f *hookedFile) Name() string { return f.inner.Name() }

func (f *hookedFile) Fd() (uintptr, bool) { return f.inner.Fd() }
