package cachestore

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"syscall"
	"time"

	"github.com/scrfs/scrfs/internal/disk"
	"github.com/scrfs/scrfs/scr"
)

const writes = os.O_WRONLY | os.O_RDWR | os.O_TRUNC | os.O_APPEND

// Create makes a cached file, with the directories above it, and opens it; flag
// must have O_CREATE. The path is relative to the prefix directory. The entry
// is in the journal before the file is there. The file is readable by its owner
// alone, whatever perm says; the mode that programs see is kept elsewhere.
//
// A file that is there is opened like any other and, if it was sealed, belongs
// to no rank until the next seal; with O_EXCL it gives fs.ErrExist.
func (s *Store) Create(id scr.DatasetID, p string, flag int, _ fs.FileMode) (disk.File, error) {
	if err := checkUser(id, p); err != nil {
		return nil, err
	}
	if flag&os.O_CREATE == 0 {
		return nil, fmt.Errorf("cache of dataset %d: create %s without O_CREATE: %w", id, p, scr.ErrInvalid)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.create(id, p, flag)
}

func (s *Store) create(id scr.DatasetID, p string, flag int) (disk.File, error) {
	if s.closed {
		return nil, errClosed
	}
	n := s.state.set(id)
	_, sealed := n.sealed[p]
	if sealed && flag&os.O_EXCL != 0 {
		return nil, fmt.Errorf("cache of dataset %d: %s: %w", id, p, fs.ErrExist)
	}
	entered := n.pending[p]
	if !entered {
		if err := s.log(entry{kind: kindEnter, dataset: id, path: p}); err != nil {
			return nil, fmt.Errorf("cache of dataset %d: create %s: %w", id, p, err)
		}
	}
	f, err := s.make(id, p, flag)
	if err == nil {
		return f, nil
	}
	if !entered && !sealed {
		err = errors.Join(err, s.dropIfGone(id, p))
	}
	return nil, fmt.Errorf("cache of dataset %d: create %s: %w", id, p, err)
}

// make opens the file, making directories above it where they are missing and
// removing an empty one that a removal left in its place.
func (s *Store) make(id scr.DatasetID, p string, flag int) (disk.File, error) {
	name := cacheName(id, p)
	f, err := s.o.Cache.OpenFile(name, flag, filePerm)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if err := s.makeDirs(path.Dir(name)); err != nil {
			return nil, err
		}
	case err != nil && s.clearEmpty(name):
	default:
		return f, err
	}
	return s.o.Cache.OpenFile(name, flag, filePerm)
}

// makeDirs is mkdir -p without the syncs: directories are as durable as the
// files in them.
func (s *Store) makeDirs(dir string) error {
	err := s.o.Cache.Mkdir(dir, dirPerm)
	if errors.Is(err, fs.ErrNotExist) && dir != "." {
		if err := s.makeDirs(path.Dir(dir)); err != nil {
			return err
		}
		err = s.o.Cache.Mkdir(dir, dirPerm)
	}
	if errors.Is(err, fs.ErrExist) {
		st, serr := s.o.Cache.Lstat(dir)
		if serr == nil && st.IsDir() {
			return nil
		}
		return errors.Join(err, serr)
	}
	return err
}

// clearEmpty removes a directory that holds nothing but such directories, and
// tells whether it did.
func (s *Store) clearEmpty(name string) bool {
	st, err := s.o.Cache.Lstat(name)
	if err != nil || !st.IsDir() {
		return false
	}
	list, err := s.o.Cache.ReadDir(name)
	if err != nil {
		return false
	}
	for _, e := range list {
		if !s.clearEmpty(path.Join(name, e.Name())) {
			return false
		}
	}
	return s.o.Cache.Remove(name) == nil
}

// OpenFile opens a cached file that is there, also a redundancy file. Opening a
// sealed file to write makes its rank incomplete until the next seal, before
// anything can be written.
func (s *Store) OpenFile(id scr.DatasetID, p string, flag int) (disk.File, error) {
	if err := checkPath(id, p); err != nil {
		return nil, err
	}
	if flag&os.O_CREATE != 0 {
		return nil, fmt.Errorf("cache of dataset %d: open %s with O_CREATE: %w", id, p, scr.ErrInvalid)
	}
	if flag&writes != 0 {
		if err := s.touch(id, p); err != nil {
			return nil, fmt.Errorf("cache of dataset %d: open %s: %w", id, p, err)
		}
	}
	f, err := s.o.Cache.OpenFile(cacheName(id, p), flag, 0)
	if err != nil {
		return nil, fmt.Errorf("cache of dataset %d: %w", id, err)
	}
	return f, nil
}

func (s *Store) touch(id scr.DatasetID, p string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return errClosed
	}
	n := s.state.sets[id]
	if n == nil || n.touched[p] {
		return nil
	}
	if _, sealed := n.sealed[p]; !sealed {
		return nil
	}
	return s.log(entry{kind: kindTouch, dataset: id, path: p})
}

// Stat describes a cached file; Sys is a *syscall.Stat_t.
func (s *Store) Stat(id scr.DatasetID, p string) (fs.FileInfo, error) {
	if err := checkPath(id, p); err != nil {
		return nil, err
	}
	st, err := s.o.Cache.Lstat(cacheName(id, p))
	if err != nil {
		return nil, fmt.Errorf("cache of dataset %d: %w", id, err)
	}
	return st, nil
}

// SetTimes sets the times of a cached file; a zero time changes nothing.
func (s *Store) SetTimes(id scr.DatasetID, p string, atime, mtime time.Time) error {
	if err := checkPath(id, p); err != nil {
		return err
	}
	if err := s.o.Cache.Chtimes(cacheName(id, p), atime, mtime); err != nil {
		return fmt.Errorf("cache of dataset %d: %w", id, err)
	}
	return nil
}

// Remove removes a cached file, then its entry; fs.ErrNotExist if neither is
// there. After an error it may be called again. Who has it open keeps it. Directories left empty go along.
func (s *Store) Remove(id scr.DatasetID, p string) error {
	if err := checkUser(id, p); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return errClosed
	}
	return s.remove(id, p)
}

func (s *Store) remove(id scr.DatasetID, p string) error {
	err := s.unlink(cacheName(id, p))
	known := s.state.sets[id] != nil && s.state.sets[id].has(p)
	if err != nil && (!known || !errors.Is(err, fs.ErrNotExist)) {
		return fmt.Errorf("cache of dataset %d: %w", id, err)
	}
	if known {
		if err := s.log(entry{kind: kindDrop, dataset: id, path: p}); err != nil {
			return fmt.Errorf("cache of dataset %d: remove %s: %w", id, p, err)
		}
	}
	s.prune(id, path.Dir(p))
	return nil
}

// unlink removes a file and refuses a directory.
func (s *Store) unlink(name string) error {
	if st, err := s.o.Cache.Lstat(name); err == nil && st.IsDir() {
		return &fs.PathError{Op: "remove", Path: name, Err: syscall.EISDIR}
	}
	return s.o.Cache.Remove(name)
}

// prune removes directories of a dataset as long as they are empty. One that
// cannot be removed stays; it is in nobody's way.
func (s *Store) prune(id scr.DatasetID, dir string) {
	for ; dir != "."; dir = path.Dir(dir) {
		if s.o.Cache.Remove(cacheName(id, dir)) != nil {
			return
		}
	}
}

// log writes entries, then lets them count. Mu is held.
func (s *Store) log(list ...entry) error {
	if err := s.journal.add(list...); err != nil {
		return err
	}
	for _, e := range list {
		s.state.apply(e)
	}
	return nil
}
