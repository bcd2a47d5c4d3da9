package scavenger

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/scrfs/scrfs/indexer"
	"github.com/scrfs/scrfs/internal/disk"
	"github.com/scrfs/scrfs/scr"
)

// complete makes a stage what the program had made: directories and links come,
// and what belongs to no rank goes. A daemon that ended in the middle of a
// flush may have left it, of an older writing of the dataset.
func (r *run) complete(ctx context.Context, d Rescue) error {
	id := d.Dataset.ID
	s, err := r.scan(ctx, id, d.Dir)
	if err != nil {
		return err
	}
	stage, err := r.Prefix.Sub(r.x.StageDir(id))
	if err != nil {
		return err
	}
	if s, err = r.strip(ctx, s, stage); err != nil {
		return err
	}
	tree := treeOf(s)
	for _, list := range [][]scr.TreeEntry{tree.Dirs, tree.Symlinks, tree.Hardlinks} {
		for _, e := range list {
			if _, err := own.UserFile(".", e.Path); err != nil {
				return err
			}
		}
	}
	if err := sweep(stage, ".", wanted(s, tree)); err != nil {
		return fmt.Errorf("sweep the stage: %w", err)
	}
	if err := sweepOwn(stage, own.SCRDir(s.Dir), wanted(s, tree)); err != nil {
		return fmt.Errorf("sweep the stage: %w", err)
	}
	if err := makeTree(stage, tree); err != nil {
		return fmt.Errorf("make directories and links: %w", err)
	}
	return nil
}

// treeOf is the tree that all ranks have alike.
func treeOf(s *indexer.Scan) scr.DirTree {
	for _, r := range slices.Sorted(maps.Keys(s.Entries)) {
		if t := s.Entries[r].Tree; !t.Empty() {
			return t
		}
	}
	return scr.DirTree{}
}

// wanted are the names that belong to a dataset, and those above them.
func wanted(s *indexer.Scan, tree scr.DirTree) map[string]bool {
	names := map[string]bool{}
	enter := func(name string) {
		for name = path.Clean(name); name != "." && !names[name]; name = path.Dir(name) {
			names[name] = true
		}
	}
	enter(own.SCRDir(s.Dir))
	for _, e := range s.Entries {
		for _, f := range e.Files {
			if rel, err := own.Resolve(s.Dir, f.Name); err == nil {
				enter(rel)
			}
		}
	}
	for _, list := range [][]scr.TreeEntry{tree.Dirs, tree.Symlinks, tree.Hardlinks} {
		for _, e := range list {
			enter(e.Path)
		}
	}
	return names
}

// makeTree makes directories and links, then gives the directories their
// attributes, the lowest first, so that none is closed before it is filled.
func makeTree(stage disk.FS, tree scr.DirTree) error {
	for _, d := range tree.Dirs {
		if err := disk.MkdirAll(stage, d.Path, 0o777); err != nil {
			return err
		}
	}
	for _, l := range tree.Symlinks {
		if err := makeLink(stage, l.Path, func() error { return stage.Symlink(l.Target, l.Path) }); err != nil {
			return err
		}
	}
	for _, l := range tree.Hardlinks {
		if err := makeLink(stage, l.Path, func() error { return stage.Link(l.Target, l.Path) }); err != nil {
			return err
		}
	}
	dirs := slices.Clone(tree.Dirs)
	slices.SortStableFunc(dirs, func(a, b scr.TreeEntry) int {
		return cmp.Compare(strings.Count(b.Path, "/"), strings.Count(a.Path, "/"))
	})
	for _, d := range dirs {
		if d.Attr == nil {
			continue
		}
		if err := setAttr(stage, d.Path, *d.Attr); err != nil {
			return err
		}
	}
	return nil
}

// makeLink makes a link anew.
func makeLink(stage disk.FS, name string, link func() error) error {
	if err := disk.MkdirAll(stage, path.Dir(name), 0o777); err != nil {
		return err
	}
	if err := stage.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return link()
}

// setAttr gives a directory owner, mode and time. Only root may give things
// away: what is not permitted stays undone.
func setAttr(stage disk.FS, name string, a scr.FileAttr) error {
	if err := stage.Chown(name, int(a.UID), int(a.GID)); err != nil && !errors.Is(err, fs.ErrPermission) {
		return err
	}
	mode := fs.FileMode(a.Mode & 0o777)
	if a.Mode&syscall.S_ISGID != 0 {
		mode |= fs.ModeSetgid
	}
	if a.Mode&syscall.S_ISVTX != 0 {
		mode |= fs.ModeSticky
	}
	if err := stage.Chmod(name, mode); err != nil {
		return err
	}
	if a.Modify == (scr.Timespec{}) {
		return nil
	}
	return stage.Chtimes(name, time.Time{}, time.Unix(a.Modify.Secs, a.Modify.Nsecs))
}
