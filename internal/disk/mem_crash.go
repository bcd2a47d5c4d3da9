package disk

import "math/rand/v2"

// CrashClone is the tree as it stands after a power cut now, in the worst case
// POSIX allows: of each file the bytes as of its last Sync (none, if there was
// none), of each directory the entries as of its last SyncDir. A rename
// between two directories is two changes: syncing one directory alone may
// leave the file in both or in neither. Of a view it clones the part in view.
// Locks and open files do not survive; the tree itself goes on unharmed.
func (m *Mem) CrashClone() *Mem { return m.crash(nil) }

// CrashCloneSeed is a power cut as real ones are: what was not synced may have
// reached the disk all the same. Of each directory some first part of its
// changes survives, of each file any mixture of old and new blocks and a size
// between the old and the new one. Equal seeds and histories give equal trees.
func (m *Mem) CrashCloneSeed(seed uint64) *Mem {
	return m.crash(rand.New(rand.NewPCG(seed, 0)))
}

func (m *Mem) crash(luck *rand.Rand) *Mem {
	m.mu.Lock()
	defer m.mu.Unlock()
	clone := NewMem()
	clone.capacityBytes, clone.ticks, clone.lastIno = m.capacityBytes, m.ticks, m.lastIno
	c := crasher{luck: luck, old: map[*memNode]map[string]*memNode{}, made: map[*memNode]*memNode{}}
	clone.root = c.node(m.root)
	clone.root.parent = nil
	clone.top = clone.root
	clone.base = m.base
	return clone
}

// crasher builds the clone. luck is nil for the worst case.
type crasher struct {
	luck *rand.Rand
	old  map[*memNode]map[string]*memNode // surviving entries, once drawn
	made map[*memNode]*memNode
}

// node clones what n is on the disk, once: hard links stay links of one file.
func (c *crasher) node(n *memNode) *memNode {
	if made := c.made[n]; made != nil {
		return made
	}
	attr := n.synced
	if c.chance() {
		attr = n.attr
	}
	made := &memNode{ino: n.ino, attr: attr, synced: attr, target: n.target, cow: true}
	c.made[n] = made
	if !n.isDir() {
		made.data = c.bytes(n)
		made.diskData = made.data
		return made
	}
	made.nlink = 2
	made.entries, made.diskEntries = map[string]*memNode{}, map[string]*memNode{}
	entries := c.entries(n)
	for _, name := range sortedKeys(entries) {
		child := entries[name]
		if child.isDir() && !c.belongs(child, n, name) {
			continue
		}
		copied := c.node(child)
		if child.isDir() {
			copied.parent, copied.name = made, name
			made.nlink++
		} else {
			copied.nlink++
		}
		made.entries[name], made.diskEntries[name] = copied, copied
	}
	return made
}

// belongs settles where a directory is that was being moved and that the disk
// has in two places: a file may have two names, a directory may not. It stays
// in the new place, as after a check of the file system.
func (c *crasher) belongs(child, dir *memNode, name string) bool {
	if c.made[child] != nil {
		return false
	}
	if child.parent == nil || child.parent == dir && child.name == name {
		return true
	}
	return c.entries(child.parent)[child.name] != child
}

// entries draws which entries of a directory survive.
func (c *crasher) entries(n *memNode) map[string]*memNode {
	if e := c.old[n]; e != nil {
		return e
	}
	e := map[string]*memNode{}
	apply(e, n.diskEntries)
	if c.luck != nil {
		for _, change := range n.pending[:c.luck.IntN(len(n.pending)+1)] {
			apply(e, change)
		}
	}
	c.old[n] = e
	return e
}

// bytes draws which bytes of a file survive.
func (c *crasher) bytes(n *memNode) []byte {
	if c.luck == nil {
		return n.diskData
	}
	const blockBytes = 512 // a sector: the unit that disks write whole
	small, large := min(len(n.diskData), len(n.data)), max(len(n.diskData), len(n.data))
	b := make([]byte, large)
	for off := 0; off < large; off += blockBytes {
		from := n.diskData
		if c.chance() {
			from = n.data
		}
		if off < len(from) {
			copy(b[off:min(off+blockBytes, large)], from[off:])
		}
	}
	return b[:small+c.luck.IntN(large-small+1)]
}

func (c *crasher) chance() bool { return c.luck != nil && c.luck.IntN(2) == 0 }
