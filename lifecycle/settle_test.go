package lifecycle

import (
	"testing"
	"time"

	"github.com/scrfs/scrfs/scr"
)

// protected brings a dataset from the seal to where it is protected.
func (w *world) protected(id scr.DatasetID) {
	w.ended(Sealed, id, nil)
	w.ended(Protected, id, nil)
}

func TestFlushIsOldestFirstOneAtATime(t *testing.T) {
	w := newWorld(t, nil)
	w.upTo(1, PhaseFlushing)
	w.upTo(2, PhaseCached)
	w.upTo(3, PhaseCached)
	w.take()
	w.ended(Flushed, 1, nil)
	w.want("publish 1")
	w.ended(Published, 1, nil)
	w.want("flush 2, evict 1")
	w.ended(Flushed, 2, nil)
	w.ended(Published, 2, nil)
	w.want("publish 2, flush 3, evict 2")
}

func TestNewerDatasetWaitsForAnOlderOneOnItsWay(t *testing.T) {
	w := newWorld(t, nil)
	first := w.upTo(1, PhaseSealing)
	second := w.upTo(2, PhaseSealing)
	w.take()
	w.protected(second)
	w.want("protect 2")
	w.phase(second, PhaseCached)
	w.protected(first)
	w.want("protect 1, flush 1")
	// Written again while it is copied: the other still waits.
	w.write("n0", first)
	w.want("")
	w.phase(second, PhaseCached)
	w.done("n0", first)
	w.pass(w.m.cfg.Quiet)
	w.want("seal 1")
	w.protected(first)
	w.want("protect 1, flush 1")
}

func TestFileThatStaysOpenHoldsUpNobody(t *testing.T) {
	w := newWorld(t, nil)
	w.upTo(1, PhasePublished)
	w.upTo(2, PhasePublished)
	stream := w.dir("n0", 3)
	w.write("n0", stream)
	next := w.upTo(4, PhaseCached)
	w.take()
	w.pass(suspectFactor*w.m.cfg.Quiet - time.Minute/10)
	w.pass(time.Minute)
	w.want("flush 4")
	w.phase(next, PhaseFlushing)
}

func TestOnlyEveryNthCheckpointIsFlushed(t *testing.T) {
	w := newWorld(t, func(c *Config) { c.FlushEvery = 3 })
	for n := 1; n <= 6; n++ {
		want := PhaseCached
		if n%3 == 0 {
			want = PhaseFlushing
		}
		id := w.upTo(n, want)
		if n%3 == 0 {
			w.ended(Flushed, id, nil)
			w.ended(Published, id, nil)
		}
	}
}

func TestWantFlushesWhateverTheInterval(t *testing.T) {
	w := newWorld(t, func(c *Config) { c.FlushEvery = 0 })
	w.upTo(1, PhaseCached)
	w.take()
	w.step(Event{Kind: Want, Dataset: 9})
	w.want("")
	w.step(Event{Kind: Want})
	w.want("flush 1")
	id := w.written(2)
	w.step(Event{Kind: Want, Dataset: id})
	w.want("seal 2") // it is to go now, not after the quiet time
}

func TestOutputIsFlushedAndLeavesAtOnce(t *testing.T) {
	w := newWorld(t, func(c *Config) { c.FlushEvery = 0 })
	id := w.step(Event{Kind: Make, Writes: true, Output: true, Node: "n0", Path: "traj.dcd"})
	ckpt := w.write("n0", 0)
	if ckpt == id {
		t.Fatal("a checkpoint joins output")
	}
	w.done("n0", id)
	w.done("n0", ckpt)
	w.pass(w.m.cfg.Quiet)
	w.want("seal 1, seal 2")
	w.protected(id)
	w.protected(ckpt)
	w.want("protect 1, flush 1, protect 2")
	w.ended(Flushed, id, nil)
	w.ended(Published, id, nil)
	w.want("publish 1, evict 1")
	if d := w.phase(ckpt, PhaseCached); d.Checkpoint != 1 {
		t.Errorf("checkpoint %d, want 1: output does not count", d.Checkpoint)
	}
}

func TestCacheIsKeptToItsSize(t *testing.T) {
	w := newWorld(t, func(c *Config) { c.FlushEvery, c.CacheSize = 0, 2 })
	w.upTo(1, PhaseCached)
	w.upTo(2, PhaseCached)
	w.take()
	third := w.upTo(3, PhaseProtecting)
	w.take()
	w.phase(1, PhaseCached) // until the third is safe
	w.ended(Protected, third, nil)
	w.want("evict 1")
	w.upTo(4, PhaseCached)
	// The one that leaves does not count.
	if got := w.take(); got != "seal 4, protect 4, evict 2" {
		t.Errorf("actions %q", got)
	}
	w.ended(Evicted, 1, func(e *Event) { e.Err = "a node does not answer" })
	w.pass(2 * time.Second)
	w.want("evict 1")
	w.ended(Evicted, 1, nil)
	w.phase(1, PhaseEvicting) // in the history
	if len(w.m.Pending()) != 1 {
		t.Errorf("pending %v, want the eviction of 2", w.m.Pending())
	}
}

func TestUnflushedDatasetStaysWhileNoNewerOneIsSafe(t *testing.T) {
	w := newWorld(t, func(c *Config) { c.FlushEvery = 0 })
	w.upTo(1, PhaseCached)
	second := w.upTo(2, PhaseProtecting)
	w.take()
	w.ended(Protected, second, func(e *Event) { e.Err, e.Final = "too few nodes", true })
	w.want("flush 2") // not safe: 1 stays
	w.phase(1, PhaseCached)
	w.ended(Flushed, second, nil)
	w.want("publish 2")
	w.ended(Published, second, nil)
	w.want("evict 1")
	w.phase(second, PhasePublished) // the newest stays, for restarts
}

// TestFullPrefixDirectoryKeepsEverythingCached: what is to be flushed stays, in
// order, whatever the size of the cache.
func TestFullPrefixDirectoryKeepsEverythingCached(t *testing.T) {
	w := newWorld(t, nil)
	w.upTo(1, PhaseFlushing)
	w.ended(Flushed, 1, func(e *Event) { e.Err = "no space left on device" })
	for n := 2; n <= 8; n++ {
		w.upTo(n, PhaseCached)
		if w.at(1) == PhaseFlushing {
			w.ended(Flushed, 1, func(e *Event) { e.Err = "no space left on device" })
		}
	}
	for id := scr.DatasetID(1); id <= 8; id++ {
		d, _ := w.m.Dataset(id)
		if !d.Complete() || !d.Protected {
			t.Errorf("dataset %d is %s", id, d.Status())
		}
	}
	// There is room again: all of them go, oldest first.
	w.pass(time.Minute)
	for id := scr.DatasetID(1); id <= 8; id++ {
		w.ended(Flushed, id, nil)
		w.ended(Published, id, nil)
	}
	w.phase(8, PhasePublished)
}

func TestHistoryIsBounded(t *testing.T) {
	w := newWorld(t, nil)
	for n := 1; n <= keepDone+10; n++ {
		w.upTo(n, PhasePublished)
		if n > 1 {
			w.ended(Evicted, scr.DatasetID(n-1), nil)
		}
	}
	if got := len(w.m.Datasets()); got != keepDone+1 {
		t.Errorf("%d datasets are known, want %d", got, keepDone+1)
	}
	if w.m.Newest() != keepDone+10 {
		t.Errorf("newest %d", w.m.Newest())
	}
}
