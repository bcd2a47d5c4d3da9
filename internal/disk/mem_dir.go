package disk

import (
	"io/fs"
	"path"
	"syscall"
	"time"
)

func (m *Mem) Mkdir(name string, perm fs.FileMode) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	p, err := m.newEntry(name)
	if err == nil && perm&^fs.ModePerm != 0 {
		err = syscall.EINVAL
	}
	if err == nil {
		m.put(p, m.newNode(fs.ModeDir|perm))
	}
	return m.fail("mkdir", name, err)
}

func (m *Mem) Symlink(target, name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	p, err := m.newEntry(name)
	switch {
	case target == "" && (err == nil || err == syscall.EEXIST):
		err = syscall.ENOENT
	case err == nil:
		n := m.newNode(fs.ModeSymlink | 0o777)
		n.target = target
		m.put(p, n)
	}
	return m.fail("symlink", name, err)
}

func (m *Mem) Link(oldname, newname string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.failTwo("link", oldname, newname, m.link(oldname, newname))
}

func (m *Mem) link(oldname, newname string) error {
	o, err := m.entry(oldname)
	if err != nil {
		return err
	}
	n, err := m.entry(newname)
	switch {
	case err != nil:
		return err
	case o.node == nil:
		return syscall.ENOENT
	case n.node != nil:
		return syscall.EEXIST
	case n.dir.nlink == 0:
		return syscall.ENOENT
	case o.node.isDir():
		return syscall.EPERM
	}
	m.put(n, o.node)
	return nil
}

func (m *Mem) Remove(name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	p, err := m.entry(name)
	switch {
	case err != nil:
	case p.node == nil:
		err = syscall.ENOENT
	case len(p.node.entries) > 0:
		err = syscall.ENOTEMPTY
	default:
		m.change(p.dir, memChange{p.base: nil})
		m.drop(p.node)
		p.node.bury()
	}
	return m.fail("remove", name, err)
}

// put enters a node where nothing is.
func (m *Mem) put(p memPlace, n *memNode) {
	m.change(p.dir, memChange{p.base: n})
	m.settle(n, p)
}

// settle counts the name that n has got.
func (m *Mem) settle(n *memNode, p memPlace) {
	n.attr.ctime = m.now()
	if n.isDir() {
		n.parent, n.name = p.dir, p.base
		p.dir.nlink++
	} else {
		n.nlink++
	}
}

// drop counts the name that n has lost.
func (m *Mem) drop(n *memNode) {
	n.attr.ctime = m.now()
	if n.isDir() {
		n.parent.nlink--
		n.parent = nil
	} else {
		n.nlink--
	}
}

// bury follows drop of a node that gets no other name.
func (n *memNode) bury() {
	if n.isDir() {
		n.nlink = 0
	}
}

func (m *Mem) Readlink(name string) (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n, err := m.find(name, false)
	if err == nil && !n.isLink() {
		err = syscall.EINVAL
	}
	if err != nil {
		return "", m.fail("readlink", name, err)
	}
	return n.target, nil
}

func (m *Mem) Stat(name string) (fs.FileInfo, error)  { return m.stat("stat", name, true) }
func (m *Mem) Lstat(name string) (fs.FileInfo, error) { return m.stat("lstat", name, false) }

func (m *Mem) stat(op, name string, follow bool) (fs.FileInfo, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n, err := m.find(name, follow)
	if err != nil {
		return nil, m.fail(op, name, err)
	}
	return n.info(name), nil
}

func (m *Mem) ReadDir(name string) ([]fs.DirEntry, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n, err := m.findDir(name)
	if err != nil {
		return nil, m.fail("readdir", name, err)
	}
	list := make([]fs.DirEntry, 0, len(n.entries))
	for base, c := range n.entries {
		list = append(list, dirEntry{fsys: m, dir: path.Clean(name), name: base, mode: c.attr.mode.Type()})
	}
	sortEntries(list)
	return list, nil
}

func (m *Mem) SyncDir(name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	n, err := m.findDir(name)
	if err == nil {
		n.sync()
	}
	return m.fail("syncdir", name, err)
}

func (m *Mem) Chmod(name string, mode fs.FileMode) error {
	const bits = fs.ModePerm | fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky
	return m.setAttr("chmod", name, func(a *memAttr) { a.mode = a.mode&^bits | mode&bits })
}

func (m *Mem) Chown(name string, uid, gid int) error {
	return m.setAttr("chown", name, func(a *memAttr) {
		if uid >= 0 {
			a.uid = uid
		}
		if gid >= 0 {
			a.gid = gid
		}
	})
}

func (m *Mem) Chtimes(name string, atime, mtime time.Time) error {
	return m.setAttr("chtimes", name, func(a *memAttr) {
		if !atime.IsZero() {
			a.atime = atime
		}
		if !mtime.IsZero() {
			a.mtime = mtime
		}
	})
}

func (m *Mem) setAttr(op, name string, set func(*memAttr)) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	n, err := m.find(name, true)
	if err == nil {
		set(&n.attr)
		n.attr.ctime = m.now()
	}
	return m.fail(op, name, err)
}
