package prefixfs

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// Owner is who a new file shall belong to. An FS that runs as root gives it
// away; any other makes files of its own user, and the owner has no effect.
type Owner struct{ UID, GID uint32 }

// Create opens name in the directory n, making it if it is not there (unless
// flags say O_EXCL and it is). flags are those of open(2); permission bits are
// taken as they are, without a umask.
func (n *Node) Create(name string, flags int, mode uint32, owner Owner) (*Node, *File, Stat, error) {
	var child *Node
	var file *File
	var st Stat
	err := n.with(func(fd int) error {
		made := true
		ffd, err := unix.Openat(fd, name, openFlags(flags)|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW, mode&0o7777)
		if err == unix.EEXIST && flags&unix.O_EXCL == 0 {
			made = false
			ffd, err = unix.Openat(fd, name, openFlags(flags)|unix.O_CREAT|unix.O_NOFOLLOW|unix.O_NONBLOCK, mode&0o7777)
		}
		if err != nil {
			return err
		}
		file = &File{fs: n.fs, fd: ffd}
		if made {
			if err := n.give(fd, ffd, mode, owner); err != nil {
				return errors.Join(err, unix.Unlinkat(fd, name, 0), unix.Close(ffd))
			}
		}
		if st, err = statFd(ffd); err == nil {
			child, err = n.adoptOpen(ffd, st, n, name)
		}
		if err != nil {
			return errors.Join(err, unix.Close(ffd))
		}
		return nil
	})
	if err != nil {
		return nil, nil, Stat{}, err
	}
	return child, file, st, nil
}

// adoptOpen makes the node of a file that is open as ffd.
func (n *Node) adoptOpen(ffd int, st Stat, parent *Node, name string) (*Node, error) {
	// The path goes to the object itself, not to what its name leads to now.
	pfd, err := unix.Open(procPath(ffd), unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	return n.fs.adopt(pfd, st.Key(), parent, name), nil
}

// Tmpfile makes a file without a name in the directory n.
func (n *Node) Tmpfile(flags int, mode uint32, owner Owner) (*Node, *File, Stat, error) {
	var child *Node
	var file *File
	var st Stat
	err := n.with(func(fd int) error {
		// O_EXCL means that it shall never get a name; it says O_TMPFILE in flags already.
		ffd, err := unix.Open(procPath(fd), openFlags(flags)|flags&unix.O_EXCL|unix.O_TMPFILE, mode&0o7777)
		if err != nil {
			return err
		}
		err = n.give(fd, ffd, mode, owner)
		if err == nil {
			st, err = statFd(ffd)
		}
		if err == nil {
			child, err = n.adoptOpen(ffd, st, nil, "")
		}
		if err != nil {
			return errors.Join(err, unix.Close(ffd))
		}
		file = &File{fs: n.fs, fd: ffd}
		return nil
	})
	return child, file, st, err
}

// Mkdir makes the directory name in n.
func (n *Node) Mkdir(name string, mode uint32, owner Owner) (*Node, Stat, error) {
	return n.make(name, mode, owner, unix.AT_REMOVEDIR, func(fd int) error {
		return unix.Mkdirat(fd, name, mode&0o7777)
	})
}

// Mknod makes a file, FIFO, socket or device: mode carries the type.
func (n *Node) Mknod(name string, mode uint32, dev uint32, owner Owner) (*Node, Stat, error) {
	return n.make(name, mode, owner, 0, func(fd int) error {
		return unix.Mknodat(fd, name, mode, int(dev))
	})
}

// Symlink makes name in n a symbolic link with the text target.
func (n *Node) Symlink(name, target string, owner Owner) (*Node, Stat, error) {
	return n.make(name, unix.S_IFLNK, owner, 0, func(fd int) error {
		return unix.Symlinkat(target, fd, name)
	})
}

// make makes something without opening it, and takes it away again if it
// cannot be given to its owner.
func (n *Node) make(name string, mode uint32, owner Owner, removeFlags int, how func(fd int) error) (*Node, Stat, error) {
	var child *Node
	var st Stat
	err := n.with(func(fd int) error {
		if err := how(fd); err != nil {
			return err
		}
		cfd, _, err := openPath(fd, name)
		if err != nil {
			return err
		}
		if err = n.give(fd, cfd, mode, owner); err != nil {
			return errors.Join(err, unix.Unlinkat(fd, name, removeFlags), unix.Close(cfd))
		}
		if st, err = statFd(cfd); err != nil {
			return errors.Join(err, unix.Close(cfd))
		}
		child = n.fs.adopt(cfd, st.Key(), n, name)
		return nil
	})
	return child, st, err
}

// give hands the new object behind fd, made in the directory dirFd, to its
// owner. A directory with the set-group-id bit gives its group instead.
func (n *Node) give(dirFd, fd int, mode uint32, owner Owner) error {
	if os.Geteuid() != 0 || owner == (Owner{}) {
		return nil
	}
	dir, err := statFd(dirFd)
	if err != nil {
		return err
	}
	gid := int(owner.GID)
	if dir.Mode&unix.S_ISGID != 0 {
		gid = -1
	}
	if err := unix.Fchownat(fd, "", int(owner.UID), gid, unix.AT_EMPTY_PATH); err != nil {
		return err
	}
	// chown(2) clears these bits of a file.
	if special := mode & (unix.S_ISUID | unix.S_ISGID); special != 0 && mode&unix.S_IFMT != unix.S_IFLNK {
		return unix.Fchmodat(unix.AT_FDCWD, procPath(fd), mode&0o7777, 0)
	}
	return nil
}
