package indexer

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"slices"
	"strings"

	"github.com/scrfs/scrfs/internal/disk"
	"github.com/scrfs/scrfs/scr"
)

// RollForward ends every publication that was cut short, oldest first, and
// returns their ids. It costs one listing of a directory if there is none.
// Every command and every mount calls it before anything else.
func (x *Indexer) RollForward(ctx context.Context) (done []scr.DatasetID, err error) {
	ids, err := x.unfinished()
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	lock, err := x.lock(own)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	return x.rollForward(ctx)
}

// rollForward is RollForward under the lock.
func (x *Indexer) rollForward(ctx context.Context) ([]scr.DatasetID, error) {
	ids, err := x.unfinished()
	if err != nil {
		return nil, err
	}
	var done []scr.DatasetID
	for _, id := range ids {
		if err := x.rollOne(ctx, id); err != nil {
			return done, fmt.Errorf("roll publication of dataset %d forward: %w", id, err)
		}
		x.log.Info("publication finished that was cut short", slog.Int("dataset", int(id)))
		done = append(done, id)
	}
	return done, nil
}

func (x *Indexer) rollOne(ctx context.Context, id scr.DatasetID) error {
	for _, dir := range []string{retiredDir(id), own.Publish(id)} {
		pub, err := readPublication(x.prefix, dir)
		if errors.Is(err, fs.ErrNotExist) {
			there, eerr := disk.Exists(x.prefix, dir)
			if eerr != nil {
				return eerr
			}
			if there && dir == own.Publish(id) {
				return fmt.Errorf("%s has no journal: %w", dir, scr.ErrCorrupt)
			}
			if there { // the journal goes last but for the directory
				if err := errors.Join(disk.RemoveAll(x.prefix, dir), x.prefix.SyncDir(scrDir)); err != nil {
					return err
				}
			}
			continue
		}
		if err != nil {
			return err
		}
		if dir == own.Publish(id) {
			err = x.finish(ctx, pub)
		} else {
			err = x.cleanUp(pub)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// unfinished lists the datasets whose publication has begun and not ended,
// ascending.
func (x *Indexer) unfinished() ([]scr.DatasetID, error) {
	list, err := x.prefix.ReadDir(scrDir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var ids []scr.DatasetID
	for _, e := range list {
		for _, before := range []string{"publish.", "published."} {
			if digits, ok := strings.CutPrefix(e.Name(), before); ok {
				if id, err := scr.ParseDatasetID(digits); err == nil && !slices.Contains(ids, id) {
					ids = append(ids, id)
				}
			}
		}
	}
	slices.Sort(ids)
	return ids, nil
}
