package daemon

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"syscall"

	"github.com/scrfs/scrfs/catalog"
	"github.com/scrfs/scrfs/fusefs"
	"github.com/scrfs/scrfs/internal/disk"
	"github.com/scrfs/scrfs/lifecycle"
)

// A published dataset is on the prefix directory and, until it is evicted, in
// the caches too; reads come from there. Whoever changes it changes the one on
// the prefix directory: its name leaves the catalogue first.

// settlePublished looks whether a name belongs to a dataset that is published.
// If so it takes the name out of the catalogue and returns true. A dataset that
// is just being published is waited for.
func (n *Node) settlePublished(ctx context.Context, dir fusefs.Dir, name string) (bool, error) {
	var i *catalog.Inode
	n.group.view(func(t *catalog.State, _ *lifecycle.Machine) {
		if found := t.Lookup(catDir(dir), name); found != nil {
			i = found.Copy()
		}
	})
	if i == nil {
		return dir.Ino == 0, nil
	}
	published, err := n.awaitPublished(ctx, i)
	if err != nil || !published {
		return false, err
	}
	return true, n.forget(ctx, i)
}

// awaitPublished tells whether the dataset of an inode is published; it waits
// while that is being decided.
func (n *Node) awaitPublished(ctx context.Context, i *catalog.Inode) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, proposeTimeout)
	defer cancel()
	defer n.group.wakeOn(ctx)()
	n.group.mu.Lock()
	defer n.group.mu.Unlock()
	for {
		d, ok := n.group.lives.Dataset(i.Dataset)
		switch {
		case !ok || d.Published || d.Phase == lifecycle.PhaseEvicting:
			return true, nil
		case d.Phase != lifecycle.PhasePublishing && len(d.Missing) == 0:
			return false, nil
		case ctx.Err() != nil || n.ctx.Err() != nil:
			return false, context.Cause(ctx)
		}
		n.group.changed.Wait()
	}
}

func (n *Node) forget(ctx context.Context, i *catalog.Inode) error {
	_, err := namespace{n}.propose(ctx, catalog.Op{Kind: catalog.OpForget, Ino: i.Ino})
	if errors.Is(err, syscall.ESTALE) {
		return nil // another node was first
	}
	return err
}

// toPrefix lets the kernel look the name up again, on the prefix directory.
func (n *Node) toPrefix(ctx context.Context, i *catalog.Inode) error {
	published, err := n.awaitPublished(ctx, i)
	if err != nil {
		return err
	}
	if published {
		if err := n.forget(ctx, i); err != nil {
			return err
		}
	}
	return syscall.ESTALE
}

// removePublished removes a name on the prefix directory.
func (n *Node) removePublished(ctx context.Context, kind catalog.Kind, dir fusefs.Dir, name string) error {
	p, err := n.prefixPath(dir, name)
	if err != nil {
		return err
	}
	if kind == catalog.OpRmdir {
		if err := n.removeState(p); err != nil {
			return err
		}
	}
	return n.prefix.Do(func() error { return n.prefixDisk.Remove(p) })
}

// removeShadowed removes what lies on the prefix directory under a name that a
// newer dataset has put over it: in a directory that is published the
// catalogue's file was written over an older one. (In a directory of the
// prefix the mount does so itself.)
func (n *Node) removeShadowed(ctx context.Context, kind catalog.Kind, dir fusefs.Dir, name string) error {
	if dir.Ino == 0 {
		return nil
	}
	i := n.inode(dir.Ino)
	if i == nil {
		return nil
	}
	if d, ok := n.dataset(i.Dataset); ok && !d.Published {
		return nil
	}
	err := n.removePublished(ctx, kind, dir, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// removeState lets rmdir take the hidden state directory along, if nothing
// else is left.
func (n *Node) removeState(dir string) error {
	return n.prefix.Do(func() error {
		list, err := n.prefixDisk.ReadDir(dir)
		if err != nil || len(list) != 1 || list[0].Name() != stateDir {
			return err
		}
		return disk.RemoveAll(n.prefixDisk, path.Join(dir, stateDir))
	})
}

// RemoveState is for directories of the prefix what removeState is for those
// of the catalogue.
func (s namespace) RemoveState(_ context.Context, path string) error { return s.n.removeState(path) }

// stateDir is scrfs's own directory in the prefix and in published datasets.
const stateDir = ".scr"

// renamePublished renames on the prefix directory.
func (n *Node) renamePublished(from fusefs.Dir, oldName string, to fusefs.Dir, newName string, flags uint32) error {
	oldPath, err := n.prefixPath(from, oldName)
	if err != nil {
		return err
	}
	newPath, err := n.prefixPath(to, newName)
	if err != nil {
		return err
	}
	return n.prefix.Do(func() error {
		switch flags {
		case catalog.RenameNoReplace:
			return n.prefixDisk.RenameNoReplace(oldPath, newPath)
		case catalog.RenameExchange:
			return n.prefixDisk.Exchange(oldPath, newPath)
		}
		return n.prefixDisk.Rename(oldPath, newPath)
	})
}

// prefixPath is the path of a name below the prefix directory. A directory of
// the catalogue counts if it is there, too.
func (n *Node) prefixPath(dir fusefs.Dir, name string) (string, error) {
	if dir.Ino == 0 {
		return path.Join(dir.Path, name), nil
	}
	i := n.inode(dir.Ino)
	if i == nil {
		return "", syscall.ENOENT
	}
	p, ok := n.pathOf(i)
	if !ok {
		return "", syscall.ENOENT
	}
	return path.Join(p, name), nil
}

// onPrefix tells whether a name is there on the prefix directory.
func (n *Node) onPrefix(p string) (bool, error) {
	err := n.prefix.Do(func() error {
		_, err := n.prefixDisk.Lstat(p)
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// parentGroup returns the group that a setgid directory gives to new names.
func (n *Node) parentGroup(dir fusefs.Dir) (gid uint32, setgid bool, err error) {
	if dir.Ino != 0 {
		i := n.inode(dir.Ino)
		if i == nil {
			return 0, false, syscall.ENOENT
		}
		return i.GID, i.Mode&syscall.S_ISGID != 0, nil
	}
	err = n.prefix.Do(func() error {
		at := dir.Path
		if at == "" {
			at = "."
		}
		st, err := n.prefixDisk.Stat(at)
		if err != nil {
			return err
		}
		if sys, ok := st.Sys().(*syscall.Stat_t); ok {
			gid, setgid = sys.Gid, sys.Mode&syscall.S_ISGID != 0
		}
		return nil
	})
	return gid, setgid, err
}
