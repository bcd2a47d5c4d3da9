package daemon

import (
	"log/slog"
	"os"
	"time"

	"github.com/scrfs/scrfs/catalog"
	"github.com/scrfs/scrfs/scr"
)

// apply does on this node's cache what an operation on the tree means for the
// files that lie here. It runs under the group's lock, in the order of the
// operations, and so a name that is acknowledged has its file.
//
// A failure cannot undo what the other nodes have applied already. That of a
// creation is kept for the program that waits for it (failed); the others
// leave a cache file under a name the filemap still knows, and are logged.
func (n *Node) apply(op catalog.Op, res catalog.Result, oldPath, newPath string) {
	var err error
	switch op.Kind {
	case catalog.OpCreate:
		if n.owns(res.Inode) {
			err = n.makeCacheFile(res.Inode, oldPath)
		}
	case catalog.OpUnlink, catalog.OpRmdir:
		r := res.Removed
		if r != nil {
			n.keep(r, oldPath)
		}
		if r != nil && r.IsRegular() && n.owns(r) {
			err = n.store.Remove(r.Dataset, oldPath)
		}
	case catalog.OpRename:
		err = n.renameCacheFiles(op, res, oldPath, newPath)
	case catalog.OpOpen:
		if i := res.Inode; res.From != 0 && n.owns(i) {
			err = n.store.Reassign(res.From, i.Dataset, n.pathLocked(i))
		}
	case catalog.OpMoveDir:
		// A directory is renamed in every dataset that has it; none has this id.
		err = n.store.Rename(scr.MaxDatasetID, op.Dir.Path, op.NewDir.Path)
	case catalog.OpSetAttr:
		if i := res.Inode; i.IsRegular() && n.owns(i) && op.Mask&(catalog.SetMtime|catalog.SetAtime) != 0 {
			err = n.store.SetTimes(i.Dataset, n.pathLocked(i), timeOf(op, catalog.SetAtime, op.Atime), timeOf(op, catalog.SetMtime, op.Mtime))
		}
	}
	if err != nil {
		n.log.Error("cache does not follow the catalogue", slog.String("op", string(op.Kind)),
			slog.Int64("dataset", int64(op.Dataset)), slog.String("path", oldPath), slog.Any("err", err))
	}
}

func (n *Node) makeCacheFile(i *catalog.Inode, path string) error {
	f, err := n.store.Create(i.Dataset, path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err == nil {
		err = f.Close()
	}
	return err
}

// renameCacheFiles lets the cache follow a rename. A directory's files may be
// spread over nodes and datasets: each node moves what it has.
func (n *Node) renameCacheFiles(op catalog.Op, res catalog.Result, oldPath, newPath string) error {
	if oldPath == newPath {
		return nil
	}
	if op.Flags == catalog.RenameExchange {
		other := n.group.state.Lookup(op.Dir, op.Name)
		return n.store.Exchange(res.Inode.Dataset, other.Dataset, oldPath, newPath)
	}
	r := res.Removed
	if r != nil {
		n.keep(r, newPath)
	}
	if r != nil && r.IsRegular() && n.owns(r) {
		if err := n.store.Remove(r.Dataset, newPath); err != nil {
			return err
		}
	}
	if res.Inode.IsRegular() && !n.owns(res.Inode) {
		return nil
	}
	return n.store.Rename(res.Inode.Dataset, oldPath, newPath)
}

// pathLocked is pathOf for who holds the group's lock.
func (n *Node) pathLocked(i *catalog.Inode) string {
	p, _ := n.group.state.Path(i)
	return p
}

func timeOf(op catalog.Op, bit catalog.AttrMask, nanos int64) time.Time {
	if op.Mask&bit == 0 {
		return time.Time{}
	}
	return time.Unix(0, nanos)
}
