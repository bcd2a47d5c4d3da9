package fusefs

import (
	"errors"
	"path"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// Rename moves a name, within the prefix, within the catalogue or from the
// catalogue to a directory of the prefix. What the prefix holds cannot become
// part of a dataset by renaming: EXDEV, and mv(1) copies.
func (r *requests) Rename(_ <-chan struct{}, in *fuse.RenameIn, oldName, newName string) fuse.Status {
	from, status := r.enter(&in.InHeader)
	if !status.Ok() {
		return status
	}
	to := r.table.node(in.Newdir)
	if to == nil {
		return fuse.Status(errStale)
	}
	mv := move{from: from, to: to, oldName: oldName, newName: newName, flags: in.Flags, caller: caller(&in.InHeader)}
	return r.status(r.rename(&mv))
}

type move struct {
	from, to         *node
	fromDir, toDir   Dir
	oldName, newName string
	flags            uint32
	caller           Caller
}

func (mv *move) is(flag uint32) bool { return mv.flags&flag != 0 }

func (r *requests) rename(mv *move) error {
	if mv.oldName == hidden {
		return errNoEntry
	}
	if mv.newName == hidden {
		return syscall.EPERM
	}
	if mv.is(unix.RENAME_WHITEOUT) {
		return syscall.EINVAL
	}
	var err error
	if mv.fromDir, err = dirOf(mv.from); err != nil {
		return err
	}
	if mv.toDir, err = dirOf(mv.to); err != nil {
		return err
	}
	_, catalogued, err := r.catalogued(mv.fromDir, mv.oldName)
	if err != nil {
		return err
	}
	target, onTarget, err := r.catalogued(mv.toDir, mv.newName)
	if err != nil {
		return err
	}
	if catalogued {
		return r.renameCatalogued(mv, onTarget)
	}
	if mv.from.prefix == nil {
		return errNoEntry
	}
	return r.renamePrefix(mv, target, onTarget)
}

// renameCatalogued moves a name of the catalogue. A name of the prefix that it
// comes to lie upon stays, unseen, until the dataset is published over it: it
// may be the only safe copy so far.
func (r *requests) renameCatalogued(mv *move, onTarget bool) error {
	if !onTarget && mv.to.prefix != nil {
		_, err := mv.to.prefix.StatName(mv.newName)
		switch {
		case err == nil && mv.is(unix.RENAME_NOREPLACE):
			return errExists
		case err == nil && mv.is(unix.RENAME_EXCHANGE):
			return errCrossDev
		case err != nil && err != errNoEntry:
			return err
		}
	}
	return r.ns.Rename(noContext(), mv.fromDir, mv.oldName, mv.toDir, mv.newName, mv.flags, mv.caller)
}

func (r *requests) renamePrefix(mv *move, target Entry, onTarget bool) error {
	st, err := mv.from.prefix.StatName(mv.oldName)
	switch {
	case err != nil:
		return err
	case mv.to.prefix == nil:
		return errCrossDev
	case onTarget && mv.is(unix.RENAME_NOREPLACE):
		return errExists
	case onTarget && mv.is(unix.RENAME_EXCHANGE):
		return errCrossDev
	case onTarget:
		return r.renameOver(mv, target, st.IsDir())
	}
	return r.renameWithin(mv, st.IsDir())
}

// renameOver moves a name of the prefix over one of the catalogue.
func (r *requests) renameOver(mv *move, target Entry, dir bool) error {
	targetDir := target.Mode&syscall.S_IFMT == syscall.S_IFDIR
	switch {
	case dir && !targetDir:
		return syscall.ENOTDIR
	case !dir && targetDir:
		return syscall.EISDIR
	case dir:
		// The empty directory must go first: the new one may hold names.
		if err := r.ns.Rmdir(noContext(), mv.toDir, mv.newName, mv.caller); err != nil {
			return err
		}
		return r.renameWithin(mv, true)
	}
	if err := r.renameWithin(mv, false); err != nil {
		return err
	}
	return r.ns.Unlink(noContext(), mv.toDir, mv.newName, mv.caller)
}

// renameWithin moves a name within the prefix. The catalogue's names below a
// directory go with it.
func (r *requests) renameWithin(mv *move, dir bool) error {
	oldPath, newPath := path.Join(mv.fromDir.Path, mv.oldName), path.Join(mv.toDir.Path, mv.newName)
	if err := mv.from.prefix.Rename(mv.oldName, mv.to.prefix, mv.newName, uint(mv.flags)); err != nil {
		return err
	}
	if dir && !mv.is(unix.RENAME_EXCHANGE) {
		if err := r.ns.PrefixDirRenamed(noContext(), oldPath, newPath); err != nil {
			return errors.Join(err, mv.to.prefix.Rename(mv.newName, mv.from.prefix, mv.oldName, unix.RENAME_NOREPLACE))
		}
	}
	r.ns.PrefixChanged(PrefixEvent{Op: "rename", Path: newPath, OldPath: oldPath, Caller: mv.caller})
	return nil
}
