package prefixfs

import (
	"golang.org/x/sys/unix"
)

// File is an open file or directory. Its methods may be called from many
// goroutines; none may be under way when Close is called.
type File struct {
	fs *FS
	fd int
}

// openFlags are the flags the FS opens with when a program opens with flags.
// O_DIRECT and O_APPEND are left out: buffers here are not the program's, and
// where a write goes is said with each write. The kernel applies both to the
// program's own descriptor.
func openFlags(flags int) int {
	const keep = unix.O_ACCMODE | unix.O_TRUNC | unix.O_SYNC | unix.O_DSYNC | unix.O_NOATIME
	return flags&keep | unix.O_CLOEXEC | unix.O_LARGEFILE
}

// Open opens the file n; flags are those of open(2).
func (n *Node) Open(flags int) (*File, error) {
	var file *File
	err := n.with(func(fd int) error {
		ffd, err := unix.Open(procPath(fd), openFlags(flags)|unix.O_NONBLOCK, 0)
		if err == unix.EPERM && flags&unix.O_NOATIME != 0 {
			// Only the owner may ask for it; the file may be the caller's and not ours.
			ffd, err = unix.Open(procPath(fd), openFlags(flags&^unix.O_NOATIME)|unix.O_NONBLOCK, 0)
		}
		if err == nil {
			file = &File{fs: n.fs, fd: ffd}
		}
		return err
	})
	return file, err
}

// Fd is the raw descriptor, valid until Close.
func (f *File) Fd() int { return f.fd }

// Close closes the file.
func (f *File) Close() error {
	return f.fs.pool.do(func() error { return unix.Close(f.fd) })
}

// Stat returns the attributes of the file.
func (f *File) Stat() (Stat, error) {
	var st Stat
	err := f.fs.pool.do(func() (err error) {
		st, err = statFd(f.fd)
		return err
	})
	return st, err
}

// ReadAt reads up to len(p) bytes; fewer, with a nil error, at the end of the
// file.
func (f *File) ReadAt(p []byte, off int64) (n int, err error) {
	err = f.fs.pool.do(func() error {
		for n < len(p) {
			got, err := unix.Pread(f.fd, p[n:], off+int64(n))
			if err == unix.EINTR {
				continue
			}
			if err != nil || got == 0 {
				return err
			}
			n += got
		}
		return nil
	})
	if n > 0 {
		err = nil
	}
	return n, err
}

// Write writes the pieces one after the other at off, or at the end of the
// file where appending is asked for, whoever else is appending.
func (f *File) Write(pieces [][]byte, off int64, appending bool) (n int, err error) {
	flags := 0
	if appending {
		flags = unix.RWF_APPEND
	}
	err = f.fs.pool.do(func() error {
		for {
			n, err = unix.Pwritev2(f.fd, pieces, off, flags)
			if err != unix.EINTR {
				return err
			}
		}
	})
	return n, err
}

// Sync makes the content durable; with dataOnly as fdatasync(2) does.
func (f *File) Sync(dataOnly bool) error {
	return f.fs.pool.do(func() error {
		if dataOnly {
			return unix.Fdatasync(f.fd)
		}
		return unix.Fsync(f.fd)
	})
}

// Flush is what close(2) of a descriptor does short of closing it: network
// file systems report here what went wrong with earlier writes.
func (f *File) Flush() error {
	return f.fs.pool.do(func() error {
		fd, err := unix.FcntlInt(uintptr(f.fd), unix.F_DUPFD_CLOEXEC, 0)
		if err != nil {
			return err
		}
		return unix.Close(fd)
	})
}

// Allocate is fallocate(2).
func (f *File) Allocate(off, size int64, mode uint32) error {
	return f.fs.pool.do(func() error { return unix.Fallocate(f.fd, mode, off, size) })
}

// Seek is lseek(2) with SEEK_DATA or SEEK_HOLE.
func (f *File) Seek(off int64, whence int) (at int64, err error) {
	err = f.fs.pool.do(func() error {
		at, err = unix.Seek(f.fd, off, whence)
		return err
	})
	return at, err
}

// Truncate sets the size in bytes.
func (f *File) Truncate(sizeBytes int64) error {
	return f.fs.pool.do(func() error { return unix.Ftruncate(f.fd, sizeBytes) })
}

// Chmod sets the permission bits.
func (f *File) Chmod(mode uint32) error {
	return f.fs.pool.do(func() error { return unix.Fchmod(f.fd, mode&0o7777) })
}

// CopyRange copies inside the file systems without passing the bytes through
// this process; EXDEV or EOPNOTSUPP where they cannot. Both files may be of
// different trees, which is why descriptors are given.
func (f *FS) CopyRange(in int, inOff int64, out int, outOff int64, count int) (n int, err error) {
	err = f.pool.do(func() error {
		n, err = unix.CopyFileRange(in, &inOff, out, &outOff, count, 0)
		return err
	})
	return n, err
}
