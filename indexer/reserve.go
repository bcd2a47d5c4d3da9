package indexer

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/scrfs/scrfs/internal/disk"
	"github.com/scrfs/scrfs/scr"
)

// ReserveIDs takes the next scr.IDBlock dataset ids, which nobody else will
// get, and returns the first. They are above all that the index and the
// reservations of others name. The file system decides between two that ask at
// the same time; ids that are not used stay unused.
func (x *Indexer) ReserveIDs(ctx context.Context) (first scr.DatasetID, err error) {
	if err := disk.MkdirAll(x.prefix, scrDir, dirPerm); err != nil {
		return 0, fmt.Errorf("reserve dataset ids: %w", err)
	}
	highest, err := x.highestID()
	if err != nil {
		return 0, fmt.Errorf("reserve dataset ids: %w", err)
	}
	for first = nextBlock(highest); first <= scr.MaxDatasetID-scr.IDBlock; first += scr.IDBlock {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		taken, err := x.takeBlock(first)
		if err != nil {
			return 0, fmt.Errorf("reserve dataset ids from %d: %w", first, err)
		}
		if !taken {
			continue
		}
		if highest, err = x.highestID(); err != nil {
			return 0, fmt.Errorf("reserve dataset ids: %w", err)
		}
		if highest-first >= keepBlocks*scr.IDBlock {
			// We slept so long that others may have had this block and
			// removed the mark of it since.
			first = nextBlock(highest) - scr.IDBlock
			continue
		}
		x.dropOldBlocks(first)
		return first, nil
	}
	return 0, fmt.Errorf("reserve dataset ids above %d: %w", highest, scr.ErrNoSpace)
}

// takeBlock makes the mark of a block; false if somebody has it.
func (x *Indexer) takeBlock(first scr.DatasetID) (bool, error) {
	f, err := x.prefix.OpenFile(own.IDBlock(first), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return false, nil
	}
	if err == nil {
		err = f.Close()
	}
	if err == nil {
		err = x.prefix.SyncDir(scrDir)
	}
	return err == nil, err
}

// keepBlocks is how many marks below the newest stay.
const keepBlocks = 16

// nextBlock is the first id of the block after the one that has id. Blocks
// begin at 1, 101, 201 ..., so that all that ask try the same names.
func nextBlock(id scr.DatasetID) scr.DatasetID {
	return (id+scr.IDBlock-1)/scr.IDBlock*scr.IDBlock + 1
}

// highestID is the highest id that is taken, 0 if none is.
func (x *Indexer) highestID() (scr.DatasetID, error) {
	var highest scr.DatasetID
	list, err := x.prefix.ReadDir(scrDir)
	if err != nil {
		return 0, err
	}
	for _, e := range list {
		if first, ok := scr.ParseIDBlock(e.Name()); ok {
			highest = max(highest, first+scr.IDBlock-1)
		}
		if id, ok := scr.ParseDatasetName(e.Name()); ok {
			highest = max(highest, id)
		}
	}
	for _, p := range []scr.Paths{{Family: scr.F11}, {Family: scr.F14}, {Family: scr.F12}} {
		entries, err := entriesOf(x.prefix, p)
		if err != nil {
			return 0, err
		}
		for _, e := range entries {
			highest = max(highest, e.ID)
		}
	}
	return highest, nil
}

// entriesOf reads the index of one family.
func entriesOf(prefix disk.FS, p scr.Paths) ([]scr.IndexEntry, error) {
	index, err := scr.ReadIndex(prefix, p)
	if err != nil {
		return nil, err
	}
	return index.Entries()
}

// dropOldBlocks removes marks far below a new one: a prefix directory that
// served ten thousand runs shall not list ten thousand files, and the newest
// mark says all that the older did. An error only leaves a file that is in
// nobody's way.
func (x *Indexer) dropOldBlocks(first scr.DatasetID) {
	list, err := x.prefix.ReadDir(scrDir)
	if err != nil {
		return
	}
	for _, e := range list {
		if old, ok := scr.ParseIDBlock(e.Name()); ok && old+keepBlocks*scr.IDBlock < first {
			_ = x.prefix.Remove(own.IDBlock(old))
		}
	}
}
