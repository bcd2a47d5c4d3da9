package indexer

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path"
	"slices"

	"github.com/scrfs/scrfs/internal/disk"
	"github.com/scrfs/scrfs/scr"
)

// finish brings a renamed stage to its end: names, index, clean-up. Each step
// looks whether it was done before, so that it can be repeated from any point.
func (x *Indexer) finish(ctx context.Context, pub publication) error {
	from := own.Publish(pub.Dataset.ID)
	if !slices.Contains(pub.Roots, pub.Dir) {
		if err := x.moveDatasetDir(from, pub.Dir); err != nil {
			return fmt.Errorf("dataset directory %s: %w", pub.Dir, err)
		}
	}
	for i, root := range pub.Roots {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := x.moveRoot(pub, i); err != nil {
			return fmt.Errorf("root %q: %w", root, err)
		}
	}
	if err := x.moveAllLoose(ctx, from, pub.Loose); err != nil {
		return err
	}
	if err := x.enter(pub); err != nil {
		return err
	}
	if err := x.prefix.Rename(from, retiredDir(pub.Dataset.ID)); err != nil {
		return err
	}
	if err := x.prefix.SyncDir(scrDir); err != nil {
		return err
	}
	x.log.Info("dataset published", slog.Int("dataset", int(pub.Dataset.ID)), slog.String("dir", pub.Dir),
		slog.Int("roots", len(pub.Roots)), slog.Int("loose", len(pub.Loose)))
	return x.cleanUp(pub)
}

// moveDatasetDir moves SCR's files of a dataset that has no single root. One
// that is there is of an earlier publication of the same dataset and gives way.
func (x *Indexer) moveDatasetDir(from, dir string) error {
	src := path.Join(from, dir)
	there, err := disk.Exists(x.prefix, src)
	if err != nil {
		return err
	}
	if !there {
		return x.syncBoth(src, dir)
	}
	old := path.Join(from, scrDir, "old")
	if err := disk.RemoveAll(x.prefix, old); err != nil {
		return err
	}
	if err := x.prefix.Rename(dir, old); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := x.prefix.Rename(src, dir); err != nil {
		return err
	}
	return x.syncBoth(src, dir)
}

// syncBoth makes a rename durable: the new name before the old one goes. It is
// called also when the rename is found done: a process that was killed between
// the two leaves a name that the next power cut would take away.
func (x *Indexer) syncBoth(from, to string) error {
	if err := x.prefix.SyncDir(path.Dir(to)); err != nil {
		return err
	}
	return x.prefix.SyncDir(path.Dir(from))
}

// moveAllLoose moves files and links in their order. Before the last file and
// before each link, which tell programs that the rest is there, the rest is made
// durable; in between one sync serves for all files of a directory.
func (x *Indexer) moveAllLoose(ctx context.Context, from string, names []string) error {
	var moved []string
	barrier := func() error {
		dirs := map[string]bool{}
		for _, name := range moved {
			dirs[path.Dir(name)] = true
		}
		for _, side := range []string{".", from} { // new names first
			for dir := range dirs {
				if err := x.prefix.SyncDir(path.Join(side, dir)); err != nil {
					return err
				}
			}
		}
		moved = moved[:0]
		return nil
	}
	for i, name := range names {
		if err := ctx.Err(); err != nil {
			return err
		}
		fi, err := x.prefix.Lstat(path.Join(from, name))
		if i == len(names)-1 || err == nil && fi.Mode().Type() == fs.ModeSymlink {
			if err := barrier(); err != nil {
				return err
			}
		}
		// A directory in its place is what was there before: it was swapped.
		if err == nil && !fi.IsDir() {
			err = x.moveLoose(path.Join(from, name), name)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("file %q: %w", name, err)
		}
		moved = append(moved, name)
	}
	return barrier()
}

// moveLoose moves one file or link over what has its name. A directory there
// is swapped for it and goes away with the stage.
func (x *Indexer) moveLoose(src, name string) error {
	if err := disk.MkdirAll(x.prefix, path.Dir(name), dirPerm); err != nil {
		return err
	}
	if fi, err := x.prefix.Lstat(name); err == nil && fi.IsDir() {
		if err := x.prefix.Exchange(src, name); err != nil {
			return fmt.Errorf("a directory has this name: %w", err)
		}
		return nil
	}
	return x.prefix.Rename(src, name)
}

// enter puts the dataset into the index. Datasets whose directory was replaced
// are taken out. The newest checkpoint becomes the current one: a publication
// that was late does not take that away.
func (x *Indexer) enter(pub publication) error {
	now := scr.StampOf(x.o.Now())
	return scr.UpdateIndex(x.prefix, own, func(index *scr.Index) error {
		entries, err := index.Entries()
		if err != nil {
			return err
		}
		flushed := []scr.Stamp{now}
		newest := true
		current, hasCurrent := index.Current()
		for _, e := range entries {
			if e.ID == pub.Dataset.ID && e.Name == pub.Dir && len(e.Flushed) > 0 && e.Complete == scr.LimitOf(1) {
				flushed = e.Flushed // entered before a crash
			}
			if hasCurrent && e.Name == current && e.ID > pub.Dataset.ID {
				newest = false
			}
			if e.Name != pub.Dir && slices.Contains(pub.Roots, e.Name) {
				if err := index.Remove(e.Name); err != nil {
					return err
				}
			}
		}
		d := pub.Dataset
		if err := index.Put(scr.IndexEntry{ID: d.ID, Name: pub.Dir, Dataset: &d, Complete: scr.LimitOf(1), Flushed: flushed}); err != nil {
			return err
		}
		if d.Checkpoint != 0 && newest {
			return index.SetCurrent(pub.Dir)
		}
		return nil
	})
}

// cleanUp removes the marks in the roots and the rest of the stage, the journal
// last.
func (x *Indexer) cleanUp(pub publication) error {
	dir := retiredDir(pub.Dataset.ID)
	for _, root := range pub.Roots {
		if err := x.unmark(root, pub); err != nil {
			return err
		}
	}
	list, err := x.prefix.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range list {
		if e.Name() != scrDir {
			if err := disk.RemoveAll(x.prefix, path.Join(dir, e.Name())); err != nil {
				return err
			}
		}
	}
	if err := disk.RemoveAll(x.prefix, dir); err != nil {
		return err
	}
	return x.prefix.SyncDir(scrDir)
}
