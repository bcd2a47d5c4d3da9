package scavenger

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"

	"github.com/scrfs/scrfs/indexer"
	"github.com/scrfs/scrfs/internal/disk"
	"github.com/scrfs/scrfs/scr"
)

// own names the files of what scrfs writes.
var own = scr.Paths{Family: scr.F14}

// input gathers what the plan is made from.
func (r *run) input(ctx context.Context, caches []NodeCache) (Input, error) {
	in := Input{
		Caches: caches, Down: r.down, Staged: map[scr.DatasetID]StagedPart{},
		Only: r.Only, TimeLeft: r.TimeLeft, Rate: r.Rate,
	}
	var err error
	if in.Published, err = published(r.Prefix); err != nil {
		return in, err
	}
	for id, parts := range gather(caches) {
		if slices.Contains(in.Published, id) {
			continue
		}
		if in.Staged[id], err = r.staged(ctx, id, parts[0].Dir); err != nil {
			return in, err
		}
	}
	return in, nil
}

// published lists the datasets that the index has as complete, and those that
// the flush file has in the prefix directory: who took one out of the index
// does not want it back.
func published(prefix disk.FS) ([]scr.DatasetID, error) {
	ids := map[scr.DatasetID]bool{}
	index, err := scr.ReadIndex(prefix, own)
	if err != nil {
		return nil, err
	}
	entries, err := index.Entries()
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if e.Complete == scr.LimitOf(1) {
			ids[e.ID] = true
		}
	}
	flush, err := scr.ReadFlush(prefix, own.Flush(), own.Family)
	if err != nil {
		return nil, err
	}
	for _, id := range flush.Datasets() {
		if flush.At(id, scr.InPrefix) {
			ids[id] = true
		}
	}
	return slices.Sorted(maps.Keys(ids)), nil
}

// staged looks into the stage of a dataset, which may not be there.
func (r *run) staged(ctx context.Context, id scr.DatasetID, dir string) (StagedPart, error) {
	if dir == "" {
		return StagedPart{}, nil
	}
	s, err := r.scan(ctx, id, dir)
	if errors.Is(err, fs.ErrNotExist) {
		return StagedPart{}, nil
	}
	if err != nil {
		return StagedPart{}, fmt.Errorf("stage of dataset %d: %w", id, err)
	}
	part := StagedPart{Dataset: s.Dataset, Damaged: len(s.Invalid) > 0}
	for _, rank := range slices.Sorted(maps.Keys(s.Entries)) {
		if e := s.Entries[rank]; len(e.Files) == e.Expected {
			part.Ranks = append(part.Ranks, rank)
		}
	}
	return part, nil
}

// scan reads a stage, by the sizes of its files alone: who has copied them has
// compared the checksums. An absent stage is fs.ErrNotExist.
func (r *run) scan(ctx context.Context, id scr.DatasetID, dir string) (*indexer.Scan, error) {
	x, err := r.stage(id)
	if err != nil {
		return nil, err
	}
	return x.Scan(ctx, own.Family, dir)
}

// stage is an indexer for which the stage is the prefix directory.
func (r *run) stage(id scr.DatasetID) (*indexer.Indexer, error) {
	name := r.x.StageDir(id)
	stage, err := r.Prefix.Sub(name)
	if err != nil {
		return nil, err
	}
	return indexer.New(stage, path.Join(r.PrefixDir, name), indexer.Options{NoCRC: true}), nil
}
