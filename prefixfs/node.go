package prefixfs

import (
	"container/list"
	"path"
	"strconv"

	"golang.org/x/sys/unix"
)

// Node is one file, directory or other object of the tree, the same *Node for
// every name it has. Whoever got it from Lookup or one of the calls that make
// things owns a reference and gives it back with Release.
type Node struct {
	fs  *FS
	key Key

	// The rest is guarded by fs.mu.
	parent *Node // directory it was last seen in; nil for the root
	name   string
	named  bool          // parent and name are believed to lead here
	fd     int           // O_PATH; -1 while closed
	users  int           // calls that use fd now
	refs   int           // references held by callers and by nodes below
	pinned bool          // fd cannot be had again by name and stays open
	elem   *list.Element // in fs.idle
}

// Key returns the identity of the file.
func (n *Node) Key() Key { return n.key }

// Path returns the place of the node below the top, "" for the top itself, as
// it was last seen; false if it has no name any more.
func (n *Node) Path() (string, bool) {
	n.fs.mu.Lock()
	defer n.fs.mu.Unlock()
	p := ""
	for at := n; at.parent != nil; at = at.parent {
		if !at.named {
			return "", false
		}
		p = path.Join(at.name, p)
	}
	return p, true
}

// Parent returns the directory the node was last seen in, with a reference;
// nil for the root.
func (n *Node) Parent() *Node {
	n.fs.mu.Lock()
	defer n.fs.mu.Unlock()
	if n.parent != nil {
		n.parent.refs++
	}
	return n.parent
}

// Ref takes one more reference.
func (n *Node) Ref() {
	n.fs.mu.Lock()
	defer n.fs.mu.Unlock()
	n.refs++
}

// Release gives back one reference. With the last one the descriptor closes.
func (n *Node) Release() {
	n.fs.mu.Lock()
	defer n.fs.mu.Unlock()
	n.fs.unref(n)
}

// unref drops one reference of n and, where it was the last, those n held.
// The caller holds fs.mu.
func (f *FS) unref(n *Node) {
	for ; n != nil; n = n.parent {
		n.refs--
		if n.refs > 0 || n == f.root {
			return
		}
		if n.refs < 0 {
			panic("BUG: prefixfs: node " + n.name + " released too often")
		}
		f.forgetName(n)
		if f.byKey[n.key] == n {
			delete(f.byKey, n.key)
		}
		f.closeFd(n)
	}
}

// closeFd closes the descriptor of n if it is open. The caller holds fs.mu.
func (f *FS) closeFd(n *Node) {
	if n.elem != nil {
		f.idle.Remove(n.elem)
		n.elem = nil
	}
	if n.fd >= 0 && n.users == 0 {
		_ = unix.Close(n.fd) // an O_PATH descriptor has nothing to lose
		n.fd = -1
	}
}

// hold returns the descriptor of n, opened again if need be. It stays open
// until drop.
func (n *Node) hold() (int, error) {
	f := n.fs
	f.mu.Lock()
	if n.fd >= 0 {
		f.take(n)
		f.mu.Unlock()
		return n.fd, nil
	}
	parent, name, named := n.parent, n.name, n.named
	f.mu.Unlock()
	if !named {
		return -1, unix.ESTALE
	}
	fd, err := reopen(parent, name, n.key)
	if err != nil {
		return -1, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if n.fd >= 0 { // somebody else was faster
		_ = unix.Close(fd)
	} else {
		n.fd = fd
	}
	f.take(n)
	return n.fd, nil
}

func reopen(parent *Node, name string, want Key) (int, error) {
	pfd, err := parent.hold()
	if err != nil {
		return -1, err
	}
	defer parent.drop()
	fd, st, err := openPath(pfd, name)
	if err == unix.ENOENT || err == nil && st.Key() != want {
		if err == nil {
			_ = unix.Close(fd)
		}
		return -1, unix.ESTALE
	}
	return fd, err
}

// openPath opens name in the directory pfd without following a symbolic link
// and without asking for any right to its content.
func openPath(pfd int, name string) (int, Stat, error) {
	fd, err := unix.Openat(pfd, name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, Stat{}, err
	}
	st, err := statFd(fd)
	if err != nil {
		_ = unix.Close(fd)
		return -1, Stat{}, err
	}
	return fd, st, nil
}

// take marks the open descriptor of n as used. The caller holds fs.mu.
func (f *FS) take(n *Node) {
	n.users++
	if n.elem != nil {
		f.idle.Remove(n.elem)
		n.elem = nil
	}
}

func (n *Node) drop() {
	f := n.fs
	f.mu.Lock()
	defer f.mu.Unlock()
	n.users--
	if n.users > 0 {
		return
	}
	if n.refs == 0 && n != f.root {
		f.closeFd(n)
		return
	}
	f.rest(n)
}

// rest puts an unused node where its descriptor may be taken from, and takes
// those of the nodes longest unused if there are too many. The caller holds
// fs.mu.
func (f *FS) rest(n *Node) {
	if n.pinned || n.fd < 0 || n.users > 0 || n.elem != nil {
		return
	}
	n.elem = f.idle.PushFront(n)
	for f.idle.Len() > f.keep {
		f.closeFd(f.idle.Back().Value.(*Node))
	}
}

// with runs one call on the descriptor of n.
func (n *Node) with(fn func(fd int) error) error {
	return n.fs.pool.do(func() error {
		fd, err := n.hold()
		if err != nil {
			return err
		}
		defer n.drop()
		return fn(fd)
	})
}

// with2 runs one call on the descriptors of two nodes.
func with2(a, b *Node, fn func(afd, bfd int) error) error {
	return a.with(func(afd int) error {
		bfd, err := b.hold()
		if err != nil {
			return err
		}
		defer b.drop()
		return fn(afd, bfd)
	})
}

// procPath is a path that leads to the very object behind fd, whatever became
// of its name.
func procPath(fd int) string { return "/proc/self/fd/" + strconv.Itoa(fd) }
