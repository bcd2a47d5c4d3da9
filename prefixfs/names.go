package prefixfs

import "golang.org/x/sys/unix"

// adopt returns the node of the object behind fd, with a reference, and notes
// that it was seen as name in parent (nil for an object without a name). It
// takes over fd.
func (f *FS) adopt(fd int, key Key, parent *Node, name string) *Node {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := f.byKey[key]
	if n == nil {
		n = &Node{fs: f, key: key, fd: fd}
		f.byKey[key] = n
	} else if n.fd < 0 {
		n.fd = fd
	} else {
		_ = unix.Close(fd)
	}
	n.refs++
	if parent != nil {
		f.setName(n, parent, name)
	} else {
		n.pinned = true
	}
	f.rest(n)
	return n
}

// find is adopt for an object whose node may be known already: nil if not.
func (f *FS) find(key Key, parent *Node, name string) *Node {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := f.byKey[key]
	if n == nil {
		return nil
	}
	n.refs++
	f.setName(n, parent, name)
	return n
}

// setName notes that n was seen as name in parent. The caller holds fs.mu.
func (f *FS) setName(n *Node, parent *Node, name string) {
	at := place{parent, name}
	if f.names[at] == n || n == f.root {
		return
	}
	if other := f.names[at]; other != nil {
		f.loseName(other)
	}
	f.forgetName(n)
	old := n.parent
	parent.refs++
	n.parent, n.name, n.named = parent, name, true
	f.names[at] = n
	if n.pinned {
		n.pinned = false
		f.rest(n)
	}
	if old != nil {
		f.unref(old)
	}
}

// forgetName takes n out of the names. The caller holds fs.mu.
func (f *FS) forgetName(n *Node) {
	if n.named {
		delete(f.names, place{n.parent, n.name})
		n.named = false
	}
}

// loseName notes that the name of n does not lead to it any more, so that its
// descriptor is the only way left. The caller holds fs.mu.
func (f *FS) loseName(n *Node) {
	f.forgetName(n)
	n.pinned = true
	if n.elem != nil {
		f.idle.Remove(n.elem)
		n.elem = nil
	}
}

// holdName holds the node known as name in dir, if there is one, before its
// name goes. The caller drops it.
func (f *FS) holdName(dir *Node, name string) *Node {
	f.mu.Lock()
	n := f.names[place{dir, name}]
	if n != nil {
		n.refs++
	}
	f.mu.Unlock()
	if n == nil {
		return nil
	}
	if _, err := n.hold(); err != nil {
		n.Release()
		return nil
	}
	return n
}

// letGo undoes holdName.
func letGo(n *Node) {
	if n != nil {
		n.drop()
		n.Release()
	}
}

// removed notes that name in dir is gone.
func (f *FS) removed(dir *Node, name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if n := f.names[place{dir, name}]; n != nil {
		f.loseName(n)
	}
}

// moved notes a rename; exchange that both names lived on.
func (f *FS) moved(from *Node, oldName string, to *Node, newName string, exchange bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	a, b := f.names[place{from, oldName}], f.names[place{to, newName}]
	if a == b {
		return // the same name twice, or nothing known of either
	}
	if b != nil {
		f.loseName(b)
	}
	if a != nil {
		f.setName(a, to, newName)
	}
	if exchange && b != nil {
		f.setName(b, from, oldName)
	}
}
