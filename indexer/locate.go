package indexer

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/scrfs/scrfs/internal/disk"
	"github.com/scrfs/scrfs/scr"
)

// Place is a dataset directory and the family of what is in it.
type Place struct {
	Family scr.Family
	Dir    string // relative to the prefix directory
}

// Locate finds the dataset directory that a name or an id stands for, in the
// index or not. A name is that of a dataset directory, relative to the prefix
// directory or absolute below it, or the name of a dataset of the releases
// (F12). An id that stands for several directories gives scr.ErrAmbiguous and
// lists them; what is not there gives scr.ErrNotFound.
func (x *Indexer) Locate(nameOrID string) (Place, error) {
	places, err := x.locate(nameOrID)
	if err != nil {
		return Place{}, fmt.Errorf("dataset %q: %w", nameOrID, err)
	}
	switch len(places) {
	case 0:
		return Place{}, fmt.Errorf("dataset %q in %s: %w", nameOrID, x.dir, scr.ErrNotFound)
	case 1:
		return places[0], nil
	}
	names := make([]string, len(places))
	for i, p := range places {
		names[i] = p.Dir
	}
	return Place{}, fmt.Errorf("dataset %q is in %s: %w", nameOrID, strings.Join(names, ", "), scr.ErrAmbiguous)
}

func (x *Indexer) locate(nameOrID string) ([]Place, error) {
	name := nameOrID
	if path.IsAbs(name) {
		rel, ok := strings.CutPrefix(path.Clean(name), strings.TrimSuffix(x.dir, "/")+"/")
		if !ok {
			return nil, fmt.Errorf("it is not below %s: %w", x.dir, scr.ErrEscape)
		}
		name = rel
	}
	name = path.Clean(name)
	if rel, err := scr.Below("/", ".", name); err != nil || rel != name {
		return nil, fmt.Errorf("no name below the prefix directory: %w", scr.ErrEscape)
	}
	if p, ok, err := x.probe(name); err != nil || ok {
		return []Place{p}, err
	}
	if id, err := scr.ParseDatasetID(name); err == nil {
		return x.locateID(id)
	}
	return x.locateReleaseName(name)
}

// probe tells whether a directory is a dataset directory, and of which family.
func (x *Indexer) probe(dir string) (Place, bool, error) {
	for _, f := range []scr.Family{scr.F14, scr.F12, scr.F11} {
		p := scr.Paths{Family: f}
		if f == scr.F12 && !looseDir(dir) { // the releases keep theirs where no program writes
			continue
		}
		found, err := x.hasDataset(p, dir)
		if err != nil {
			return Place{}, false, err
		}
		if found {
			return Place{f, dir}, true, nil
		}
	}
	return Place{}, false, nil
}

// hasDataset tells whether SCR's files of a family are in a dataset directory.
func (x *Indexer) hasDataset(p scr.Paths, dir string) (bool, error) {
	for _, name := range []string{p.Summary(dir), p.RankFilemap(dir, 0)} { // in most cases no listing is needed
		if _, err := x.prefix.Lstat(name); err == nil {
			return true, nil
		}
	}
	list, err := x.prefix.ReadDir(p.SCRDir(dir))
	if errors.Is(err, fs.ErrNotExist) || err != nil && notDir(x.prefix, p.SCRDir(dir)) {
		return false, nil
	}
	return slices.ContainsFunc(list, func(e fs.DirEntry) bool {
		_, ok := p.ParseRankFilemapName(e.Name())
		return ok
	}), err
}

func notDir(fsys disk.FS, name string) bool {
	fi, err := fsys.Stat(name)
	return err != nil || !fi.IsDir()
}

// locateID looks where datasets of an id are by rule, by the index, and by the
// flush file.
func (x *Indexer) locateID(id scr.DatasetID) ([]Place, error) {
	dirs := []string{own.DatasetDir(id, ""), scr.DatasetName(id)}
	flush, err := scr.ReadFlush(x.prefix, own.Flush(), own.Family)
	if err != nil {
		return nil, err
	}
	if e, err := flush.Entry(id); err == nil && e.Name != "" {
		if rel, err := scr.Below("/", ".", e.Name); err == nil && !slices.Contains(dirs, rel) {
			dirs = append(dirs, rel)
		}
	}
	for _, f := range []scr.Family{scr.F11, scr.F14} {
		entries, err := entriesOf(x.prefix, scr.Paths{Family: f})
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			if e.ID == id && !slices.Contains(dirs, e.Name) {
				dirs = append(dirs, e.Name)
			}
		}
	}
	var places []Place
	for _, dir := range dirs {
		p, ok, err := x.probe(dir)
		if err != nil {
			return nil, err
		}
		if ok {
			places = append(places, p)
		}
	}
	return places, nil
}

// locateReleaseName looks for a dataset of the releases by its own name, which
// is not that of a directory.
func (x *Indexer) locateReleaseName(name string) ([]Place, error) {
	p := scr.Paths{Family: scr.F12}
	list, err := x.prefix.ReadDir(scrDir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var places []Place
	for _, e := range list {
		if _, ok := scr.ParseDatasetName(e.Name()); !ok || !e.IsDir() {
			continue
		}
		dir := path.Join(scrDir, e.Name())
		place, ok, err := x.probe(dir)
		if err != nil {
			return nil, err
		}
		if ok && place.Family == scr.F12 && x.releaseName(p, dir) == name {
			places = append(places, place)
		}
	}
	return places, nil
}

// releaseName is the name of a dataset of the releases, "" if no file that can
// be read has it.
func (x *Indexer) releaseName(p scr.Paths, dir string) string {
	ranks, err := filemapsIn(x.prefix, p, dir)
	if err != nil {
		return ""
	}
	views := newDirViews(x.prefix)
	defer views.close()
	for _, r := range ranks {
		if read := readRank(views, p, dir, r); read.dataset != nil {
			return read.dataset.Name
		}
	}
	if s, err := scr.ReadSummary(x.prefix, p, dir); err == nil {
		return s.Dataset.Name
	}
	return ""
}
