package cachestore

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"github.com/scrfs/scrfs/internal/disk"
	"github.com/scrfs/scrfs/scr"
)

// CreateRedundancy makes and opens the redundancy file of a rank, empty. Like
// any file it has its entry before it is there; it counts for its rank only
// after CommitRedundancy. One that was there is made anew.
func (s *Store) CreateRedundancy(id scr.DatasetID, rank scr.Rank, name string) (disk.File, error) {
	if err := checkRedundancy(id, name); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, errClosed
	}
	n := s.state.set(id)
	if r, ok := n.sealed[name]; ok {
		if r != rank {
			return nil, fmt.Errorf("cache of dataset %d: %s is of rank %d, not %d: %w", id, name, r, rank, fs.ErrExist)
		}
		if err := s.remove(id, name); err != nil {
			return nil, err
		}
	}
	return s.create(id, name, os.O_RDWR|os.O_CREATE|os.O_TRUNC)
}

// CommitRedundancy records the redundancy file of a sealed rank: FILES counts
// it from now on. The descriptor of the left neighbour, whose files this one
// can bring back, is kept beside. The file is made durable first; when it
// returns nil the filemap is, too. A repeated call changes nothing.
func (s *Store) CommitRedundancy(id scr.DatasetID, rank scr.Rank, name string, meta scr.FileMeta, left scr.Rank, leftDesc scr.RedundancyDescriptor) error {
	err := checkRedundancy(id, name)
	if err == nil && (meta.Type == scr.UserFile || meta.File != name) {
		err = fmt.Errorf("meta data of %q, type %s: %w", meta.File, meta.Type, scr.ErrInvalid)
	}
	if err == nil {
		err = s.syncRedundancy(id, name, meta.SizeBytes)
	}
	if err == nil {
		err = s.commit(id, rank, name, meta, left, leftDesc)
	}
	if err != nil {
		return fmt.Errorf("redundancy of dataset %d: rank %d: %s: %w", id, rank, name, err)
	}
	return nil
}

func (s *Store) commit(id scr.DatasetID, rank scr.Rank, name string, meta scr.FileMeta, left scr.Rank, leftDesc scr.RedundancyDescriptor) error {
	s.mu.Lock()
	err := errClosed
	if !s.closed {
		err = s.enterRedundancy(id, rank, name, meta, left, leftDesc)
	}
	version := s.state.version
	s.mu.Unlock()
	if err != nil {
		return err
	}
	return s.save(version)
}

// enterRedundancy moves a redundancy file into the filemap. Mu is held.
func (s *Store) enterRedundancy(id scr.DatasetID, rank scr.Rank, name string, meta scr.FileMeta, left scr.Rank, leftDesc scr.RedundancyDescriptor) error {
	st := s.state
	expected, err := st.filemap.ExpectedFiles(id, rank)
	if err != nil {
		return err // not sealed
	}
	n := st.set(id)
	if of, ok := n.sealed[name]; ok && of != rank {
		return fmt.Errorf("is of rank %d: %w", of, scr.ErrInvalid)
	} else if !ok {
		expected++
	}
	st.filemap.SetMeta(id, rank, st.key(id, name), meta)
	st.filemap.SetExpectedFiles(id, rank, expected)
	n.sealed[name] = rank
	delete(n.pending, name)
	if _, err := st.filemap.Dataset(id, left); errors.Is(err, scr.ErrNotFound) {
		st.filemap.SetDescriptor(id, left, leftDesc)
	}
	st.version++
	return nil
}

// syncRedundancy makes the file durable and checks its size.
func (s *Store) syncRedundancy(id scr.DatasetID, name string, bytes int64) (err error) {
	f, err := s.o.Cache.OpenFile(cacheName(id, name), os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if err := f.Sync(); err != nil {
		return err
	}
	st, err := f.Stat()
	if err == nil && st.Size() != bytes {
		err = fmt.Errorf("%d bytes, the meta data says %d: %w", st.Size(), bytes, scr.ErrIncomplete)
	}
	return err
}

func checkRedundancy(id scr.DatasetID, name string) error {
	if err := checkPath(id, name); err != nil {
		return err
	}
	if !isRedundancy(name) {
		return fmt.Errorf("cache of dataset %d: %q is no name of a redundancy file: %w", id, name, scr.ErrInvalid)
	}
	return nil
}

// Redundancy lists the redundancy files of a dataset that are committed here,
// sorted.
func (s *Store) Redundancy(id scr.DatasetID) ([]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, errClosed
	}
	var list []string
	if n := s.state.sets[id]; n != nil {
		for p := range n.sealed {
			if isRedundancy(p) {
				list = append(list, p)
			}
		}
	}
	slices.Sort(list)
	return list, nil
}

// removeRedundancy removes all redundancy files of a dataset, whole or begun.
// Mu is held.
func (s *Store) removeRedundancy(id scr.DatasetID) error {
	n := s.state.sets[id]
	if n == nil {
		return nil
	}
	var list []string
	for p := range n.sealed {
		if isRedundancy(p) {
			list = append(list, p)
		}
	}
	for p := range n.pending {
		if isRedundancy(p) {
			list = append(list, p)
		}
	}
	slices.Sort(list)
	for _, p := range list {
		if err := s.remove(id, p); err != nil {
			return err
		}
	}
	return nil
}

// SetCRC records the checksum of a sealed file. It is durable with the next
// change of the filemap. A file that was not sealed, or touched since, gives
// scr.ErrNotFound: the checksum is of something else.
func (s *Store) SetCRC(id scr.DatasetID, file string, crc scr.CRC) error {
	if err := checkPath(id, file); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return errClosed
	}
	n := s.state.sets[id]
	if n == nil || n.touched[file] {
		return fmt.Errorf("checksum of %s, dataset %d: sealed file: %w", file, id, scr.ErrNotFound)
	}
	r, ok := n.sealed[file]
	if !ok {
		return fmt.Errorf("checksum of %s, dataset %d: sealed file: %w", file, id, scr.ErrNotFound)
	}
	meta, err := s.state.filemap.Meta(id, r, s.state.key(id, file))
	if err != nil {
		return err
	}
	if meta.HasCRC && meta.CRC == crc {
		return nil
	}
	return s.log(entry{kind: kindCRC, dataset: id, path: file, number: int64(crc)})
}
