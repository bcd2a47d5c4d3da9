package scavenger

import (
	"context"
	"fmt"
	"path"

	"github.com/scrfs/scrfs/indexer"
	"github.com/scrfs/scrfs/internal/disk"
	"github.com/scrfs/scrfs/scr"
)

// What runs that were cut short leave in a stage.

// sweep removes what is not wanted below a directory, but for what lies among
// SCR's files.
func sweep(stage disk.FS, dir string, wanted map[string]bool) error {
	list, err := stage.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range list {
		name := path.Join(dir, e.Name())
		switch {
		case e.Name() == own.Meta():
		case !wanted[name]:
			err = disk.RemoveAll(stage, name)
		case e.IsDir():
			err = sweep(stage, name, wanted)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// sweepOwn removes from SCR's directory of a dataset redundancy files that no
// filemap lists, and what a rebuild or a write left that was killed.
func sweepOwn(stage disk.FS, dir string, wanted map[string]bool) error {
	list, err := stage.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range list {
		name := path.Join(dir, e.Name())
		if wanted[name] || !isRedundancyName(e.Name()) && !e.IsDir() && !disk.IsTemp(name) {
			continue
		}
		if err := disk.RemoveAll(stage, name); err != nil {
			return err
		}
	}
	return nil
}

// strip takes redundancy files out of sets that do not have all of them: half
// of a set protects nothing, and who verifies the dataset would take it for
// damaged. It returns the scan of what is left.
func (r *run) strip(ctx context.Context, s *indexer.Scan, stage disk.FS) (*indexer.Scan, error) {
	changed := false
	for _, set := range s.Sets {
		if len(set.Files) == set.Members {
			continue
		}
		for _, f := range set.Files {
			if err := stripRank(stage, s, f); err != nil {
				return nil, fmt.Errorf("rank %d: %w", f.Rank, err)
			}
			changed = true
		}
	}
	if !changed {
		return s, nil
	}
	return r.scan(ctx, s.Dataset.ID, s.Dir)
}

// stripRank takes a redundancy file out of the filemap of its rank.
func stripRank(stage disk.FS, s *indexer.Scan, f indexer.SetFile) error {
	id, name := s.Dataset.ID, own.RankFilemap(s.Dir, f.Rank)
	m, err := scr.ReadFilemap(stage, name)
	if err != nil {
		return err
	}
	expected, err := m.ExpectedFiles(id, f.Rank)
	if err != nil {
		return err
	}
	m.RemoveFile(id, f.Rank, f.Name)
	m.SetExpectedFiles(id, f.Rank, expected-1)
	return scr.WriteFilemap(stage, name, m)
}
