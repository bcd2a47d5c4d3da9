package prefixfs

import "golang.org/x/sys/unix"

// Chmod sets the permission bits of n.
func (n *Node) Chmod(mode uint32) error {
	return n.with(func(fd int) error { return chmod(fd, mode) })
}

func chmod(fd int, mode uint32) error {
	return unix.Fchmodat(unix.AT_FDCWD, procPath(fd), mode&0o7777, 0)
}

// Chown sets owner and group of n; -1 leaves one as it is.
func (n *Node) Chown(uid, gid int) error {
	return n.with(func(fd int) error { return unix.Fchownat(fd, "", uid, gid, unix.AT_EMPTY_PATH) })
}

// Omit and Now are times for Chtimes: leave it as it is, and the present time
// of the file system. A user who may write a file but does not own it is
// allowed Now only.
var (
	Omit = unix.Timespec{Nsec: unix.UTIME_OMIT}
	Now  = unix.Timespec{Nsec: unix.UTIME_NOW}
)

// Chtimes sets the times of n.
func (n *Node) Chtimes(atime, mtime unix.Timespec) error {
	ts := []unix.Timespec{atime, mtime}
	return n.with(func(fd int) error {
		err := unix.UtimesNanoAt(fd, "", ts, unix.AT_EMPTY_PATH)
		if err == unix.EINVAL || err == unix.ENOENT { // before Linux 5.8
			err = unix.UtimesNanoAt(unix.AT_FDCWD, procPath(fd), ts, 0)
		}
		return err
	})
}

// Truncate sets the size of n in bytes.
func (n *Node) Truncate(sizeBytes int64) error {
	return n.with(func(fd int) error { return unix.Truncate(procPath(fd), sizeBytes) })
}

// GetXattr reads an extended attribute into buf and returns its size. An empty
// buf asks for the size alone; ERANGE means that buf is too small.
func (n *Node) GetXattr(name string, buf []byte) (size int, err error) {
	err = n.with(func(fd int) error {
		size, err = unix.Getxattr(procPath(fd), name, buf)
		return err
	})
	return size, err
}

// ListXattr writes the names of the extended attributes to buf, each with a
// zero byte after it, and returns their size; see GetXattr.
func (n *Node) ListXattr(buf []byte) (size int, err error) {
	err = n.with(func(fd int) error {
		size, err = unix.Listxattr(procPath(fd), buf)
		return err
	})
	return size, err
}

// SetXattr sets an extended attribute; flags are those of setxattr(2).
func (n *Node) SetXattr(name string, value []byte, flags int) error {
	return n.with(func(fd int) error { return unix.Setxattr(procPath(fd), name, value, flags) })
}

// RemoveXattr removes an extended attribute.
func (n *Node) RemoveXattr(name string) error {
	return n.with(func(fd int) error { return unix.Removexattr(procPath(fd), name) })
}
