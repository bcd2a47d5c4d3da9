package catalog

import (
	"maps"
	"slices"
	"strings"
	"syscall"

	"github.com/scrfs/scrfs/scr"
)

// Ino is an inode number of the catalogue: bit 63 is set, so that it cannot
// clash with one of the prefix directory.
type Ino uint64

// firstIno is the smallest inode number the catalogue gives.
const firstIno Ino = 1<<63 | 1

// NoRank marks a file whose writer has no rank in its environment.
const NoRank scr.Rank = -1

// Dir names a directory: an inode of the catalogue, or, with Ino 0, the
// directory of the prefix at Path ("" is the prefix directory itself).
type Dir struct {
	Ino  Ino
	Path string
}

// Inode is one file, directory or symbolic link of a dataset.
type Inode struct {
	Ino                 Ino
	Mode                uint32 // st_mode: type and permission bits
	UID, GID            uint32
	SizeBytes           int64 // as of the last close; the owner knows better while it is open
	Atime, Mtime, Ctime int64 // nanoseconds since the epoch
	Target              string
	Dataset             scr.DatasetID
	Owner               string   // node that holds the bytes of a regular file
	Rank                scr.Rank // NoRank if the writer had none
	World               int      // ranks of the writer's application, 0 if unknown
	Xattrs              map[string]string

	// Parent and Name say where it stands; Name is "" once it was removed.
	Parent Dir
	Name   string

	// Writers counts the descriptors open for writing, by node.
	Writers map[string]int

	children map[string]Ino
}

// IsDir tells a directory.
func (n *Inode) IsDir() bool { return n.Mode&syscall.S_IFMT == syscall.S_IFDIR }

// IsRegular tells a regular file.
func (n *Inode) IsRegular() bool { return n.Mode&syscall.S_IFMT == syscall.S_IFREG }

// Written tells whether any node has the file open for writing.
func (n *Inode) Written() bool { return len(n.Writers) > 0 }

func (n *Inode) addWriter(node string, delta int) {
	count := n.Writers[node] + delta
	if count > 0 {
		if n.Writers == nil {
			n.Writers = map[string]int{}
		}
		n.Writers[node] = count
		return
	}
	delete(n.Writers, node)
}

// State is the tree. The zero value is not usable; call New.
type State struct {
	nextIno Ino
	inodes  map[Ino]*Inode
	// prefix holds the catalogue's names in directories of the prefix.
	prefix map[string]map[string]Ino
	// answers remembers what was answered to each node's requests, so that a
	// request sent again after the leader died does not take effect twice.
	answers map[string]*answers
}

// New returns an empty tree.
func New() *State {
	return &State{nextIno: firstIno, inodes: map[Ino]*Inode{}, prefix: map[string]map[string]Ino{}, answers: map[string]*answers{}}
}

// Inode returns the inode, nil if there is none. The caller must not change it.
func (s *State) Inode(ino Ino) *Inode { return s.inodes[ino] }

// Lookup finds a name, nil if the catalogue has none.
func (s *State) Lookup(dir Dir, name string) *Inode {
	ino, ok := s.names(dir)[name]
	if !ok {
		return nil
	}
	return s.inodes[ino]
}

// List returns the inodes in dir, sorted by name.
func (s *State) List(dir Dir) []*Inode {
	names := s.names(dir)
	list := make([]*Inode, 0, len(names))
	for _, name := range slices.Sorted(maps.Keys(names)) {
		list = append(list, s.inodes[names[name]])
	}
	return list
}

// Path returns the path below the prefix directory; "" and false once removed.
func (s *State) Path(n *Inode) (string, bool) {
	var parts []string
	for {
		if n == nil || n.Name == "" {
			return "", false
		}
		parts = append(parts, n.Name)
		if n.Parent.Ino == 0 {
			if n.Parent.Path != "" {
				parts = append(parts, n.Parent.Path)
			}
			slices.Reverse(parts)
			return strings.Join(parts, "/"), true
		}
		n = s.inodes[n.Parent.Ino]
	}
}

// Dataset returns every inode of a dataset, in order of inode number; removed
// but still open ones are not among them.
func (s *State) Dataset(id scr.DatasetID) []*Inode {
	var list []*Inode
	for _, ino := range slices.Sorted(maps.Keys(s.inodes)) {
		if n := s.inodes[ino]; n.Dataset == id && n.Name != "" {
			list = append(list, n)
		}
	}
	return list
}

// Below calls f for an inode and all that is below it.
func (s *State) Below(n *Inode, f func(*Inode)) {
	f(n)
	for _, ino := range n.children {
		s.Below(s.inodes[ino], f)
	}
}

// UnderPrefix returns the inodes that stand in a directory of the prefix or in
// a directory of the prefix below it, in no order.
func (s *State) UnderPrefix(path string) []*Inode {
	var list []*Inode
	for dir, names := range s.prefix {
		if isBelow(dir, path) {
			for _, ino := range names {
				list = append(list, s.inodes[ino])
			}
		}
	}
	return list
}

// isBelow tells whether a path is that of a directory or below it.
func isBelow(path, dir string) bool {
	return path == dir || dir == "" || strings.HasPrefix(path, dir+"/")
}

// Len is the number of inodes.
func (s *State) Len() int { return len(s.inodes) }

// names returns the name table of a directory, nil if it has none.
func (s *State) names(dir Dir) map[string]Ino {
	if dir.Ino == 0 {
		return s.prefix[dir.Path]
	}
	if n := s.inodes[dir.Ino]; n != nil {
		return n.children
	}
	return nil
}

func (s *State) attach(n *Inode, dir Dir, name string) {
	if dir.Ino == 0 {
		if s.prefix[dir.Path] == nil {
			s.prefix[dir.Path] = map[string]Ino{}
		}
		s.prefix[dir.Path][name] = n.Ino
	} else {
		parent := s.inodes[dir.Ino]
		if parent.children == nil {
			parent.children = map[string]Ino{}
		}
		parent.children[name] = n.Ino
	}
	n.Parent, n.Name = dir, name
}

func (s *State) detach(n *Inode) {
	names := s.names(n.Parent)
	delete(names, n.Name)
	if n.Parent.Ino == 0 && len(names) == 0 {
		delete(s.prefix, n.Parent.Path)
	}
	n.Name = ""
}

// forget drops an inode that has no name once nobody writes it.
func (s *State) forget(n *Inode) {
	if n.Name == "" && !n.Written() {
		delete(s.inodes, n.Ino)
	}
}

// Copy returns a copy that a later operation does not change. The names below
// a directory are not part of it.
func (n *Inode) Copy() *Inode {
	c := *n
	c.children = nil
	c.Writers, c.Xattrs = maps.Clone(n.Writers), maps.Clone(n.Xattrs)
	return &c
}
