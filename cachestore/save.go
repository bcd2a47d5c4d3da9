package cachestore

import (
	"errors"
	"fmt"

	"github.com/scrfs/scrfs/internal/disk"
	"github.com/scrfs/scrfs/scr"
)

// save writes the filemap unless a version at least as new is on the disk.
// Callers that wait for each other are served by one write.
func (s *Store) save(version uint64) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return errClosed
	}
	if s.saved >= version {
		s.mu.Unlock()
		return nil
	}
	version = s.state.version
	err := s.log(entry{kind: kindMark, number: s.state.mark + 1})
	s.state.filemap.Tree().PutInt(markKey, s.state.mark)
	m := s.state.copyFilemap()
	lines, herr := s.journal.handle()
	s.mu.Unlock()
	if err := errors.Join(err, herr); err != nil {
		return err
	}
	// The mark must not be lost when the filemap is not: lines before it would
	// seem to come after. Only we rewrite the journal, so the file stays open.
	if err := lines.Sync(); err != nil {
		return fmt.Errorf("sync journal: %w", err)
	}
	if err := scr.WriteFilemap(s.o.Control, filemapName, m); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.saved = version
	return s.trim()
}

// trimLines is how many lines that say nothing any more a journal may have, so
// that a store with few files does not rewrite it each time.
const trimLines = 256

// trim drops the lines that the filemap has taken in, when they are many and
// the filemap on the disk is as new as the state. Both locks are held.
func (s *Store) trim() error {
	if s.saved != s.state.version {
		return nil // the write that another caller waits for will do it
	}
	live := 0
	for _, n := range s.state.sets {
		live += len(n.pending)
	}
	if s.journal.lines-live <= max(trimLines, live) {
		return nil
	}
	return s.journal.rewrite(s.state.lines())
}

// RemoveDataset removes a dataset from the cache, files first, entries after;
// nil if there is none. No file of it may be made meanwhile. Who has its files
// open keeps them. After a crash part of it may be left, still with its entries
// and then incomplete.
func (s *Store) RemoveDataset(id scr.DatasetID) error {
	if err := s.removeDataset(id); err != nil {
		return fmt.Errorf("remove dataset %d from the cache: %w", id, err)
	}
	return nil
}

func (s *Store) removeDataset(id scr.DatasetID) error {
	s.mu.Lock()
	closed := s.closed
	s.mu.Unlock()
	if closed {
		return errClosed
	}
	if err := disk.RemoveAll(s.o.Cache, scr.DatasetName(id)); err != nil {
		return err
	}
	s.mu.Lock()
	err := errClosed
	if !s.closed {
		err = nil
		if s.state.sets[id] != nil {
			err = s.log(entry{kind: kindForget, dataset: id})
		}
	}
	version := s.state.version
	s.mu.Unlock()
	if err != nil {
		return err
	}
	return s.save(version)
}
