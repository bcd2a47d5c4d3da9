package daemon

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"strings"
	"syscall"
	"time"

	"github.com/scrfs/scrfs/catalog"
	"github.com/scrfs/scrfs/fusefs"
	"github.com/scrfs/scrfs/lifecycle"
	"github.com/scrfs/scrfs/router"
)

// namespace answers the mount: it is the face of the catalogue on this node.
type namespace struct{ n *Node }

var _ fusefs.Namespace = namespace{}

// proposeTimeout bounds how long a program waits for the job's leader, for
// instance while another node takes over.
const proposeTimeout = 2 * time.Minute

func (s namespace) propose(ctx context.Context, op catalog.Op) (outcome, error) {
	// A program that is interrupted must not leave its own change half told:
	// the change goes on, whether or not the program waits for it.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), proposeTimeout)
	defer cancel()
	return s.n.group.propose(ctx, &op, nil)
}

func (s namespace) Claim(ctx context.Context, dir fusefs.Dir, name string, kind fusefs.Kind, flags uint32, c fusefs.Caller) bool {
	s.seen(ctx, c)
	return s.route(dir, name, kind, flags).Claim
}

func (s namespace) route(dir fusefs.Dir, name string, kind fusefs.Kind, flags uint32) router.Decision {
	kinds := map[fusefs.Kind]router.Kind{
		fusefs.RegularFile: router.File, fusefs.Directory: router.Dir,
		fusefs.SymbolicLink: router.Symlink, fusefs.Special: router.Special,
	}
	rc := router.Context{
		Append:   flags&syscall.O_APPEND != 0,
		Truncate: flags&syscall.O_TRUNC != 0,
		ReadOnly: flags&syscall.O_ACCMODE == syscall.O_RDONLY && kind == fusefs.RegularFile,
		// Directories of the prefix are plain whatever their names look like.
		Plain: true,
	}
	name = path.Join(dir.Path, name)
	if s.n.router.NeedsSiblings(name, kinds[kind]) {
		s.n.group.view(func(t *catalog.State, _ *lifecycle.Machine) {
			for _, n := range t.List(catDir(dir)) {
				rc.Siblings = append(rc.Siblings, n.Name)
			}
		})
	}
	return s.n.router.Route(name, kinds[kind], rc)
}

func (s namespace) Lookup(_ context.Context, dir fusefs.Dir, name string) (fusefs.Entry, error) {
	var n *catalog.Inode
	s.n.group.view(func(t *catalog.State, _ *lifecycle.Machine) {
		if found := t.Lookup(catDir(dir), name); found != nil {
			n = found.Copy()
		}
	})
	if n == nil {
		return fusefs.Entry{}, fs.ErrNotExist
	}
	return s.n.entry(n)
}

func (s namespace) Attr(_ context.Context, ino uint64) (fusefs.Entry, error) {
	for {
		n := s.n.inode(ino)
		if n == nil {
			return s.n.removed.attr(ino, s.n.files)
		}
		e, err := s.n.entry(n)
		if !errors.Is(err, fs.ErrNotExist) || !s.n.elsewhere(n) {
			return e, err
		}
	}
}

func (s namespace) SetAttr(ctx context.Context, ino uint64, ch fusefs.AttrChange, _ fusefs.Caller) (fusefs.Entry, error) {
	n := s.n.inode(ino)
	if n == nil {
		return s.n.removed.setAttr(ino, ch, s.n.files)
	}
	if published, err := s.n.awaitPublished(ctx, n); err != nil {
		return fusefs.Entry{}, err
	} else if published {
		return fusefs.Entry{}, s.n.toPrefix(ctx, n)
	}
	op := catalog.Op{Kind: catalog.OpSetAttr, Ino: n.Ino}
	if ch.Mode != nil {
		op.Mask, op.Mode = op.Mask|catalog.SetMode, *ch.Mode
	}
	if ch.UID != nil {
		op.Mask, op.UID = op.Mask|catalog.SetUID, *ch.UID
	}
	if ch.GID != nil {
		op.Mask, op.GID = op.Mask|catalog.SetGID, *ch.GID
	}
	if ch.SizeBytes != nil {
		op.Mask, op.SizeBytes = op.Mask|catalog.SetSize, *ch.SizeBytes
	}
	if ch.Atime != nil {
		op.Mask, op.Atime = op.Mask|catalog.SetAtime, ch.Atime.UnixNano()
	}
	if ch.Mtime != nil {
		op.Mask, op.Mtime = op.Mask|catalog.SetMtime, ch.Mtime.UnixNano()
	}
	if op.Mask != 0 {
		if _, err := s.propose(ctx, op); err != nil {
			return fusefs.Entry{}, err
		}
	}
	// The dataset is open again by now, so nobody copies the file meanwhile.
	if ch.SizeBytes != nil {
		if err := s.n.truncate(ctx, n, *ch.SizeBytes); err != nil {
			return fusefs.Entry{}, err
		}
	}
	return s.Attr(ctx, ino)
}

func (s namespace) ReadDir(ctx context.Context, dir fusefs.Dir) ([]fusefs.DirEntry, error) {
	var list []fusefs.DirEntry
	s.n.group.view(func(t *catalog.State, _ *lifecycle.Machine) {
		for _, n := range t.List(catDir(dir)) {
			list = append(list, fusefs.DirEntry{Name: n.Name, Ino: uint64(n.Ino), Mode: n.Mode & syscall.S_IFMT})
		}
	})
	return list, nil
}

func (s namespace) Mkdir(ctx context.Context, dir fusefs.Dir, name string, mode uint32, c fusefs.Caller) (fusefs.Entry, error) {
	return s.make(ctx, catalog.Op{Kind: catalog.OpMkdir, Dir: catDir(dir), Name: name, Mode: mode}, fusefs.Directory, dir, c)
}

func (s namespace) Symlink(ctx context.Context, dir fusefs.Dir, name, target string, c fusefs.Caller) (fusefs.Entry, error) {
	return s.make(ctx, catalog.Op{Kind: catalog.OpSymlink, Dir: catDir(dir), Name: name, Target: target}, fusefs.SymbolicLink, dir, c)
}

// MakeSpecial makes a FIFO or socket. It is never published.
func (s namespace) MakeSpecial(ctx context.Context, dir fusefs.Dir, name string, mode uint32, c fusefs.Caller) (fusefs.Entry, error) {
	return s.make(ctx, catalog.Op{Kind: catalog.OpSymlink, Dir: catDir(dir), Name: name, Mode: mode}, fusefs.Special, dir, c)
}

func (s namespace) make(ctx context.Context, op catalog.Op, kind fusefs.Kind, dir fusefs.Dir, c fusefs.Caller) (fusefs.Entry, error) {
	id := s.n.ident.Of(c.PID)
	op.Rank, op.World, op.App = id.Rank, id.World, s.n.app(c)
	op.UID, op.GID = c.UID, c.GID
	if dir.Ino == 0 && s.route(dir, op.Name, kind, 0).Output {
		op.Flags |= flagOutput
	}
	if err := s.inherit(&op, dir, kind); err != nil {
		return fusefs.Entry{}, err
	}
	out, err := s.propose(ctx, op)
	if err != nil {
		return fusefs.Entry{}, err
	}
	return s.Attr(ctx, uint64(out.Ino))
}

// inherit gives a new name the group of a setgid directory, as the prefix
// directory would.
func (s namespace) inherit(op *catalog.Op, dir fusefs.Dir, kind fusefs.Kind) error {
	gid, setgid, err := s.n.parentGroup(dir)
	if err != nil || !setgid {
		return err
	}
	op.GID = gid
	if kind == fusefs.Directory {
		op.Mode |= syscall.S_ISGID
	}
	return nil
}

func (s namespace) Unlink(ctx context.Context, dir fusefs.Dir, name string, _ fusefs.Caller) error {
	return s.remove(ctx, catalog.OpUnlink, dir, name)
}

func (s namespace) Rmdir(ctx context.Context, dir fusefs.Dir, name string, _ fusefs.Caller) error {
	return s.remove(ctx, catalog.OpRmdir, dir, name)
}

func (s namespace) remove(ctx context.Context, kind catalog.Kind, dir fusefs.Dir, name string) error {
	if moved, err := s.n.settlePublished(ctx, dir, name); moved || err != nil {
		if err != nil {
			return err
		}
		return s.n.removePublished(ctx, kind, dir, name)
	}
	if _, err := s.propose(ctx, catalog.Op{Kind: kind, Dir: catDir(dir), Name: name}); err != nil {
		return err
	}
	return s.n.removeShadowed(ctx, kind, dir, name)
}

func (s namespace) Rename(ctx context.Context, from fusefs.Dir, oldName string, to fusefs.Dir, newName string, flags uint32, _ fusefs.Caller) error {
	source, err := s.n.settlePublished(ctx, from, oldName)
	if err != nil {
		return err
	}
	target, err := s.n.settlePublished(ctx, to, newName)
	if err != nil {
		return err
	}
	if source {
		if !target {
			return syscall.EXDEV // the target's directory is only in the caches
		}
		return s.n.renamePublished(from, oldName, to, newName, flags)
	}
	if target && flags != 0 {
		p, err := s.n.prefixPath(to, newName)
		if err != nil {
			return err
		}
		there, err := s.n.onPrefix(p)
		switch {
		case err != nil:
			return err
		case there && flags&catalog.RenameNoReplace != 0:
			return syscall.EEXIST
		case there:
			return syscall.EXDEV // an exchange over the border
		}
	}
	out, err := s.propose(ctx, catalog.Op{
		Kind: catalog.OpRename, Dir: catDir(from), Name: oldName, NewDir: catDir(to), NewName: newName, Flags: flags,
	})
	if err == nil {
		s.n.marked(context.WithoutCancel(ctx), out.Ino)
	}
	return err
}

// Link is not supported across or within datasets: EPERM is what link(2) says
// of a file system without hard links, and programs copy then.
func (s namespace) Link(context.Context, uint64, fusefs.Dir, string, fusefs.Caller) (fusefs.Entry, error) {
	return fusefs.Entry{}, syscall.EPERM
}

func (s namespace) PrefixDirRenamed(ctx context.Context, oldPath, newPath string) error {
	_, err := s.propose(ctx, catalog.Op{Kind: catalog.OpMoveDir, Dir: catalog.Dir{Path: oldPath}, NewDir: catalog.Dir{Path: newPath}})
	return err
}

// PrefixChanged: bypassed files are outside the boundary rules so far.
func (s namespace) PrefixChanged(fusefs.PrefixEvent) {}

// SyncDir takes fsync of a directory for a sign that its dataset is complete.
func (s namespace) SyncDir(ctx context.Context, ino uint64) error {
	n := s.n.inode(ino)
	if n == nil || n.Parent.Ino != 0 {
		return nil
	}
	if d, ok := s.n.dataset(n.Dataset); ok && d.Phase == lifecycle.PhaseOpen && d.Gen == 0 {
		return s.n.group.announce(ctx, lifecycle.Event{Kind: lifecycle.Hint, Dataset: n.Dataset})
	}
	return nil
}

// complete ends a dataset (1), or says that it is not valid (0).
func (s namespace) complete(ctx context.Context, ino uint64, value string) error {
	n := s.n.inode(ino)
	if n == nil {
		return syscall.ESTALE
	}
	kinds := map[string]lifecycle.EventKind{"1": lifecycle.Commit, "0": lifecycle.Invalid}
	kind, ok := kinds[strings.TrimSpace(value)]
	if !ok {
		return syscall.EINVAL
	}
	return s.n.group.announce(ctx, lifecycle.Event{Kind: kind, Dataset: n.Dataset})
}

func catDir(d fusefs.Dir) catalog.Dir { return catalog.Dir{Ino: catalog.Ino(d.Ino), Path: d.Path} }
