package cachestore

import (
	"errors"
	"fmt"
	"io/fs"
	"path"

	"github.com/scrfs/scrfs/scr"
)

// Reassign moves a file from one dataset to another, under the same path: it is
// about to be written anew for that one. Who has it open keeps it. Nothing here
// of that name is no error. A crash leaves it in one of the two, with entries
// in both, of which Open drops the wrong one; in the old dataset its rank is
// incomplete then, as it is afterwards.
func (s *Store) Reassign(from, to scr.DatasetID, p string) error {
	if err := errors.Join(checkUser(from, p), checkUser(to, p)); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return errClosed
	}
	if err := s.reassign(from, to, p); err != nil {
		return fmt.Errorf("cache of dataset %d: move %s to dataset %d: %w", from, p, to, err)
	}
	return nil
}

func (s *Store) reassign(from, to scr.DatasetID, p string) error {
	if _, err := s.o.Cache.Lstat(cacheName(from, p)); errors.Is(err, fs.ErrNotExist) {
		if n := s.state.sets[from]; n != nil && n.has(p) {
			return s.dropIfGone(from, p) // moved by a call whose last line could not be written
		}
		return nil
	}
	if err := s.log(entry{kind: kindEnter, dataset: to, path: p}); err != nil {
		return err
	}
	if err := s.move(cacheName(from, p), cacheName(to, p)); err != nil {
		return errors.Join(err, s.dropIfGone(to, p))
	}
	if err := s.log(entry{kind: kindDrop, dataset: from, path: p}); err != nil {
		return err
	}
	s.prune(from, path.Dir(p))
	return nil
}
