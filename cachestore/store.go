package cachestore

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"sync"

	"github.com/scrfs/scrfs/internal/disk"
	"github.com/scrfs/scrfs/scr"
)

// Options says what a Store owns. All directories are absolute.
type Options struct {
	Cache, Control disk.FS
	// CacheDir and ControlDir are what the two are called: keys of filemaps are
	// absolute paths.
	CacheDir, ControlDir string
	// Prefix is the prefix directory, below which the cached files belong.
	Prefix string
	// Node is this node's name, for the errors of Open.
	Node string
}

// Validate tells what is missing.
func (o Options) Validate() error {
	if o.Cache == nil || o.Control == nil {
		return fmt.Errorf("cache store: no directories: %w", scr.ErrInvalid)
	}
	for _, dir := range []string{o.CacheDir, o.ControlDir, o.Prefix} {
		if !path.IsAbs(dir) || path.Clean(dir) != dir {
			return fmt.Errorf("cache store: directory %q is not absolute and clean: %w", dir, scr.ErrInvalid)
		}
	}
	return nil
}

// names of this package's files and modes of what it makes.
const (
	journalName = "filemap_0.journal"
	dirPerm     = 0o700
	filePerm    = 0o600
)

var (
	own         = scr.Paths{Family: scr.F14}
	filemapName = own.ProcessFilemap(0)
)

// Store is the cache of one node and job. All methods may be called by several
// goroutines at a time. Two Stores must not own the same directories.
type Store struct {
	o       Options
	adopted Adoption

	writing sync.Mutex // held while the filemap is written

	mu      sync.Mutex
	state   *state
	journal *journal
	saved   uint64 // version of the state that the filemap file has
	closed  bool
}

// Adoption is what Open found. All paths are relative to the cache directory.
type Adoption struct {
	Datasets []scr.DatasetID // with any entry, oldest first
	Unknown  []string        // files without an entry; they are left alone
	Dropped  []string        // entries whose file was not made or is gone
}

var errClosed = errors.New("cache store is closed")

// Adopted tells what Open found.
func (s *Store) Adopted() Adoption { return s.adopted }

// Close gives the directories back; the cache stays. It returns an error if the
// journal could not be brought to the disk.
func (s *Store) Close() error {
	s.writing.Lock()
	defer s.writing.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	return s.journal.close()
}

// Filemap returns a copy of what the filemap says now: sealed datasets, with
// files that were touched since marked incomplete or left out. Files that were
// never sealed are not in it, as they have no rank.
func (s *Store) Filemap() (*scr.Filemap, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, errClosed
	}
	return s.state.copyFilemap(), nil
}

// Datasets lists the datasets that have an entry, oldest first.
func (s *Store) Datasets() []scr.DatasetID {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state.datasets()
}

// Pending lists the files of a dataset that are entered and not sealed, sorted.
func (s *Store) Pending(id scr.DatasetID) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state.pending(id)
}

// Complete lists the datasets that are sealed here and not touched since, with
// every file there in its size; oldest first. Contents are not read.
func (s *Store) Complete() []scr.DatasetID {
	s.mu.Lock()
	m := s.state.copyFilemap()
	var sealed []scr.DatasetID
	for _, id := range m.Datasets() {
		if !s.state.beingWritten(id) {
			sealed = append(sealed, id)
		}
	}
	s.mu.Unlock()
	return slices.DeleteFunc(sealed, func(id scr.DatasetID) bool { return !s.whole(m, id) })
}

// whole tells whether all ranks that have a dataset here have all its files.
func (s *Store) whole(m *scr.Filemap, id scr.DatasetID) bool {
	ranks := 0
	for _, r := range m.RanksOf(id) {
		if _, err := m.Dataset(id, r); errors.Is(err, scr.ErrNotFound) {
			continue // only the descriptor of a neighbour
		}
		if err := m.CheckRank(id, r, s.sizeOfKey); err != nil {
			return false
		}
		ranks++
	}
	return ranks > 0
}

func (s *Store) sizeOfKey(key string) (int64, error) {
	id, rel, err := splitKey(s.o.CacheDir, key)
	if err != nil {
		return 0, err
	}
	return s.sizeOf(id, rel)
}

// sizeOf is the size of a regular file in bytes.
func (s *Store) sizeOf(id scr.DatasetID, rel string) (int64, error) {
	st, err := s.o.Cache.Lstat(cacheName(id, rel))
	if err != nil {
		return 0, err
	}
	if !st.Mode().IsRegular() {
		return 0, fmt.Errorf("%s is no regular file: %w", rel, scr.ErrInvalid)
	}
	return st.Size(), nil
}

// DatasetFS is a view of a cached dataset; fs.ErrNotExist if no file of it was
// ever made here.
func (s *Store) DatasetFS(id scr.DatasetID) (disk.FS, error) {
	return s.o.Cache.Sub(scr.DatasetName(id))
}

// DatasetDir is the absolute path of a cached dataset.
func (s *Store) DatasetDir(id scr.DatasetID) string {
	return path.Join(s.o.CacheDir, scr.DatasetName(id))
}

// Usage tells how full the cache's file system is.
func (s *Store) Usage() (disk.Usage, error) { return s.o.Cache.Usage() }
