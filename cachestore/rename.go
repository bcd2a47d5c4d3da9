package cachestore

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"syscall"

	"github.com/scrfs/scrfs/scr"
)

// Rename lets the cache follow a rename below the prefix directory. A file is
// renamed in its dataset; a directory in every dataset that has it, since its
// files may belong to several. Nothing here of that name is no error. What was
// sealed belongs to no rank until the next seal. A file at the new path is
// replaced, as in rename(2); a directory there must hold no files.
//
// A crash leaves each file under the old name or the new one, with entries for
// both, of which Open drops the wrong one.
func (s *Store) Rename(id scr.DatasetID, from, to string) error {
	if err := errors.Join(checkUser(id, from), checkUser(id, to)); err != nil {
		return err
	}
	if from == to {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return errClosed
	}
	here, err := s.holders(id, from)
	if err != nil {
		return fmt.Errorf("cache of dataset %d: rename %s: %w", id, from, err)
	}
	for _, d := range here {
		if err := s.rename(d, from, to); err != nil {
			return fmt.Errorf("cache of dataset %d: rename %s: %w", d, from, err)
		}
	}
	if n := s.state.sets[id]; n != nil && len(here) == 0 {
		// Moved by a call whose last line could not be written.
		for _, p := range n.below(from) {
			if err := s.dropIfGone(id, p); err != nil {
				return fmt.Errorf("cache of dataset %d: rename %s: %w", id, from, err)
			}
		}
	}
	return nil
}

// holders lists the datasets in which a rename of a path takes place: the one
// that has a file there, else all that have a directory.
func (s *Store) holders(id scr.DatasetID, p string) ([]scr.DatasetID, error) {
	if st, err := s.stat(id, p); err != nil {
		return nil, err
	} else if st != nil && !st.IsDir() {
		return []scr.DatasetID{id}, nil
	}
	var list []scr.DatasetID
	for _, d := range s.state.datasets() {
		if st, err := s.stat(d, p); err != nil {
			return nil, err
		} else if st != nil && st.IsDir() {
			list = append(list, d)
		}
	}
	return list, nil
}

// stat returns nil if there is nothing of that name.
func (s *Store) stat(id scr.DatasetID, p string) (fs.FileInfo, error) {
	st, err := s.o.Cache.Lstat(cacheName(id, p))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil, nil
	}
	return st, err
}

func (s *Store) rename(id scr.DatasetID, from, to string) error {
	n := s.state.set(id)
	list := n.below(from)
	if st, err := s.stat(id, from); err != nil {
		return err
	} else if len(list) == 0 && st != nil && !st.IsDir() {
		list = []string{from} // a file without entry gets one
	}
	// The sealed ones are named one by one: when the journal is read, the
	// filemap may have let them go.
	lines := []entry{{kind: kindMove, dataset: id, path: from, to: to}}
	for _, p := range list {
		if !n.pending[p] {
			lines = append(lines, entry{kind: kindEnter, dataset: id, path: moved(from, to, p)})
		}
	}
	if err := s.log(lines...); err != nil {
		return err
	}
	if err := s.move(cacheName(id, from), cacheName(id, to)); err != nil {
		for _, p := range list {
			err = errors.Join(err, s.dropIfGone(id, moved(from, to, p)))
		}
		return err
	}
	s.prune(id, path.Dir(from))
	return s.log(entry{kind: kindMoved, dataset: id, path: from})
}

func (s *Store) move(from, to string) error {
	if err := s.makeDirs(path.Dir(to)); err != nil {
		return err
	}
	s.clearEmpty(to)
	return s.o.Cache.Rename(from, to)
}

// dropIfGone drops the entry of a file if it is certain that there is none.
func (s *Store) dropIfGone(id scr.DatasetID, p string) error {
	if st, err := s.stat(id, p); err != nil || st != nil {
		return nil // it may be there: the entry stays
	}
	return s.log(entry{kind: kindDrop, dataset: id, path: p})
}

// Exchange lets the cache follow an exchange of two names, of which idA had
// pathA and idB had pathB. This node may have both, one or none of them. As in
// Rename directories are exchanged in every dataset.
func (s *Store) Exchange(idA, idB scr.DatasetID, pathA, pathB string) error {
	if err := errors.Join(checkUser(idA, pathA), checkUser(idB, pathB)); err != nil {
		return err
	}
	if under(pathA, pathB) || under(pathB, pathA) {
		return fmt.Errorf("cache: exchange %s with %s: %w", pathA, pathB, syscall.EINVAL)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return errClosed
	}
	hasA, errA := s.holders(idA, pathA)
	hasB, errB := s.holders(idB, pathB)
	if err := errors.Join(errA, errB); err != nil {
		return fmt.Errorf("cache: exchange %s with %s: %w", pathA, pathB, err)
	}
	all := slices.Concat(hasA, hasB)
	slices.Sort(all)
	for _, d := range slices.Compact(all) {
		var err error
		switch a, b := slices.Contains(hasA, d), slices.Contains(hasB, d); {
		case a && b:
			err = s.exchange(d, pathA, pathB)
		case a:
			err = s.rename(d, pathA, pathB)
		default:
			err = s.rename(d, pathB, pathA)
		}
		if err != nil {
			return fmt.Errorf("cache of dataset %d: exchange %s with %s: %w", d, pathA, pathB, err)
		}
	}
	return nil
}

// exchange swaps two names that are both there.
func (s *Store) exchange(id scr.DatasetID, a, b string) error {
	n := s.state.set(id)
	belowA, belowB := n.below(a), n.below(b)
	after := map[string]bool{}
	for _, p := range belowA {
		after[moved(a, b, p)] = true
	}
	for _, p := range belowB {
		after[moved(b, a, p)] = true
	}
	// Until it is done every file may be at either name.
	for p := range after {
		if err := s.log(entry{kind: kindEnter, dataset: id, path: p}); err != nil {
			return err
		}
	}
	if err := s.o.Cache.Exchange(cacheName(id, a), cacheName(id, b)); err != nil {
		return err
	}
	for _, p := range slices.Concat(belowA, belowB) {
		if after[p] {
			continue
		}
		if err := s.dropIfGone(id, p); err != nil {
			return err
		}
	}
	return nil
}
