package indexer

import (
	"context"
	"fmt"

	"github.com/scrfs/scrfs/internal/disk"
	"github.com/scrfs/scrfs/scr"
)

// MarkCached lists a dataset as being in the cache. dir is its dataset
// directory, relative to the prefix directory.
func (x *Indexer) MarkCached(ctx context.Context, id scr.DatasetID, dir string) error {
	return x.updateFlush(ctx, id, func(f *scr.FlushFile) {
		f.Put(id, scr.FlushEntry{Name: dir})
		f.SetLocation(id, scr.InCache)
	})
}

// MarkFlushed lists a dataset as being in the prefix directory.
func (x *Indexer) MarkFlushed(ctx context.Context, id scr.DatasetID) error {
	return x.updateFlush(ctx, id, func(f *scr.FlushFile) {
		f.SetLocation(id, scr.InPrefix)
		f.UnsetLocation(id, scr.Flushing)
	})
}

// Forget takes a dataset off the list; nothing if it is not there.
func (x *Indexer) Forget(ctx context.Context, id scr.DatasetID) error {
	return x.updateFlush(ctx, id, func(f *scr.FlushFile) { f.Remove(id) })
}

// updateFlush changes flush.scr under its lock; a crash leaves the old or the
// new one.
func (x *Indexer) updateFlush(ctx context.Context, id scr.DatasetID, change func(*scr.FlushFile)) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	err := disk.MkdirAll(x.prefix, own.Meta(), dirPerm)
	if err == nil {
		err = scr.UpdateFlush(x.prefix, own.Flush(), own.Family, func(f *scr.FlushFile) error {
			change(f)
			return nil
		})
	}
	if err != nil {
		return fmt.Errorf("flush file: dataset %d: %w", id, err)
	}
	return nil
}
