package fusefs

import "github.com/hanwen/go-fuse/v2/fuse"

// Invalidate makes the kernel forget attributes and pages of a catalogue
// inode. It must not be called from a Namespace method nor under a lock that
// one of them takes: the kernel may wait for a request that waits for it.
func (m *Mount) Invalidate(ino uint64) {
	if id := m.table.idOf(ino); id != 0 {
		// ENOENT: the kernel has forgotten it since.
		m.server.InodeNotify(id, 0, 0)
	}
}

// InvalidateEntry makes the kernel forget a name; see Invalidate.
func (m *Mount) InvalidateEntry(dir Dir, name string) {
	id := m.table.idOf(dir.Ino)
	switch {
	case dir.Ino != 0:
	case dir.Path == "":
		id = fuse.FUSE_ROOT_ID
	default:
		id = m.table.idOfPath(dir.Path)
	}
	if id != 0 {
		m.server.EntryNotify(id, name)
	}
}

// Remembers tells whether the kernel may still ask for a catalogue inode: a
// program has it open or is on its way to it.
func (m *Mount) Remembers(ino uint64) bool { return m.table.idOf(ino) != 0 }
