package prefixfs

import "golang.org/x/sys/unix"

// Unlink removes name from the directory n.
func (n *Node) Unlink(name string) error { return n.remove(name, 0) }

// Rmdir removes the empty directory name from n.
func (n *Node) Rmdir(name string) error { return n.remove(name, unix.AT_REMOVEDIR) }

func (n *Node) remove(name string, flags int) error {
	return n.with(func(fd int) error {
		// Whoever still has the file open must reach it after its name is gone.
		defer letGo(n.fs.holdName(n, name))
		if err := unix.Unlinkat(fd, name, flags); err != nil {
			return err
		}
		n.fs.removed(n, name)
		return nil
	})
}

// Rename moves oldName of n to newName of to; flags are those of renameat2(2).
func (n *Node) Rename(oldName string, to *Node, newName string, flags uint) error {
	return with2(n, to, func(fd, toFd int) error {
		defer letGo(n.fs.holdName(to, newName))
		err := unix.Renameat2(fd, oldName, toFd, newName, flags)
		if flags == 0 && (err == unix.ENOSYS || err == unix.EINVAL) {
			err = unix.Renameat(fd, oldName, toFd, newName)
		}
		if err != nil {
			return err
		}
		n.fs.moved(n, oldName, to, newName, flags&unix.RENAME_EXCHANGE != 0)
		return nil
	})
}

// Link gives n the further name name in the directory dir.
func (n *Node) Link(dir *Node, name string) (Stat, error) {
	var st Stat
	err := with2(n, dir, func(fd, dirFd int) error {
		err := unix.Linkat(unix.AT_FDCWD, procPath(fd), dirFd, name, unix.AT_SYMLINK_FOLLOW)
		if err != nil {
			return err
		}
		n.fs.mu.Lock()
		n.refs++
		n.fs.setName(n, dir, name)
		n.fs.mu.Unlock()
		st, err = statFd(fd)
		return err
	})
	return st, err
}
