package disk

import (
	"io"
	"io/fs"
	"os"
	"path"
	"time"
)

// hooked sends each call through around, which makes it or does not.
type hooked struct {
	inner  FS
	prefix string // of a view, below the FS that was wrapped
	tag    string
	around func(op *Op, call func() error) error
}

func (h *hooked) name(name string) string {
	if h.prefix == "" {
		return name
	}
	return path.Join(h.prefix, name)
}

func (h *hooked) do(kind Kind, name string, call func() error) error {
	return h.run(&Op{Kind: kind, Name: h.name(name)}, call)
}

func (h *hooked) two(kind Kind, a, b string, call func() error) error {
	return h.run(&Op{Kind: kind, Name: h.name(a), To: h.name(b)}, call)
}

func (h *hooked) run(op *Op, call func() error) error {
	op.Tag, op.Off = h.tag, -1
	return h.around(op, call)
}

// get is do for calls with a result, which is the zero value after an error.
func get[T any](h *hooked, kind Kind, name string, call func() (T, error)) (result T, err error) {
	err = h.do(kind, name, func() (err error) {
		result, err = call()
		return err
	})
	return result, err
}

func (h *hooked) OpenFile(name string, flag int, perm fs.FileMode) (File, error) {
	kind := OpOpen
	if flag&os.O_CREATE != 0 {
		kind = OpCreate
	}
	f, err := get(h, kind, name, func() (File, error) { return h.inner.OpenFile(name, flag, perm) })
	if err != nil {
		return nil, err
	}
	return &hookedFile{inner: f, h: h}, nil
}

func (h *hooked) Mkdir(name string, perm fs.FileMode) error {
	return h.do(OpMkdir, name, func() error { return h.inner.Mkdir(name, perm) })
}

func (h *hooked) Remove(name string) error {
	return h.do(OpRemove, name, func() error { return h.inner.Remove(name) })
}

func (h *hooked) Rename(oldname, newname string) error {
	return h.two(OpRename, oldname, newname, func() error { return h.inner.Rename(oldname, newname) })
}

func (h *hooked) RenameNoReplace(oldname, newname string) error {
	return h.two(OpRenameNoReplace, oldname, newname, func() error { return h.inner.RenameNoReplace(oldname, newname) })
}

func (h *hooked) Exchange(a, b string) error {
	return h.two(OpExchange, a, b, func() error { return h.inner.Exchange(a, b) })
}

func (h *hooked) Link(oldname, newname string) error {
	return h.two(OpLink, oldname, newname, func() error { return h.inner.Link(oldname, newname) })
}

func (h *hooked) Symlink(target, name string) error {
	op := &Op{Kind: OpSymlink, Name: h.name(name), To: target}
	return h.run(op, func() error { return h.inner.Symlink(target, name) })
}

func (h *hooked) Readlink(name string) (string, error) {
	return get(h, OpReadlink, name, func() (string, error) { return h.inner.Readlink(name) })
}

func (h *hooked) Stat(name string) (fs.FileInfo, error) {
	return get(h, OpStat, name, func() (fs.FileInfo, error) { return h.inner.Stat(name) })
}

func (h *hooked) Lstat(name string) (fs.FileInfo, error) {
	return get(h, OpLstat, name, func() (fs.FileInfo, error) { return h.inner.Lstat(name) })
}

func (h *hooked) ReadDir(name string) ([]fs.DirEntry, error) {
	return get(h, OpReadDir, name, func() ([]fs.DirEntry, error) { return h.inner.ReadDir(name) })
}

func (h *hooked) SyncDir(name string) error {
	return h.do(OpSyncDir, name, func() error { return h.inner.SyncDir(name) })
}

func (h *hooked) Chmod(name string, mode fs.FileMode) error {
	return h.do(OpChmod, name, func() error { return h.inner.Chmod(name, mode) })
}

func (h *hooked) Chown(name string, uid, gid int) error {
	return h.do(OpChown, name, func() error { return h.inner.Chown(name, uid, gid) })
}

func (h *hooked) Chtimes(name string, atime, mtime time.Time) error {
	return h.do(OpChtimes, name, func() error { return h.inner.Chtimes(name, atime, mtime) })
}

func (h *hooked) Lock(name string, exclusive bool) (io.Closer, error) {
	l, err := get(h, OpLock, name, func() (io.Closer, error) { return h.inner.Lock(name, exclusive) })
	if err != nil {
		return nil, err
	}
	return closerFunc(func() error { return h.do(OpUnlock, name, l.Close) }), nil
}

func (h *hooked) Sub(name string) (FS, error) {
	inner, err := get(h, OpSub, name, func() (FS, error) { return h.inner.Sub(name) })
	if err != nil {
		return nil, err
	}
	return &hooked{inner: inner, prefix: h.name(path.Clean(name)), tag: h.tag, around: h.around}, nil
}

func (h *hooked) Usage() (Usage, error) {
	return get(h, OpUsage, ".", h.inner.Usage)
}

type closerFunc func() error

func (f closerFunc) Close() error { return f() }
