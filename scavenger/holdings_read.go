package scavenger

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/scrfs/scrfs/cachestore"
	"github.com/scrfs/scrfs/internal/disk"
	"github.com/scrfs/scrfs/scr"
)

// Opener opens a directory by its absolute path; disk.Open outside of tests.
type Opener func(dir string) (disk.FS, error)

// dirTag is the tag of a rank's entry that says where its dataset goes below
// the prefix directory.
const dirTag = scr.TagDatasetDir

// Holdings reads a control directory and says what the cache has, whole or not.
// It looks at the size of every file and changes nothing; no daemon need run. A
// control directory without filemap has no dataset: the daemon ended before it
// wrote one. Damaged filemaps give scr.ErrCorrupt or scr.ErrInvalid.
func Holdings(control disk.FS, open Opener) (NodeCache, error) {
	v, err := readControl(control)
	if err != nil {
		return NodeCache{}, err
	}
	cache := NodeCache{Datasets: []CachedDataset{}}
	for _, id := range v.datasets() {
		l := look{view: v, fm: v.Filemap, id: id, open: open, d: CachedDataset{ID: id}}
		l.dataset()
		if len(l.d.Held) > 0 || l.d.Unsealed != "" {
			cache.Datasets = append(cache.Datasets, l.d)
		}
	}
	return cache, nil
}

// view is what a control directory says, and where its cache was.
type view struct {
	cachestore.View
	cacheDir string // absolute; "" if nothing was sealed
}

// readControl reads filemaps and journal.
func readControl(control disk.FS) (view, error) {
	there, err := disk.Exists(control, own.MasterFilemap())
	if err != nil {
		return view{}, err
	}
	v := view{}
	if there {
		fm, err := scr.ReadNodeFilemap(control)
		if err != nil {
			return view{}, err
		}
		v.cacheDir = cacheDirOf(fm)
	}
	if v.View, err = cachestore.Read(control, v.cacheDir); err != nil {
		return view{}, err
	}
	return v, nil
}

// cacheDirOf finds the cache directory in the paths of the files; "" if there
// are none.
func cacheDirOf(fm *scr.Filemap) string {
	for _, id := range fm.Datasets() {
		for _, rank := range fm.RanksOf(id) {
			for name := range fm.EachFile(id, rank) {
				if dir := datasetDir(name, id); dir != "" {
					return path.Dir(dir)
				}
			}
		}
	}
	return ""
}

func (v view) datasets() []scr.DatasetID {
	ids := append(v.Filemap.Datasets(), slices.Collect(maps.Keys(v.Pending))...)
	slices.Sort(ids)
	return slices.Compact(ids)
}

// look is the look at one dataset.
type look struct {
	view view
	fm   *scr.Filemap
	id   scr.DatasetID
	open Opener
	d    CachedDataset
	dirs map[string]disk.FS // opened, by path
}

func (l *look) dataset() {
	for _, name := range l.view.Pending[l.id] {
		if !isRedundancyName(name) && l.mayBeThere(name) {
			l.unsealed("%s was being written", name)
			break
		}
	}
	for _, rank := range l.fm.RanksOf(l.id) {
		if ofNeighbour(l.fm, l.id, rank) {
			continue
		}
		desc, err := l.fm.Dataset(l.id, rank)
		switch {
		case errors.Is(err, scr.ErrNotFound):
			l.unsealed("rank %d was being written", rank)
			continue
		case err != nil:
			l.unsealed("rank %d: %v", rank, err)
			continue
		case l.d.Dataset.ID == 0:
			l.d.Dataset = desc
			l.d.Dir = placeOf(l.fm, l.id, rank)
		case l.d.Dataset != desc || l.d.Dir != placeOf(l.fm, l.id, rank):
			l.unsealed("ranks %d and %d are of different writings", l.d.Held[0].Rank, rank)
		}
		l.d.Held = append(l.d.Held, l.rank(rank))
	}
}

// mayBeThere tells whether a file that was entered is in the cache, or cannot
// be looked for.
func (l *look) mayBeThere(name string) bool {
	if l.view.cacheDir == "" {
		return true
	}
	fsys, err := l.openDir(path.Join(l.view.cacheDir, own.CacheDataset(l.id, 0)))
	if err != nil {
		return !errors.Is(err, fs.ErrNotExist)
	}
	_, err = fsys.Lstat(name)
	return !errors.Is(err, fs.ErrNotExist)
}

// placeOf is the dataset directory, relative to the prefix directory.
func placeOf(fm *scr.Filemap, id scr.DatasetID, rank scr.Rank) string {
	if dir, ok := fm.Tag(id, rank, dirTag); ok {
		return dir
	}
	return own.DatasetDir(id, "")
}

// unsealed keeps the first reason.
func (l *look) unsealed(format string, args ...any) {
	if l.d.Unsealed == "" {
		l.d.Unsealed = fmt.Sprintf(format, args...)
	}
}

// ofNeighbour tells whether an entry is only what a process notes of its left
// neighbour in the redundancy set.
func ofNeighbour(fm *scr.Filemap, id scr.DatasetID, rank scr.Rank) bool {
	if _, err := fm.ExpectedFiles(id, rank); !errors.Is(err, scr.ErrNotFound) {
		return false
	}
	_, derr := fm.Descriptor(id, rank)
	_, serr := fm.Dataset(id, rank)
	return fm.FileCount(id, rank) == 0 && derr == nil && errors.Is(serr, scr.ErrNotFound)
}

// rank looks at the files of a rank.
func (l *look) rank(rank scr.Rank) HeldRank {
	h := HeldRank{Rank: rank}
	l.describe(&h)
	expected, err := l.fm.ExpectedFiles(l.id, rank)
	if err != nil {
		h.Missing = err.Error()
		return h
	}
	for _, name := range l.fm.Files(l.id, rank) {
		meta, err := l.fm.Meta(l.id, rank, name)
		if err == nil {
			l.d.Ranks = max(l.d.Ranks, meta.Ranks)
			err = l.check(name, meta)
		}
		redundancy := meta.Type != scr.UserFile
		switch {
		case err != nil && redundancy:
			expected--
		case errors.Is(err, errBeingWritten):
			l.unsealed("rank %d: %s was being written", rank, path.Base(name))
			return h
		case err != nil:
			h.Missing = fmt.Sprintf("%s: %v", path.Base(name), err)
			return h
		default:
			h.Files++
			h.Bytes += meta.SizeBytes
			h.Redundancy = h.Redundancy || redundancy
		}
	}
	if h.Files != expected {
		h.Missing = fmt.Sprintf("%d files, expected %d", h.Files, expected)
	}
	return h
}

func isRedundancyName(name string) bool {
	_, xor := own.ParseXORName(name)
	_, rs := own.ParseRSName(name)
	return xor || rs
}

// errBeingWritten: a file was sealed and opened for writing since.
var errBeingWritten = errors.New("was being written")

// describe fills in set and partner of a rank.
func (l *look) describe(h *HeldRank) {
	desc, err := l.fm.Descriptor(l.id, h.Rank)
	if err == nil && desc.GroupSize > 0 {
		h.Set = SetInfo{Scheme: desc.Type.String(), ID: desc.GroupID, Size: desc.GroupSize}
		switch desc.Type {
		case scr.XOR:
			h.Set.Mends = 1
		case scr.RS:
			h.Set.Mends = desc.Checksums
		}
	}
	if f, err := l.fm.Flush(l.id, h.Rank); err == nil {
		h.PartnerOf = f.Partner
	}
}

// check compares a file with its meta data, by size.
func (l *look) check(name string, meta scr.FileMeta) error {
	if !meta.Complete {
		return errBeingWritten
	}
	dir := datasetDir(name, l.id)
	if dir == "" {
		return fmt.Errorf("does not lie in %s", scr.DatasetName(l.id))
	}
	fsys, err := l.openDir(dir)
	if err != nil {
		return err
	}
	fi, err := fsys.Lstat(strings.TrimPrefix(name, dir+"/"))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return errors.New("is gone")
	case err != nil:
		return err
	case !fi.Mode().IsRegular():
		return errors.New("is no regular file")
	case fi.Size() != meta.SizeBytes:
		return fmt.Errorf("has %d bytes, expected %d", fi.Size(), meta.SizeBytes)
	}
	return nil
}

func (l *look) openDir(dir string) (disk.FS, error) {
	if f := l.dirs[dir]; f != nil {
		return f, nil
	}
	f, err := l.open(dir)
	if err != nil {
		return nil, err
	}
	if l.dirs == nil {
		l.dirs = map[string]disk.FS{}
	}
	l.dirs[dir] = f
	return f, nil
}

// datasetDir is the cached dataset that a file of it lies in, "" if the path
// has none. Files of the application may be in directories below it.
func datasetDir(name string, id scr.DatasetID) string {
	base := "/" + own.CacheDataset(id, 0) + "/"
	i := strings.Index(name, base)
	if i < 0 || !path.IsAbs(name) {
		return ""
	}
	return name[:i+len(base)-1]
}
