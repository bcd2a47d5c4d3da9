package indexer

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
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
		return fmt.Errorf("%s: %w", describe(s.Invalid), s.Invalid[0].Err)
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

// publication finds what of a whole stage is to be moved where.
func (s *Scan) publication() (publication, error) {
	pub := publication{Dataset: s.Dataset, Dir: s.Dir}
	var files []string
	written := map[string]scr.Timespec{} // loose files may be told by their age
	for _, e := range s.Entries {
		for _, f := range e.Files {
			if f.NoFetch {
				continue
			}
			rel, err := s.paths().UserFile(s.Dir, f.Name)
			if err != nil {
				return pub, err
			}
			files = append(files, rel)
			if f.Attr != nil {
				written[rel] = f.Attr.Modify
			}
		}
	}
	tree, err := s.tree()
	if err != nil {
		return pub, err
	}
	layout := scr.LayoutOf(s.Dataset.ID, tree, files)
	if layout.Dir != s.Dir {
		return pub, fmt.Errorf("dataset directory is %s, by its files it should be %s: %w", s.Dir, layout.Dir, scr.ErrInvalid)
	}
	pub.Roots, pub.Loose = layout.Roots, layout.Loose
	links := map[string]bool{}
	for _, l := range tree.Symlinks {
		links[l.Path] = true
	}
	// What was written last tells programs that the rest is there: files go in
	// the order of their age, links, which are made when all is written, after.
	slices.SortStableFunc(pub.Loose, func(a, b string) int {
		if links[a] != links[b] {
			if links[b] {
				return -1
			}
			return 1
		}
		ta, tb := written[a], written[b]
		if ta.Secs != tb.Secs {
			return compare(ta.Secs, tb.Secs)
		}
		return compare(ta.Nsecs, tb.Nsecs)
	})
	return pub, nil
}

func compare(a, b int64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// tree returns the dataset's directories and links with names relative to the
// prefix directory. Filemaps name them relative to the dataset directory, as
// files; those of the cache are taken as they are, relative to the prefix.
func (s *Scan) tree() (scr.DirTree, error) {
	var tree scr.DirTree
	for _, r := range slices.Sorted(maps.Keys(s.Entries)) {
		if t := s.Entries[r].Tree; !t.Empty() {
			tree = t
			break
		}
	}
	if s.namedFromPrefix(tree) {
		return tree, nil
	}
	var err error
	resolve := func(list []scr.TreeEntry) []scr.TreeEntry {
		out := slices.Clone(list)
		for i := range out {
			rel := s.Dir
			if out[i].Path != "." {
				var rerr error
				if rel, rerr = s.paths().Resolve(s.Dir, out[i].Path); rerr != nil {
					err = errors.Join(err, rerr)
				}
			}
			out[i].Path = rel
		}
		return out
	}
	tree = scr.DirTree{Dirs: resolve(tree.Dirs), Symlinks: resolve(tree.Symlinks), Hardlinks: resolve(tree.Hardlinks)}
	return tree, err
}

// namedFromPrefix tells which of the two forms a tree has. Relative to the
// dataset directory a root is "." and everything else begins with "../".
func (s *Scan) namedFromPrefix(tree scr.DirTree) bool {
	for _, list := range [][]scr.TreeEntry{tree.Dirs, tree.Symlinks, tree.Hardlinks} {
		for _, e := range list {
			if e.Path == "." || strings.HasPrefix(e.Path, "../") {
				return false
			}
		}
	}
	return true
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

// RollForward ends every publication that was cut short, oldest first, and
// returns their ids. It costs one listing of a directory if there is none.
// Every command and every mount calls it before anything else.
func (x *Indexer) RollForward(ctx context.Context) (done []scr.DatasetID, err error) {
	ids, err := x.unfinished()
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	lock, err := x.lock(own)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	return x.rollForward(ctx)
}

// rollForward is RollForward under the lock.
func (x *Indexer) rollForward(ctx context.Context) ([]scr.DatasetID, error) {
	ids, err := x.unfinished()
	if err != nil {
		return nil, err
	}
	var done []scr.DatasetID
	for _, id := range ids {
		if err := x.rollOne(ctx, id); err != nil {
			return done, fmt.Errorf("roll publication of dataset %d forward: %w", id, err)
		}
		x.log.Info("publication finished that was cut short", slog.Int("dataset", int(id)))
		done = append(done, id)
	}
	return done, nil
}

func (x *Indexer) rollOne(ctx context.Context, id scr.DatasetID) error {
	for _, dir := range []string{retiredDir(id), own.Publish(id)} {
		pub, err := readPublication(x.prefix, dir)
		if errors.Is(err, fs.ErrNotExist) {
			there, eerr := disk.Exists(x.prefix, dir)
			if eerr != nil {
				return eerr
			}
			if there && dir == own.Publish(id) {
				return fmt.Errorf("%s has no journal: %w", dir, scr.ErrCorrupt)
			}
			if there { // the journal goes last but for the directory
				if err := errors.Join(disk.RemoveAll(x.prefix, dir), x.prefix.SyncDir(scrDir)); err != nil {
					return err
				}
			}
			continue
		}
		if err != nil {
			return err
		}
		if dir == own.Publish(id) {
			err = x.finish(ctx, pub)
		} else {
			err = x.cleanUp(pub)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// unfinished lists the datasets whose publication has begun and not ended,
// ascending.
func (x *Indexer) unfinished() ([]scr.DatasetID, error) {
	list, err := x.prefix.ReadDir(scrDir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var ids []scr.DatasetID
	for _, e := range list {
		for _, before := range []string{"publish.", "published."} {
			if digits, ok := strings.CutPrefix(e.Name(), before); ok {
				if id, err := scr.ParseDatasetID(digits); err == nil && !slices.Contains(ids, id) {
					ids = append(ids, id)
				}
			}
		}
	}
	slices.Sort(ids)
	return ids, nil
}
