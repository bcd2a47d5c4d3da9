package lifecycle

import (
	"testing"
	"time"

	"github.com/scrfs/scrfs/scr"
)

func TestDatasetEndsAfterTheQuietTime(t *testing.T) {
	w := newWorld(t, nil)
	id := w.dir("n0", 1)
	w.write("n0", id)
	w.pass(time.Minute)
	w.want("") // a file is open for writing
	w.done("n0", id)
	w.pass(w.m.cfg.Quiet - 200*time.Millisecond)
	w.want("")
	w.write("n1", id) // somebody else begins in time
	w.pass(time.Minute)
	w.done("n1", id)
	w.want("")
	w.pass(w.m.cfg.Quiet)
	w.want("seal 1")
}

func TestSymbolicLinkAloneDoesNotHoldADatasetOpen(t *testing.T) {
	w := newWorld(t, nil)
	w.step(Event{Kind: Make, Node: "n0", App: "a", Path: "latest"})
	w.pass(w.m.cfg.Quiet)
	w.want("seal 1")
}

func TestFilesOfOneBurstAreOneDataset(t *testing.T) {
	w := newWorld(t, nil)
	first := w.write("n0", 0)
	for _, node := range []string{"n1", "n2", "n0"} {
		if id := w.write(node, 0); id != first {
			t.Fatalf("file of %s is in dataset %d, want %d", node, id, first)
		}
	}
	for _, node := range []string{"n1", "n2", "n0"} {
		w.done(node, first)
	}
	w.want("")
	w.done("n0", first)
	w.pass(w.m.cfg.Quiet)
	w.want("seal 1")
	if id := w.write("n0", 0); id == first {
		t.Error("a file made after the boundary belongs to the dataset before it")
	}
}

func TestNextStepOfALearnedFamilyClosesTheOneBefore(t *testing.T) {
	w := newWorld(t, nil)
	w.upTo(1, PhasePublished)
	w.upTo(2, PhasePublished) // the number has moved: it is a step
	w.take()
	third := w.dir("n0", 3)
	w.write("n0", third)
	fourth := w.dir("n0", 4)
	if fourth == third {
		t.Fatal("step 4 belongs to the dataset of step 3")
	}
	w.want("")
	w.done("n0", third)
	w.want("seal 3") // at once
}

func TestUnknownNumbersMerge(t *testing.T) {
	w := newWorld(t, nil)
	if a, b := w.dir("n0", 1), w.dir("n0", 2); a != b {
		t.Errorf("directories 1 and 2 of a family never seen before are datasets %d and %d", a, b)
	}
	w.pass(w.m.cfg.Quiet)
	w.ended(Sealed, 1, nil)
	// Two of one dataset: the number counts ranks, say, and never splits.
	w.upTo(3, PhaseProtecting)
	if a, b := w.dir("n0", 4), w.dir("n1", 5); a != b {
		t.Errorf("directories of a family whose number is no step are datasets %d and %d", a, b)
	}
}

func TestSameStepOnAnotherNodeJoins(t *testing.T) {
	w := newWorld(t, nil)
	w.upTo(1, PhasePublished)
	w.upTo(2, PhasePublished)
	if a, b := w.dir("n0", 3), w.dir("n1", 3); a != b {
		t.Errorf("step 3 of two nodes is datasets %d and %d", a, b)
	}
}

func TestCommitEndsADatasetAtOnce(t *testing.T) {
	w := newWorld(t, nil)
	id := w.written(1)
	w.want("")
	w.step(Event{Kind: Commit, Dataset: id})
	w.want("seal 1")
}

func TestCommitWaitsForOpenFiles(t *testing.T) {
	w := newWorld(t, nil)
	id := w.write("n0", 0)
	w.step(Event{Kind: Commit, Dataset: id})
	w.want("")
	w.done("n0", id)
	w.want("seal 1")
}

func TestWritingAgainReopensAndVoids(t *testing.T) {
	for _, p := range []Phase{PhaseSealing, PhaseProtecting, PhaseCached, PhaseFlushing} {
		for name, again := range map[string]func(*world, scr.DatasetID) scr.DatasetID{
			"open": func(w *world, id scr.DatasetID) scr.DatasetID {
				return w.step(Event{Kind: Open, Dataset: id, Node: "n0"})
			},
			"new file": func(w *world, id scr.DatasetID) scr.DatasetID { return w.write("n0", id) },
			"directory": func(w *world, id scr.DatasetID) scr.DatasetID {
				return w.step(Event{Kind: MakeBelow, IsDir: true, Dataset: id, Node: "n0"})
			},
			"rename": func(w *world, id scr.DatasetID) scr.DatasetID { w.step(Event{Kind: Change, Dataset: id}); return id },
		} {
			t.Run(string(p)+" "+name, func(t *testing.T) {
				w := newWorld(t, func(c *Config) {
					if p == PhaseCached {
						c.FlushEvery = 0
					}
				})
				id := w.upTo(1, p)
				w.take()
				if got := again(w, id); got != id {
					t.Fatalf("it went to dataset %d", got)
				}
				d := w.phase(id, PhaseOpen)
				if d.Gen != 1 || d.Protected || d.Scheme != "" {
					t.Errorf("generation %d, protected %v %q", d.Gen, d.Protected, d.Scheme)
				}
				// The answer to what was under way is of the old generation.
				for _, kind := range []EventKind{Sealed, Protected, Flushed, Published} {
					w.step(Event{Kind: kind, Dataset: id, Gen: 0})
				}
				w.phase(id, PhaseOpen)
				w.want("")
				w.done("n0", id)
				w.pass(w.m.cfg.Quiet)
				w.want("seal 1")
				if w.acts = nil; d.Gen != 1 {
					t.Errorf("generation %d", d.Gen)
				}
			})
		}
	}
}

func TestPublishedDatasetIsNotReopened(t *testing.T) {
	for _, p := range []Phase{PhasePublishing, PhasePublished} {
		t.Run(string(p), func(t *testing.T) {
			w := newWorld(t, nil)
			id := w.upTo(1, p)
			if got := w.step(Event{Kind: Open, Dataset: id, Node: "n0"}); got != 0 {
				t.Errorf("open goes to dataset %d, want the prefix directory", got)
			}
			if !w.m.Visible(id) {
				t.Error("not visible")
			}
			if got := w.write("n0", id); got == id || got == 0 {
				t.Errorf("a new file below it belongs to dataset %d, want a new one", got)
			}
			w.phase(id, p)
		})
	}
}

func TestNewFileBelowOutputIsOutput(t *testing.T) {
	w := newWorld(t, nil)
	id := w.step(Event{Kind: Make, IsDir: true, Output: true, Node: "n0", Path: "out"})
	w.pass(w.m.cfg.Quiet)
	w.ended(Sealed, id, nil)
	w.ended(Protected, id, nil)
	w.ended(Flushed, id, nil)
	w.ended(Published, id, nil)
	w.ended(Evicted, id, nil)
	next := w.write("n0", id)
	if d, _ := w.m.Dataset(next); d.Checkpoint != 0 {
		t.Errorf("dataset %d is checkpoint %d, want output as what lies there", next, d.Checkpoint)
	}
}

func TestKilledWriterMakesADatasetSuspect(t *testing.T) {
	w := newWorld(t, nil)
	id := w.written(1)
	w.step(Event{Kind: Killed, Dataset: id})
	if d := w.phase(id, PhaseOpen); d.Status() != "SUSPECT" {
		t.Errorf("status %s", d.Status())
	}
	w.pass(3 * w.m.cfg.Quiet)
	w.want("") // no quiet time ends it
	w.step(Event{Kind: App, App: "b"})
	w.want("drop 1") // a new application must not see it
	w.phase(id, PhaseLost)
}

func TestCommitSavesASuspectDataset(t *testing.T) {
	w := newWorld(t, nil)
	id := w.written(1)
	w.step(Event{Kind: Killed, Dataset: id})
	w.step(Event{Kind: Commit, Dataset: id})
	w.want("seal 1")
}

func TestSuspectDatasetGoesAfterAWhile(t *testing.T) {
	w := newWorld(t, nil)
	id := w.written(1)
	w.step(Event{Kind: Killed, Dataset: id})
	w.pass(suspectFactor * w.m.cfg.Quiet)
	w.want("drop 1")
}

func TestWriterKilledDuringTheSealVoidsIt(t *testing.T) {
	w := newWorld(t, nil)
	id := w.upTo(1, PhaseSealing)
	w.take()
	w.step(Event{Kind: Killed, Dataset: id})
	w.step(Event{Kind: Commit, Dataset: id})
	w.want("seal 1")
	w.step(Event{Kind: Sealed, Dataset: id, Gen: 0, Files: 1}) // the older one
	w.phase(id, PhaseSealing)
}

func TestAnotherApplicationDoesNotJoinASuspectDataset(t *testing.T) {
	w := newWorld(t, nil)
	w.step(Event{Kind: App, App: "a"})
	w.step(Event{Kind: App, App: "b"})
	id := w.written(1)
	w.step(Event{Kind: Killed, Dataset: id})
	if got := w.step(Event{Kind: Make, Writes: true, Node: "n5", App: "b"}); got == id {
		t.Error("the file of b is in the suspect dataset of a")
	}
	if got := w.write("n1", 0); got == 0 {
		t.Error("no dataset")
	}
}

func TestSealThatFailsIsTriedAgain(t *testing.T) {
	w := newWorld(t, nil)
	id := w.upTo(1, PhaseSealing)
	w.take()
	w.ended(Sealed, id, func(e *Event) { e.Err = "a late writer" })
	w.phase(id, PhaseOpen)
	w.want("")
	w.pass(w.m.cfg.Quiet + time.Second)
	w.want("seal 1")
}

func TestEmptyDatasetVanishes(t *testing.T) {
	w := newWorld(t, nil)
	id := w.upTo(1, PhaseSealing)
	w.take()
	w.ended(Sealed, id, func(e *Event) { e.Empty = true })
	w.want("drop 1")
	w.ended(Evicted, id, nil)
	if got := len(w.m.Pending()); got != 0 {
		t.Errorf("%d actions are pending", got)
	}
}

func TestInvalidDatasetIsDropped(t *testing.T) {
	for _, p := range []Phase{PhaseOpen, PhaseSealing, PhaseProtecting, PhaseFlushing} {
		w := newWorld(t, nil)
		id := w.upTo(1, p)
		w.take()
		w.step(Event{Kind: Invalid, Dataset: id})
		w.want("drop 1")
		w.step(Event{Kind: Invalid, Dataset: id})
		w.want("") // once
	}
	for _, p := range []Phase{PhasePublishing, PhasePublished} {
		w := newWorld(t, nil)
		id := w.upTo(1, p)
		w.take()
		w.step(Event{Kind: Invalid, Dataset: id})
		w.want("") // too late: it is on the prefix directory
		w.phase(id, p)
	}
}
