package indexer

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/scrfs/scrfs/internal/disk"
	"github.com/scrfs/scrfs/scr"
)

func TestReservedIDsAreNeverGivenTwice(t *testing.T) {
	mem := disk.NewMem()
	if err := scr.UpdateIndex(mem, scr.Paths{Family: scr.F12}, func(x *scr.Index) error {
		return x.Put(scr.IndexEntry{ID: 250, Name: "ckpt.250"})
	}); err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	got := map[scr.DatasetID]bool{}
	var running sync.WaitGroup
	for range 4 {
		running.Go(func() {
			for range 20 {
				first, err := newTest(mem).ReserveIDs(context.Background())
				mu.Lock()
				if err != nil || got[first] || first <= 250 || first%scr.IDBlock != 1 {
					t.Errorf("block %d, %v", first, err)
				}
				got[first] = true
				mu.Unlock()
			}
		})
	}
	running.Wait()
	if len(got) != 80 {
		t.Errorf("%d blocks", len(got))
	}
}

func TestFlushFileFollowsTheDataset(t *testing.T) {
	mem := disk.NewMem()
	x := newTest(mem)
	ctx := context.Background()
	if err := x.MarkCached(ctx, 18, "ckpt.18"); err != nil {
		t.Fatal(err)
	}
	flush := func() *scr.FlushFile {
		f, err := scr.ReadFlush(mem, own.Flush(), scr.F14)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	if f := flush(); !f.NeedsFlush(18) {
		t.Error("dataset 18 needs no flush")
	}
	if err := x.MarkFlushed(ctx, 18); err != nil {
		t.Fatal(err)
	}
	if f := flush(); f.NeedsFlush(18) || !f.At(18, scr.InCache) || !f.At(18, scr.InPrefix) {
		t.Error("dataset 18 is not flushed")
	}
	if err := errors.Join(x.Forget(ctx, 18), x.Forget(ctx, 18)); err != nil {
		t.Fatal(err)
	}
	if f := flush(); f.Has(18) {
		t.Error("dataset 18 is still listed")
	}
}
