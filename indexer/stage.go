package indexer

import (
	"fmt"
	"path"

	"github.com/scrfs/scrfs/internal/disk"
	"github.com/scrfs/scrfs/scr"
)

// StageDir is the stage of a dataset, relative to the prefix directory.
func (x *Indexer) StageDir(id scr.DatasetID) string { return own.Stage(id, "") }

// OpenStage returns the stage of a dataset, made if it is not there. What an
// earlier try left in it stays, so that the copy can go on.
func (x *Indexer) OpenStage(id scr.DatasetID) (disk.FS, error) {
	dir := x.StageDir(id)
	if err := disk.MkdirAll(x.prefix, dir, dirPerm); err != nil {
		return nil, fmt.Errorf("stage of dataset %d: %w", id, err)
	}
	stage, err := x.prefix.Sub(dir)
	if err != nil {
		return nil, fmt.Errorf("stage of dataset %d: %w", id, err)
	}
	return stage, nil
}

// DropStage removes the stage of a dataset that is not to be published. It is
// renamed first, so that a crash does not leave one that looks whole.
func (x *Indexer) DropStage(id scr.DatasetID) error {
	dir := x.StageDir(id)
	there, err := disk.Exists(x.prefix, dir)
	if err != nil || !there {
		return err
	}
	away := path.Join(scrDir, fmt.Sprintf("dropped.%d", id))
	if err := disk.RemoveAll(x.prefix, away); err != nil {
		return fmt.Errorf("drop stage of dataset %d: %w", id, err)
	}
	if err := x.prefix.Rename(dir, away); err != nil {
		return fmt.Errorf("drop stage of dataset %d: %w", id, err)
	}
	if err := disk.RemoveAll(x.prefix, away); err != nil {
		return fmt.Errorf("drop stage of dataset %d: %w", id, err)
	}
	return nil
}
