package fusefs

import (
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"
	"github.com/scrfs/scrfs/prefixfs"
	"golang.org/x/sys/unix"
)

// attrTime is how long the kernel may go by attributes that hardly change
// behind its back: those of private catalogue files, whose size it keeps
// itself, and of directories of the prefix, which it needs for each step of a
// path. As names are looked up each time, and a look-up brings attributes
// along, stat(2) of a path is never older than the call.
const attrTime = time.Second

func attrFromStat(st *prefixfs.Stat, out *fuse.Attr) {
	*out = fuse.Attr{
		Ino:       st.Ino,
		Size:      st.Size,
		Blocks:    st.Blocks,
		Atime:     uint64(st.Atime.Sec),
		Atimensec: st.Atime.Nsec,
		Mtime:     uint64(st.Mtime.Sec),
		Mtimensec: st.Mtime.Nsec,
		Ctime:     uint64(st.Ctime.Sec),
		Ctimensec: st.Ctime.Nsec,
		Mode:      uint32(st.Mode),
		Nlink:     st.Nlink,
		Owner:     fuse.Owner{Uid: st.Uid, Gid: st.Gid},
		Rdev:      uint32(unix.Mkdev(st.Rdev_major, st.Rdev_minor)),
		Blksize:   st.Blksize,
	}
}

func attrFromEntry(e *Entry, out *fuse.Attr) {
	*out = fuse.Attr{
		Ino:     e.Ino,
		Size:    uint64(e.SizeBytes),
		Blocks:  uint64(e.Blocks),
		Mode:    e.Mode,
		Nlink:   e.Nlink,
		Owner:   fuse.Owner{Uid: e.UID, Gid: e.GID},
		Blksize: 4096,
	}
	out.SetTimes(&e.Atime, &e.Mtime, &e.Ctime)
}

func statTime(st *prefixfs.Stat) time.Duration {
	if st.IsDir() {
		return attrTime
	}
	return 0
}

func entryTime(e *Entry) time.Duration {
	if e.Private {
		return attrTime
	}
	return 0
}

// tellPrefix answers with a node of the prefix, whose reference it takes over.
func (m *Mount) tellPrefix(p *prefixfs.Node, st *prefixfs.Stat, out *fuse.EntryOut) *node {
	n := m.table.addPrefix(p)
	out.NodeId = n.id
	out.Generation = 1
	attrFromStat(st, &out.Attr)
	out.SetAttrTimeout(statTime(st))
	return n
}

// tellCatalogue answers with a node of the catalogue.
func (m *Mount) tellCatalogue(e *Entry, out *fuse.EntryOut) *node {
	n := m.table.addCatalogue(e.Ino)
	n.note(e)
	out.NodeId = n.id
	out.Generation = 1
	attrFromEntry(e, &out.Attr)
	out.SetAttrTimeout(entryTime(e))
	return n
}

// note keeps what the catalogue said of n for when it will say nothing more.
func (n *node) note(e *Entry) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.last = *e
}
