package lifecycle

import (
	"testing"
	"time"

	"github.com/scrfs/scrfs/scr"
)

func (w *world) lose(node string, kept ...scr.DatasetID) {
	w.step(Event{Kind: NodeDown, Node: node, Kept: kept})
}

func TestNodeLostInEachPhase(t *testing.T) {
	for _, c := range []struct {
		phase Phase
		acts  string
		then  Phase
	}{
		{PhaseOpen, "drop 1", PhaseLost},
		{PhaseSealing, "drop 1", PhaseLost},
		{PhaseProtecting, "drop 1", PhaseLost},
		{PhaseCached, "rebuild 1 n1", PhaseCached},
		{PhaseFlushing, "rebuild 1 n1", PhaseCached},
		{PhasePublishing, "", PhasePublishing},
		{PhasePublished, "evict 1", PhaseEvicting},
	} {
		t.Run(string(c.phase), func(t *testing.T) {
			w := newWorld(t, func(cfg *Config) {
				if c.phase == PhaseCached {
					cfg.FlushEvery = 0
				}
			})
			id := w.upTo(1, c.phase)
			w.take()
			w.lose("n7") // has nothing of it
			w.want("")
			w.lose("n1")
			w.want(c.acts)
			d := w.phase(id, c.then)
			w.lose("n1") // told again, as when it joins anew
			w.want("")
			if again := w.phase(id, c.then); again.Gen != d.Gen {
				t.Errorf("generation %d after %d", again.Gen, d.Gen)
			}
		})
	}
}

func TestNodeThatKeptItsDatasetLosesNothing(t *testing.T) {
	w := newWorld(t, nil)
	id := w.upTo(1, PhaseFlushing)
	w.take()
	w.lose("n1", id)
	w.want("")
	w.phase(id, PhaseFlushing)
}

func TestWhatANodeWroteIsNotKept(t *testing.T) {
	w := newWorld(t, nil)
	id := w.dir("n0", 1)
	w.write("n1", id)
	w.lose("n1", id)
	w.want("drop 1")
}

func TestLostDatasetIsRebuiltAndFlushed(t *testing.T) {
	w := newWorld(t, func(c *Config) { c.FlushEvery = 0 })
	id := w.upTo(1, PhaseCached)
	w.take()
	w.lose("n1")
	w.want("rebuild 1 n1")
	if d := w.phase(id, PhaseCached); d.Status() != "REBUILDING" || d.Complete() || d.Safe() {
		t.Errorf("status %s, complete %v, safe %v", d.Status(), d.Complete(), d.Safe())
	}
	w.ended(Rebuilt, id, func(e *Event) { e.Node, e.Err = "n1", "try again" })
	w.want("")
	w.pass(2 * time.Second)
	w.want("rebuild 1 n1")
	w.ended(Rebuilt, id, func(e *Event) { e.Node, e.Nodes = "n1", []string{"n0"} })
	w.want("flush 1") // the set may lie on one node now
	d := w.phase(id, PhaseFlushing)
	if _, has := d.Nodes["n1"]; has || d.Protected {
		t.Errorf("nodes %v, protected %v", d.Nodes, d.Protected)
	}
	w.ended(Flushed, id, nil)
	w.ended(Published, id, nil)
	w.phase(id, PhasePublished)
}

func TestFlushUnderWayWhenANodeIsLostIsVoid(t *testing.T) {
	w := newWorld(t, nil)
	id := w.upTo(1, PhaseFlushing)
	w.lose("n1")
	w.take()
	w.step(Event{Kind: Flushed, Dataset: id, Gen: 0})
	w.want("")
	w.phase(id, PhaseCached)
}

func TestSecondNodeLostBeforeTheRebuild(t *testing.T) {
	w := newWorld(t, nil)
	id := w.upTo(1, PhaseFlushing)
	w.lose("n0")
	w.take()
	w.lose("n1")
	w.want("drop 1")
	w.step(Event{Kind: Rebuilt, Dataset: id, Node: "n0", Gen: 1})
	w.phase(id, PhaseLost) // the rebuild that ends after it brings nothing back
}

func TestRebuildThatCannotSucceed(t *testing.T) {
	w := newWorld(t, nil)
	id := w.upTo(1, PhaseFlushing)
	w.lose("n0")
	w.take()
	w.ended(Rebuilt, id, func(e *Event) { e.Node, e.Err, e.Final = "n0", "two of a set", true })
	w.want("drop 1")
}

func TestNodeLostWhilePublishingIsReadFromThePrefix(t *testing.T) {
	w := newWorld(t, nil)
	id := w.upTo(1, PhasePublishing)
	w.take()
	w.lose("n1")
	w.want("")
	w.ended(Published, id, nil)
	w.want("evict 1")
	if d := w.phase(id, PhaseEvicting); !d.Published {
		t.Error("not published")
	}
}

func TestNodeThatWroteFilesOfOthersLeavesASuspectDataset(t *testing.T) {
	w := newWorld(t, nil)
	id := w.written(1)
	w.step(Event{Kind: Open, Dataset: id, Node: "n9"})
	w.lose("n9")
	if d := w.phase(id, PhaseOpen); !d.Suspect {
		t.Error("a writer was lost, and the dataset is as good as before")
	}
}

func TestProtectIsTriedAFewTimesThenThePrefixIsSafer(t *testing.T) {
	w := newWorld(t, func(c *Config) { c.FlushEvery = 0 })
	id := w.upTo(1, PhaseProtecting)
	w.take()
	for try := 1; try < protectTries; try++ {
		w.ended(Protected, id, func(e *Event) { e.Err = "no" })
		w.want("")
		w.pass(time.Duration(1<<try) * time.Second)
		w.want("protect 1")
	}
	w.ended(Protected, id, func(e *Event) { e.Err = "no" })
	w.want("flush 1")
	if d := w.phase(id, PhaseFlushing); d.Protected {
		t.Error("protected")
	}
}

func TestRetriesBackOffToAMinute(t *testing.T) {
	w := newWorld(t, nil)
	id := w.upTo(1, PhaseFlushing)
	w.take()
	for _, pause := range []time.Duration{1, 2, 4, 8, 16, 32, 60, 60, 60} {
		w.ended(Flushed, id, func(e *Event) { e.Err = "no space left on device" })
		w.pass(pause*time.Second - 200*time.Millisecond)
		w.want("")
		w.pass(200 * time.Millisecond)
		w.want("flush 1")
	}
}

// TestNewLeaderDoesWhatIsUnderWay, but what waits to be tried again waits on.
func TestNewLeaderDoesWhatIsUnderWay(t *testing.T) {
	for phase, act := range map[Phase]ActionKind{
		PhaseSealing: DoSeal, PhaseProtecting: DoProtect, PhaseFlushing: DoFlush, PhasePublishing: DoPublish,
	} {
		w := newWorld(t, nil)
		w.upTo(1, phase)
		got := w.m.Pending()
		if len(got) != 1 || got[0] != (Action{Kind: act, Dataset: 1}) {
			t.Errorf("%s: pending %v", phase, got)
		}
	}
	w := newWorld(t, nil)
	id := w.upTo(1, PhaseProtecting)
	w.ended(Protected, id, func(e *Event) { e.Err = "no" })
	if got := w.m.Pending(); len(got) != 0 {
		t.Errorf("pending %v while it waits to be tried again", got)
	}
}
