package fusefs

import (
	"sync"

	"github.com/hanwen/go-fuse/v2/fuse"
	"github.com/scrfs/scrfs/prefixfs"
)

// table knows what the kernel knows: nodes by their id, as long as the kernel
// remembers them, and open files.
type table struct {
	mu       sync.Mutex
	nodes    map[uint64]*node
	byPrefix map[*prefixfs.Node]*node
	byIno    map[uint64]*node
	handles  map[uint64]*handle
	nextNode uint64
	nextFile uint64
}

// node is an inode as the kernel knows it: one of the prefix directory, or one
// of the catalogue.
type node struct {
	id      uint64
	prefix  *prefixfs.Node // nil for a catalogue node
	ino     uint64         // of a catalogue node
	lookups uint64         // how often the kernel was told of it; table.mu

	mu      sync.Mutex
	handles map[*handle]struct{} // open files of it
	last    Entry                // what the catalogue said last of it
	io      ioMode
}

func newTable(root *prefixfs.Node) *table {
	t := &table{
		nodes:    make(map[uint64]*node),
		byPrefix: make(map[*prefixfs.Node]*node),
		byIno:    make(map[uint64]*node),
		handles:  make(map[uint64]*handle),
		nextNode: fuse.FUSE_ROOT_ID + 1,
		nextFile: 1,
	}
	top := &node{id: fuse.FUSE_ROOT_ID, prefix: root, lookups: 1}
	t.nodes[top.id] = top
	t.byPrefix[root] = top
	return t
}

// node returns the node the kernel means by id. The kernel never uses an id it
// was not given, or gave back.
func (t *table) node(id uint64) *node {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.nodes[id]
}

// addPrefix returns the node for p and counts that the kernel is told of it.
// It takes over the caller's reference to p.
func (t *table) addPrefix(p *prefixfs.Node) *node {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := t.byPrefix[p]
	if n == nil {
		n = t.add(&node{prefix: p})
		t.byPrefix[p] = n
	} else {
		p.Release() // the node has a reference already
	}
	n.lookups++
	return n
}

// addCatalogue returns the node for a catalogue inode and counts that the
// kernel is told of it.
func (t *table) addCatalogue(ino uint64) *node {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := t.byIno[ino]
	if n == nil {
		n = t.add(&node{ino: ino})
		t.byIno[ino] = n
	}
	n.lookups++
	return n
}

func (t *table) add(n *node) *node {
	n.id = t.nextNode
	t.nextNode++
	t.nodes[n.id] = n
	return n
}

// forget takes back count of the times the kernel was told of the node, and
// returns the catalogue inode that nobody remembers now, 0 if none.
func (t *table) forget(id, count uint64) uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := t.nodes[id]
	if n == nil || id == fuse.FUSE_ROOT_ID {
		return 0
	}
	n.lookups -= min(count, n.lookups)
	if n.lookups > 0 {
		return 0
	}
	delete(t.nodes, id)
	if n.prefix != nil {
		delete(t.byPrefix, n.prefix)
		n.prefix.Release()
		return 0
	}
	delete(t.byIno, n.ino)
	return n.ino
}

// idOf returns the id under which the kernel knows a catalogue inode; 0 if it
// does not.
func (t *table) idOf(ino uint64) uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	if n := t.byIno[ino]; n != nil {
		return n.id
	}
	return 0
}

// idOfPath returns the id under which the kernel knows a directory of the
// prefix; 0 if it does not.
func (t *table) idOfPath(path string) uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	for p, n := range t.byPrefix {
		if at, ok := p.Path(); ok && at == path {
			return n.id
		}
	}
	return 0
}

// drain empties the table after the last request and returns what was open and
// which catalogue inodes were known.
func (t *table) drain() (open []*handle, inos []uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, h := range t.handles {
		open = append(open, h)
	}
	for _, n := range t.nodes {
		if n.prefix == nil {
			inos = append(inos, n.ino)
		}
		if n.prefix != nil && n.id != fuse.FUSE_ROOT_ID {
			n.prefix.Release()
		}
	}
	clear(t.handles)
	clear(t.nodes)
	clear(t.byPrefix)
	clear(t.byIno)
	return open, inos
}
