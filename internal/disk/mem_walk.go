package disk

import (
	"strings"
	"syscall"
)

const (
	maxLinks     = 8   // as os.Root
	maxNameBytes = 255 // of one element, as every file system of Linux
)

// memPlace is where a name leads: an entry of a directory, which may be absent.
type memPlace struct {
	dir  *memNode
	base string   // "." at the root of the view
	node *memNode // nil if absent
}

// walk resolves name; follow says whether a symbolic link at its end is
// followed. What is missing on the way is an error, the last element is not.
func (m *Mem) walk(name string, follow bool) (memPlace, error) {
	name, err := clean(name)
	if err != nil {
		return memPlace{}, err
	}
	var (
		above   []*memNode // directories on the way from the root, which ".." pops
		dir     = m.root
		rest    = strings.Split(name, "/")
		links   = 0
		mustDir = false
	)
	for {
		elem := rest[0]
		rest = rest[1:]
		last := len(rest) == 0
		p := memPlace{dir: dir, base: elem}
		switch elem {
		case ".", "":
			p.base, p.node = ".", dir
		case "..":
			if len(above) == 0 {
				return memPlace{}, ErrEscape
			}
			dir, above = above[len(above)-1], above[:len(above)-1]
			p.base, p.node = ".", dir
		default:
			if len(elem) > maxNameBytes {
				return memPlace{}, syscall.ENAMETOOLONG
			}
			p.node = dir.entries[elem]
		}
		if p.node != nil && p.node.isLink() && (follow || !last) {
			target := p.node.target
			if links++; links > maxLinks {
				return memPlace{}, syscall.ELOOP
			}
			if target[0] == '/' {
				return memPlace{}, ErrEscape
			}
			mustDir = mustDir || last && strings.HasSuffix(target, "/")
			rest = append(strings.Split(strings.TrimRight(target, "/"), "/"), rest...)
			continue
		}
		if last {
			return p, p.check(mustDir)
		}
		if p.node == nil {
			return memPlace{}, syscall.ENOENT
		}
		if !p.node.isDir() {
			return memPlace{}, syscall.ENOTDIR
		}
		if p.node != dir {
			above = append(above, dir)
			dir = p.node
		}
	}
}

func (p memPlace) check(mustDir bool) error {
	switch {
	case !mustDir:
		return nil
	case p.node == nil:
		return syscall.ENOENT
	case !p.node.isDir():
		return syscall.ENOTDIR
	}
	return nil
}

// find is walk to something that must be there.
func (m *Mem) find(name string, follow bool) (*memNode, error) {
	p, err := m.walk(name, follow)
	if err != nil {
		return nil, err
	}
	if p.node == nil {
		return nil, syscall.ENOENT
	}
	return p.node, nil
}

func (m *Mem) findDir(name string) (*memNode, error) {
	n, err := m.find(name, true)
	if err == nil && !n.isDir() {
		return nil, syscall.ENOTDIR
	}
	return n, err
}

// entry is walk to an entry that is to be made, moved or removed.
func (m *Mem) entry(name string) (memPlace, error) {
	if _, err := cleanEntry(name); err != nil {
		return memPlace{}, err
	}
	return m.walk(name, false)
}

// newEntry is entry for one that must be absent.
func (m *Mem) newEntry(name string) (memPlace, error) {
	p, err := m.entry(name)
	if err == nil && p.node != nil {
		err = syscall.EEXIST
	}
	// A directory that was removed while a view of it is held takes no entries.
	if err == nil && p.dir.nlink == 0 {
		err = syscall.ENOENT
	}
	return p, err
}
