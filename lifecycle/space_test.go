package lifecycle

import "testing"

func keepAll(c *Config) { c.CacheSize, c.FlushEvery = 9, 0 }

func TestAShortCacheLetsThePublishedGoFirst(t *testing.T) {
	w := newWorld(t, func(c *Config) { c.CacheSize = 9 })
	w.upTo(1, PhasePublished)
	w.upTo(2, PhasePublished)
	w.upTo(3, PhaseFlushing)
	w.take()
	w.step(Event{Kind: Short})
	w.want("evict 2, evict 1")
	if w.phase(3, PhaseFlushing).Leave {
		t.Error("one that is not published has to go as well")
	}
}

func TestAShortCacheSendsTheOldestAway(t *testing.T) {
	w := newWorld(t, keepAll)
	w.upTo(1, PhaseCached)
	w.upTo(2, PhaseCached)
	w.take()
	w.step(Event{Kind: Short})
	w.want("flush 1")
	w.step(Event{Kind: Short})
	w.want("")
	w.ended(Flushed, 1, nil)
	w.ended(Published, 1, nil)
	w.want("publish 1, evict 1")
	w.phase(2, PhaseCached)
}

func TestAShortCacheSendsAwayWhatIsBeingProtected(t *testing.T) {
	w := newWorld(t, keepAll)
	id := w.upTo(1, PhaseProtecting)
	w.take()
	w.step(Event{Kind: Short})
	w.want("")
	w.ended(Protected, id, nil)
	w.want("flush 1")
}

func TestAShortCacheWithNothingCompleteLosesNothing(t *testing.T) {
	w := newWorld(t, keepAll)
	id := w.dir("n0", 1)
	w.write("n0", id)
	w.step(Event{Kind: Short})
	w.want("")
	w.phase(id, PhaseOpen)
}

func TestASpilledDatasetIsFlushedAtOnceAndGoes(t *testing.T) {
	w := newWorld(t, keepAll)
	id := w.upTo(1, PhaseSealing)
	w.take()
	w.ended(Sealed, id, func(e *Event) { e.Spilled, e.SpilledBytes = 1, 60 })
	w.want("protect 1")
	w.ended(Protected, id, nil)
	w.want("flush 1")
	d := w.phase(id, PhaseFlushing)
	if d.Spilled != 1 || d.SpilledBytes != 60 {
		t.Errorf("got %d files, %d bytes", d.Spilled, d.SpilledBytes)
	}
	w.ended(Flushed, id, nil)
	w.ended(Published, id, nil)
	w.want("publish 1, evict 1")
}
