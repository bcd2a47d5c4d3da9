package cachestore

import (
	"fmt"
	"maps"
	"slices"

	"github.com/scrfs/scrfs/scr"
)

// SealRecord is what a node knows of a dataset at its boundary.
type SealRecord struct {
	Dataset scr.Dataset
	Ranks   int // of the job
	// Files are the user files of each rank of this node; a rank may have none.
	// File is the path relative to the prefix directory, Path and Name the
	// absolute directory there and the base name. Sizes must be those on disk.
	Files map[scr.Rank][]scr.FileMeta
	// Tree is the same for all ranks of the job.
	Tree scr.DirTree
	// Layout says where the dataset goes below the prefix directory. AddRanks
	// takes it from the ranks that are there if Dir is "".
	Layout scr.Layout
	// Redundancy has a descriptor for each rank in Files.
	Redundancy map[scr.Rank]scr.RedundancyDescriptor
}

// Seal records the files of a dataset at its boundary and gives them ranks. A
// dataset that was sealed before is replaced: its redundancy files go first.
// Files of the dataset that the record does not name stay pending.
//
// When it returns nil the filemap is durable. After a crash, and after an
// error, the dataset is as it was, less the old redundancy files, or sealed;
// Seal may be called again.
func (s *Store) Seal(rec SealRecord) error {
	if err := s.checkRecord(rec); err != nil {
		return fmt.Errorf("seal dataset %d: %w", rec.Dataset.ID, err)
	}
	if err := s.seal(rec); err != nil {
		return fmt.Errorf("seal dataset %d: %w", rec.Dataset.ID, err)
	}
	return nil
}

func (s *Store) seal(rec SealRecord) error {
	id := rec.Dataset.ID
	s.mu.Lock()
	err := errClosed
	if !s.closed {
		err = s.removeRedundancy(id)
	}
	if err == nil {
		err = s.replaceRanks(rec, s.state.filemap.RanksOf(id))
	}
	version := s.state.version
	s.mu.Unlock()
	if err != nil {
		return err
	}
	return s.save(version)
}

// AddRanks adds ranks to a dataset, or replaces them there: those rebuilt on
// this node. Other ranks and redundancy files stay. Crashes and errors as in
// Seal.
func (s *Store) AddRanks(rec SealRecord) error {
	if err := s.checkRecord(rec); err != nil {
		return fmt.Errorf("add ranks to dataset %d: %w", rec.Dataset.ID, err)
	}
	s.mu.Lock()
	err := errClosed
	if !s.closed {
		err = s.replaceRanks(rec, slices.Sorted(maps.Keys(rec.Files)))
	}
	version := s.state.version
	s.mu.Unlock()
	if err == nil {
		err = s.save(version)
	}
	if err != nil {
		return fmt.Errorf("add ranks to dataset %d: %w", rec.Dataset.ID, err)
	}
	return nil
}

// checkRecord compares a record with what is in the cache.
func (s *Store) checkRecord(rec SealRecord) error {
	owner := map[string]scr.Rank{}
	for r, files := range rec.Files {
		if _, ok := rec.Redundancy[r]; !ok {
			return fmt.Errorf("rank %d: no redundancy descriptor: %w", r, scr.ErrInvalid)
		}
		for _, f := range files {
			if err := s.checkFile(rec.Dataset.ID, f); err != nil {
				return fmt.Errorf("rank %d: %w", r, err)
			}
			if other, taken := owner[f.File]; taken {
				return fmt.Errorf("rank %d: file %s is of rank %d as well: %w", r, f.File, other, scr.ErrInvalid)
			}
			owner[f.File] = r
		}
	}
	return nil
}

func (s *Store) checkFile(id scr.DatasetID, f scr.FileMeta) error {
	if err := checkUser(id, f.File); err != nil {
		return err
	}
	if f.Type != scr.UserFile {
		return fmt.Errorf("file %s is of type %s: %w", f.File, f.Type, scr.ErrInvalid)
	}
	if below, err := scr.Below(s.o.Prefix, f.Path, f.Name); err != nil || below != f.File {
		return fmt.Errorf("file %s goes to %s/%s, not below %s: %w", f.File, f.Path, f.Name, s.o.Prefix, scr.ErrInvalid)
	}
	size, err := s.sizeOf(id, f.File)
	if err != nil {
		return fmt.Errorf("file %s: %w: %w", f.File, scr.ErrIncomplete, err)
	}
	if size != f.SizeBytes {
		return fmt.Errorf("file %s has %d bytes, the record says %d: %w", f.File, size, f.SizeBytes, scr.ErrIncomplete)
	}
	return nil
}

// replaceRanks takes ranks out of the filemap and enters those of the record.
// Mu is held. Nothing of the record counts after an error.
func (s *Store) replaceRanks(rec SealRecord, old []scr.Rank) error {
	id, st := rec.Dataset.ID, s.state
	if err := s.makeDirs(scr.DatasetName(id)); err != nil { // for ranks without files
		return err
	}
	dir := rec.Layout.Dir
	if dir == "" {
		dir = s.datasetDir(rec)
	}
	named := map[string]bool{}
	for _, files := range rec.Files {
		for _, f := range files {
			named[f.File] = true
		}
	}
	// What leaves the filemap and stays in the cache needs its line first.
	n := st.set(id)
	for p, r := range n.sealed {
		if slices.Contains(old, r) && !named[p] {
			if err := s.log(entry{kind: kindEnter, dataset: id, path: p}); err != nil {
				return err
			}
		}
	}
	for _, r := range old {
		st.dropRank(id, r)
	}
	for r, files := range rec.Files {
		for _, f := range files {
			if of, ok := n.sealed[f.File]; ok { // it has another rank now
				st.filemap.RemoveFile(id, of, st.key(id, f.File))
				delete(n.sealed, f.File)
			}
		}
		s.enterRank(rec, r, dir)
	}
	return nil
}

func (s *Store) enterRank(rec SealRecord, r scr.Rank, dir string) {
	id, m := rec.Dataset.ID, s.state.filemap
	for _, f := range rec.Files[r] {
		m.SetMeta(id, r, s.state.key(id, f.File), f)
	}
	m.SetExpectedFiles(id, r, len(rec.Files[r]))
	m.SetDescriptor(id, r, rec.Redundancy[r])
	m.SetDataset(id, r, rec.Dataset)
	m.SetDirTree(id, r, rec.Tree)
	m.SetFlush(id, r, scr.FlushDescriptor{Preserve: true})
	err := m.SetTag(id, r, dirTag, dir)
	if err == nil {
		err = s.state.index(id, r)
	}
	if err != nil {
		panic(fmt.Sprintf("BUG: rank %d of dataset %d, just checked: %v", r, id, err))
	}
	s.state.version++
}

// datasetDir is the dataset directory of a record that does not say it.
func (s *Store) datasetDir(rec SealRecord) string {
	id := rec.Dataset.ID
	for _, r := range s.state.filemap.RanksOf(id) {
		if dir, ok := s.state.filemap.Tag(id, r, dirTag); ok {
			return dir
		}
	}
	var files []string
	for _, list := range rec.Files {
		for _, f := range list {
			files = append(files, f.File)
		}
	}
	return scr.LayoutOf(id, rec.Tree, files).Dir
}

// Unseal takes a dataset's ranks and descriptors out of the filemap and removes
// its redundancy files: it is being written again. Its user files stay, pending.
func (s *Store) Unseal(id scr.DatasetID) error {
	s.mu.Lock()
	err := errClosed
	if !s.closed {
		err = s.unseal(id)
	}
	version := s.state.version
	s.mu.Unlock()
	if err == nil {
		err = s.save(version)
	}
	if err != nil {
		return fmt.Errorf("unseal dataset %d: %w", id, err)
	}
	return nil
}

func (s *Store) unseal(id scr.DatasetID) error {
	if err := s.removeRedundancy(id); err != nil {
		return err
	}
	n := s.state.set(id)
	for _, p := range slices.Sorted(maps.Keys(n.sealed)) {
		if err := s.log(entry{kind: kindEnter, dataset: id, path: p}); err != nil {
			return err
		}
	}
	for _, r := range s.state.filemap.RanksOf(id) {
		s.state.dropRank(id, r)
	}
	return nil
}
