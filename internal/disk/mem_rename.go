package disk

import "syscall"

func (m *Mem) Rename(oldname, newname string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	o, n, err := m.two(oldname, newname)
	if err == nil {
		err = m.rename(o, n)
	}
	return m.failTwo("rename", oldname, newname, err)
}

func (m *Mem) RenameNoReplace(oldname, newname string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	o, n, err := m.two(oldname, newname)
	if err == nil && n.node != nil {
		err = syscall.EEXIST
	}
	if err == nil {
		err = m.rename(o, n)
	}
	return m.failTwo("rename", oldname, newname, err)
}

func (m *Mem) Exchange(a, b string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	pa, pb, err := m.two(a, b)
	switch {
	case err != nil:
	case pb.node == nil:
		err = syscall.ENOENT
	case pa.node.holds(pb.dir), pb.node.holds(pa.dir):
		err = syscall.EINVAL
	case pa.node != pb.node:
		m.drop(pa.node)
		m.drop(pb.node)
		m.move(pa, pb, pb.node)
		m.settle(pa.node, pb)
		m.settle(pb.node, pa)
	}
	return m.failTwo("exchange", a, b, err)
}

// two resolves both names; the first must be there.
func (m *Mem) two(oldname, newname string) (o, n memPlace, err error) {
	if _, _, err := cleanTwo(oldname, newname); err != nil {
		return o, n, err
	}
	if o, err = m.entry(oldname); err != nil {
		return o, n, err
	}
	if n, err = m.entry(newname); err != nil {
		return o, n, err
	}
	if o.node == nil || n.dir.nlink == 0 {
		return o, n, syscall.ENOENT
	}
	return o, n, nil
}

// rename gives its errors in the order of Linux.
func (m *Mem) rename(o, n memPlace) error {
	switch {
	case o.node.holds(n.dir):
		return syscall.EINVAL
	case n.node.holds(o.dir):
		return syscall.ENOTEMPTY
	case n.node == o.node:
		return nil // two links of one file: POSIX leaves both
	case n.node != nil && o.node.isDir() && !n.node.isDir():
		return syscall.ENOTDIR
	case n.node != nil && !o.node.isDir() && n.node.isDir():
		return syscall.EISDIR
	case n.node != nil && len(n.node.entries) > 0:
		return syscall.ENOTEMPTY
	}
	if n.node != nil {
		m.drop(n.node)
		n.node.bury()
	}
	m.drop(o.node)
	m.move(o, n, nil)
	m.settle(o.node, n)
	return nil
}

// move enters o's node at n, and at o what is to be there then. Within one
// directory this is one change, which a crash keeps or loses as a whole.
func (m *Mem) move(o, n memPlace, back *memNode) {
	if o.dir == n.dir {
		m.change(o.dir, memChange{o.base: back, n.base: o.node})
		return
	}
	m.change(n.dir, memChange{n.base: o.node})
	m.change(o.dir, memChange{o.base: back})
}

// holds reports whether d is the directory n or lies below it.
func (n *memNode) holds(d *memNode) bool {
	if n == nil || !n.isDir() {
		return false
	}
	for ; d != nil; d = d.parent {
		if d == n {
			return true
		}
	}
	return false
}
