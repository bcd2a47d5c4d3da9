package disk

import (
	"io"
	"io/fs"
	"os"
	"path"

	"golang.org/x/sys/unix"
)

// realFile passes everything to the descriptor; io.Copy between two of them
// still uses copy_file_range.
type realFile struct {
	*os.File
	name string
}

func (f *realFile) Name() string { return f.name }

func (f *realFile) Fd() (uintptr, bool) {
	fd := f.File.Fd()
	return fd, fd != ^uintptr(0) // which means closed
}

// OSFile is the file itself, for who hands its descriptor to the kernel
// (passthrough). It belongs to f.
func (f *realFile) OSFile() *os.File { return f.File }

func (f *realFile) Allocate(off, n int64) error {
	conn, err := f.File.SyscallConn()
	if err == nil {
		closed := conn.Control(func(fd uintptr) {
			err = eintr(func() error { return unix.Fallocate(int(fd), unix.FALLOC_FL_KEEP_SIZE, off, n) })
		})
		if closed != nil {
			err = fs.ErrClosed
		}
	}
	if err != nil {
		return &fs.PathError{Op: "fallocate", Path: f.File.Name(), Err: err}
	}
	return nil
}

func (r *Real) OpenFile(name string, flag int, perm fs.FileMode) (File, error) {
	n, err := clean(name)
	if err == nil && perm&^fs.ModePerm != 0 {
		err = unix.EINVAL
	}
	if err != nil {
		return nil, r.fail("open", name, err)
	}
	var f *os.File
	if flag&unix.O_NOFOLLOW != 0 {
		f, err = r.openNoFollow(n, flag, perm)
	} else {
		f, err = r.root.OpenFile(n, flag, perm)
		if err == nil && r.root.Name() != r.dir {
			f, err = renamed(f, r.full(n))
		}
	}
	if err != nil {
		return nil, r.fail("open", name, err)
	}
	return &realFile{File: f, name: n}, nil
}

// renamed is f under another name. os.Root names a file after the path of the
// root, which for OpenFd is a number in /proc that tells the user nothing.
func renamed(f *os.File, name string) (*os.File, error) {
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), name), nil
}

// openNoFollow is there because os.Root follows the last link whatever the
// flags say.
func (r *Real) openNoFollow(name string, flag int, perm fs.FileMode) (*os.File, error) {
	d, err := r.openDir(path.Dir(name))
	if err != nil {
		return nil, err
	}
	defer d.Close()
	fd := -1
	err = eintr(func() (err error) {
		fd, err = unix.Openat(int(d.Fd()), path.Base(name), flag|unix.O_CLOEXEC, uint32(perm))
		return err
	})
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), r.full(name)), nil
}

func (r *Real) Lock(name string, exclusive bool) (io.Closer, error) {
	for {
		f, err := r.openLock(name)
		if err != nil {
			return nil, r.fail("lock", name, err)
		}
		ok, err := r.lockFile(f, name, exclusive)
		if ok {
			return f, nil
		}
		_ = f.Close()
		if err != nil {
			return nil, r.fail("lock", name, err)
		}
	}
}

// openLock falls back to reading: who may only read the file may still wait
// until its writers are done.
func (r *Real) openLock(name string) (File, error) {
	f, err := r.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	switch cause(err) {
	case unix.EACCES, unix.EPERM, unix.EROFS:
		return r.OpenFile(name, os.O_RDONLY, 0)
	}
	return f, err
}

// lockFile waits for the lock and reports whether f is still the file called
// name: the holder before may have replaced or removed it.
func (r *Real) lockFile(f File, name string, exclusive bool) (bool, error) {
	how := unix.LOCK_SH
	if exclusive {
		how = unix.LOCK_EX
	}
	fd, _ := f.Fd()
	if err := eintr(func() error { return unix.Flock(int(fd), how) }); err != nil {
		return false, err
	}
	have, err := f.Stat()
	if err != nil {
		return false, err
	}
	now, err := r.Stat(name)
	if os.IsNotExist(err) {
		return false, nil
	}
	return err == nil && SameFile(have, now), err
}

func eintr(call func() error) error {
	for {
		if err := call(); err != unix.EINTR {
			return err
		}
	}
}
