package indexer

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/scrfs/scrfs/internal/disk"
	"github.com/scrfs/scrfs/scr"
)

// PublishOptions says how a stage is published.
type PublishOptions struct {
	// VerifyCRC reads all files of the stage again. Without it the copy that
	// brought them is trusted to have compared what it wrote.
	VerifyCRC bool
}

// PublishStage brings a staged dataset into sight in the prefix directory. Every
// rank must have its filemap in the stage and every file be as recorded, else
// the error wraps scr.ErrIncomplete, names rank and file, and the stage stays
// as it is.
//
// The files must be durable already; their directories are made so here. When
// it returns nil the dataset is in place and in the index, and if it is a
// checkpoint newer than the current one, it is the current one. After a crash
// the prefix directory has the old state until the stage has its new name; from
// then on RollForward, or PublishStage once more, ends what was begun. A root
// is never seen without all of its bytes. Of two that publish one stage at the
// same time, one does it and the other finds it done.
//
// A rename must be one step for the file system also between two directories:
// then a crash leaves the old name or the new one. All that keep a journal hold
// to that.
func (x *Indexer) PublishStage(ctx context.Context, id scr.DatasetID, o PublishOptions) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("publish dataset %d: %w", id, err)
		}
	}()
	lock, err := x.lock(own)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	if _, err := x.rollForward(ctx); err != nil { // oldest first, and perhaps this one
		return err
	}
	there, err := disk.Exists(x.prefix, x.StageDir(id))
	if err != nil {
		return err
	}
	if !there {
		return x.mustBeIndexed(id)
	}
	pub, err := x.prepare(ctx, id, o)
	if err != nil {
		return err
	}
	if err := x.prefix.RenameNoReplace(x.StageDir(id), own.Publish(id)); err != nil {
		return err
	}
	if err := x.prefix.SyncDir(scrDir); err != nil {
		return err
	}
	return x.finish(ctx, pub)
}

// mustBeIndexed tells whether a dataset without stage was published before.
func (x *Indexer) mustBeIndexed(id scr.DatasetID) error {
	entries, err := entriesOf(x.prefix, own)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.ID == id && e.Complete == scr.LimitOf(1) {
			return nil
		}
	}
	return fmt.Errorf("stage %s: %w", x.StageDir(id), scr.ErrNotFound)
}

// prepare makes a stage ready to be renamed: scanned, summarised, durable, with
// the journal in it.
func (x *Indexer) prepare(ctx context.Context, id scr.DatasetID, o PublishOptions) (publication, error) {
	var pub publication
	stage, err := x.prefix.Sub(x.StageDir(id))
	if err != nil {
		return pub, err
	}
	dir, err := datasetDirIn(stage, id)
	if err != nil {
		return pub, err
	}
	s, err := x.scanIn(ctx, stage, own.Family, dir, o.VerifyCRC)
	if err != nil {
		return pub, err
	}
	if err := s.mustBeWhole(id); err != nil {
		return pub, err
	}
	if pub, err = s.publication(); err != nil {
		return pub, err
	}
	pub.Key = strconv.FormatInt(x.o.Now().UnixNano(), 36)
	if err := checkMoved(stage, pub); err != nil {
		return pub, err
	}
	if err := s.writeResult(stage); err != nil {
		return pub, err
	}
	if err := disk.MkdirAll(stage, scrDir, dirPerm); err != nil {
		return pub, err
	}
	if err := scr.WriteTree(stage, journalName, pub.tree()); err != nil {
		return pub, err
	}
	return pub, syncDirs(ctx, stage, ".")
}

// datasetDirIn finds the dataset directory of a stage: .scr/scr.dataset.<id>,
// or the one root, in whose .scr the rank filemaps lie. Nothing but directories
// leads to the root, so the first filemaps on the way down are those.
func datasetDirIn(stage disk.FS, id scr.DatasetID) (string, error) {
	level := []string{own.DatasetDir(id, ""), "."}
	for len(level) > 0 {
		var below []string
		for _, dir := range level {
			ranks, err := filemapsIn(stage, own, dir)
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return "", err
			}
			if len(ranks) > 0 {
				return dir, nil
			}
			list, err := stage.ReadDir(dir)
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return "", err
			}
			for _, e := range list {
				if e.IsDir() && e.Name() != scrDir {
					below = append(below, path.Join(dir, e.Name()))
				}
			}
		}
		level = below
	}
	return "", fmt.Errorf("the stage has no filemap of any rank: %w", scr.ErrIncomplete)
}

// mustBeWhole reports the first things that are wrong with a stage.
func (s *Scan) mustBeWhole(id scr.DatasetID) error {
	switch {
	case len(s.Invalid) > 0:
		return listed(s.Invalid)
	case s.Dataset.ID != id:
		return fmt.Errorf("the stage has dataset %d: %w", s.Dataset.ID, scr.ErrInvalid)
	case len(s.Problems) > 0:
		return fmt.Errorf("%s: %w", describe(s.Problems), scr.ErrIncomplete)
	case len(s.Missing) > 0:
		return fmt.Errorf("ranks %v have no filemap or too few files: %w", s.Missing, scr.ErrIncomplete)
	}
	var files int64
	for _, e := range s.Entries {
		for _, f := range e.Files {
			if !f.NoFetch {
				files++
			}
		}
	}
	if files != s.Dataset.Files {
		return fmt.Errorf("%d files, the dataset has %d: %w", files, s.Dataset.Files, scr.ErrIncomplete)
	}
	return nil
}

// checkMoved refuses names that must not be moved, and names that are not there.
func checkMoved(stage disk.FS, pub publication) error {
	for _, list := range [][]string{pub.Roots, pub.Loose} {
		for _, name := range list {
			rel, err := scr.Below("/", ".", name)
			if err == nil && rel != name || slices.Contains(strings.Split(name, "/"), scrDir) {
				err = scr.ErrEscape
			}
			if err == nil {
				_, err = stage.Lstat(name)
			}
			if errors.Is(err, fs.ErrNotExist) {
				err = fmt.Errorf("%w: %w", scr.ErrIncomplete, err)
			}
			if err != nil {
				return fmt.Errorf("name %q: %w", name, err)
			}
		}
	}
	return nil
}

// syncDirs makes the entries of all directories below dir durable.
func syncDirs(ctx context.Context, fsys disk.FS, dir string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	list, err := fsys.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range list {
		if e.IsDir() {
			if err := syncDirs(ctx, fsys, path.Join(dir, e.Name())); err != nil {
				return err
			}
		}
	}
	return fsys.SyncDir(dir)
}
