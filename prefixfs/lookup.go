package prefixfs

import "golang.org/x/sys/unix"

// Lookup finds name in the directory n. Symbolic links are not followed. The
// node comes with a reference.
func (n *Node) Lookup(name string) (*Node, Stat, error) {
	var child *Node
	var st Stat
	err := n.with(func(fd int) error {
		var err error
		if st, err = statAt(fd, name); err != nil {
			return err
		}
		if child = n.fs.find(st.Key(), n, name); child != nil {
			child.warm()
			return nil
		}
		child, st, err = n.open(fd, name)
		return err
	})
	return child, st, err
}

// warm makes a node that was found again one of those used last: most likely
// it will be opened next. That its name leads elsewhere by now is for that
// call to find out.
func (n *Node) warm() {
	if _, err := n.hold(); err == nil {
		n.drop()
	}
}

// open makes the node of name in the directory behind fd.
func (n *Node) open(fd int, name string) (*Node, Stat, error) {
	cfd, st, err := openPath(fd, name)
	if err != nil {
		return nil, Stat{}, err
	}
	return n.fs.adopt(cfd, st.Key(), n, name), st, nil
}

// StatName returns the attributes of name in the directory n without taking
// hold of it.
func (n *Node) StatName(name string) (Stat, error) {
	var st Stat
	err := n.with(func(fd int) (err error) {
		st, err = statAt(fd, name)
		return err
	})
	return st, err
}

// Stat returns the attributes of n.
func (n *Node) Stat() (Stat, error) {
	var st Stat
	err := n.with(func(fd int) (err error) {
		st, err = statFd(fd)
		return err
	})
	return st, err
}

// Readlink returns the text of the symbolic link n.
func (n *Node) Readlink() ([]byte, error) {
	buf := make([]byte, unix.PathMax)
	err := n.with(func(fd int) error {
		got, err := unix.Readlinkat(fd, "", buf)
		buf = buf[:max(got, 0)]
		return err
	})
	return buf, err
}

// Statfs returns the figures of the file system n lies on.
func (n *Node) Statfs() (unix.Statfs_t, error) {
	var s unix.Statfs_t
	err := n.with(func(fd int) error { return unix.Fstatfs(fd, &s) })
	return s, err
}
