package daemon

import (
	"context"
	"io/fs"
	"syscall"
	"time"

	"github.com/scrfs/scrfs/catalog"
	"github.com/scrfs/scrfs/fusefs"
	"github.com/scrfs/scrfs/lifecycle"
	"github.com/scrfs/scrfs/peer"
	"github.com/scrfs/scrfs/scr"
)

// inode returns a copy of a catalogue inode that has a name, nil if there is none.
func (n *Node) inode(ino uint64) *catalog.Inode {
	var found *catalog.Inode
	n.group.view(func(t *catalog.State, _ *lifecycle.Machine) {
		if i := t.Inode(catalog.Ino(ino)); i != nil && i.Name != "" {
			found = i.Copy()
		}
	})
	return found
}

func (n *Node) pathOf(i *catalog.Inode) (string, bool) {
	var p string
	var ok bool
	n.group.view(func(t *catalog.State, _ *lifecycle.Machine) { p, ok = t.Path(i) })
	return p, ok
}

// elsewhere tells whether an inode was renamed or removed since it was looked
// up.
func (n *Node) elsewhere(i *catalog.Inode) bool {
	now := n.inode(uint64(i.Ino))
	if now == nil {
		return true
	}
	a, _ := n.pathOf(i)
	b, _ := n.pathOf(now)
	return a != b || now.Dataset != i.Dataset
}

// owns tells whether the bytes of a regular file lie on this node.
func (n *Node) owns(i *catalog.Inode) bool { return i.Owner == string(n.group.self) }

func (n *Node) stateOf(id scr.DatasetID) string {
	state := "UNKNOWN"
	n.group.view(func(_ *catalog.State, m *lifecycle.Machine) {
		if d, ok := m.Dataset(id); ok {
			state = d.Status()
		}
	})
	return state
}

// entry is what the mount sees of an inode. Size and times of a regular file
// are those of the cache file if it lies here; a file that another node has
// open is asked for there.
func (n *Node) entry(i *catalog.Inode) (fusefs.Entry, error) {
	e := fusefs.Entry{
		Ino: uint64(i.Ino), Mode: i.Mode, UID: i.UID, GID: i.GID, Nlink: 1, SizeBytes: i.SizeBytes,
		Atime: time.Unix(0, i.Atime), Mtime: time.Unix(0, i.Mtime), Ctime: time.Unix(0, i.Ctime), Target: i.Target,
	}
	switch {
	case i.IsDir():
		e.Nlink = 1 // sub directories are not counted; find(1) knows what 1 means
	case !i.IsRegular():
	case n.owns(i):
		p, ok := n.pathOf(i)
		if !ok {
			break
		}
		st, err := n.store.Stat(i.Dataset, p)
		if err != nil {
			return e, err
		}
		fromFile(&e, st.Size(), st.ModTime(), st.Sys())
		return e, nil
	case i.Written():
		size, mtime, err := n.askSize(i)
		if err != nil {
			return e, err
		}
		e.SizeBytes, e.Mtime = size, mtime
	}
	if e.Blocks == 0 {
		e.Blocks = (e.SizeBytes + 511) / 512
	}
	return e, nil
}

// fromFile takes over what the cache file knows best.
func fromFile(e *fusefs.Entry, sizeBytes int64, mtime time.Time, sys any) {
	e.SizeBytes, e.Mtime, e.Blocks = sizeBytes, mtime, (sizeBytes+511)/512
	if st, ok := sys.(*syscall.Stat_t); ok {
		e.Blocks = st.Blocks
		// A write through the kernel moves it there alone.
		if c := time.Unix(st.Ctim.Unix()); c.After(e.Ctime) {
			e.Ctime = c
		}
	}
}

// Calls for files that lie on another node.
const (
	callStat = "file.stat"
	callRead = "file.read"
)

// fileRequest names a file of the node that is asked, and what of it.
type fileRequest struct {
	Ino    catalog.Ino
	Offset int64
	Bytes  int
}

type fileStat struct {
	SizeBytes, Mtime int64
}

func (n *Node) askSize(i *catalog.Inode) (int64, time.Time, error) {
	b, err := n.askOwner(context.Background(), i, callStat, fileRequest{Ino: i.Ino})
	if err != nil {
		return 0, time.Time{}, err
	}
	var st fileStat
	if err := decodeGob(b, &st); err != nil {
		return 0, time.Time{}, err
	}
	return st.SizeBytes, time.Unix(0, st.Mtime), nil
}

func (n *Node) serveStat(_ context.Context, _ peer.NodeID, req []byte) ([]byte, error) {
	st, err := n.statHere(req)
	if err != nil {
		return nil, err
	}
	return encodeGob(fileStat{st.Size(), st.ModTime().UnixNano()})
}

func (n *Node) statHere(req []byte) (fs.FileInfo, error) {
	var r fileRequest
	if err := decodeGob(req, &r); err != nil {
		return nil, err
	}
	id, p, err := n.here(r.Ino)
	if err != nil {
		return nil, err
	}
	return n.store.Stat(id, p)
}

// here finds the cache file of an inode that another node says lies here.
func (n *Node) here(ino catalog.Ino) (scr.DatasetID, string, error) {
	i := n.inode(uint64(ino))
	if i == nil || !n.owns(i) {
		return 0, "", syscall.ESTALE
	}
	p, ok := n.pathOf(i)
	if !ok {
		return 0, "", syscall.ESTALE
	}
	return i.Dataset, p, nil
}
