package lifecycle

import (
	"testing"
	"time"

	"github.com/scrfs/scrfs/scr"
)

const app = "a"

// TestSignsEndADatasetEarly: what programs do last, each in a machine whose
// dataset 1 has just been written and closed.
func TestSignsEndADatasetEarly(t *testing.T) {
	for name, c := range map[string]struct {
		sign func(w *world, id scr.DatasetID)
		want string
	}{
		"nothing":             {func(*world, scr.DatasetID) {}, ""},
		"fsync of the root":   {func(w *world, id scr.DatasetID) { w.step(Event{Kind: Hint, Dataset: id}) }, "seal 1"},
		"the program says so": {func(w *world, id scr.DatasetID) { w.step(Event{Kind: Commit, Dataset: id}) }, "seal 1"},
		"a rename inside": {func(w *world, id scr.DatasetID) {
			w.step(Event{Kind: Change, Dataset: id, Template: ".metadata"})
		}, ""}, // the other ranks may still be at work
		"fsync while a file is open": {func(w *world, id scr.DatasetID) {
			w.write("n1", id)
			w.step(Event{Kind: Hint, Dataset: id})
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, nil)
			id := w.written(1)
			c.sign(w, id)
			w.want(c.want)
		})
	}
}

// TestRemovalOfAnOlderOneIsASign: programs purge when the newer is complete.
func TestRemovalOfAnOlderOneIsASign(t *testing.T) {
	w := newWorld(t, nil)
	old := w.upTo(1, PhaseFlushing)
	newer := w.written(2)
	w.take()
	w.step(Event{Kind: Change, Dataset: old, Removes: true})
	w.want("seal 2")
	w.phase(newer, PhaseSealing)
}

func TestEarlyEndIsTakenBackByLatePieces(t *testing.T) {
	w := newWorld(t, nil)
	first := w.written(1)
	w.step(Event{Kind: Hint, Dataset: first})
	w.ended(Sealed, first, nil)
	w.ended(Protected, first, nil)
	w.take()
	w.pass(w.m.cfg.Quiet / 2)
	w.want("") // protected, but not flushed before the quiet time has passed
	if id := w.write("n1", 0); id != first {
		t.Errorf("a late loose file is in dataset %d, want %d", id, first)
	}
	if d := w.phase(first, PhaseOpen); d.Protected || d.Gen != 1 {
		t.Errorf("protected %v, generation %d after a late piece", d.Protected, d.Gen)
	}
	w.done("n1", first)
	w.step(Event{Kind: Hint, Dataset: first})
	w.want("") // a sign counts once
	w.pass(w.m.cfg.Quiet)
	w.want("seal 1")
}

func TestEarlyEndStandsAfterTheQuietTime(t *testing.T) {
	w := newWorld(t, nil)
	first := w.written(1)
	w.step(Event{Kind: Hint, Dataset: first})
	w.ended(Sealed, first, nil)
	w.ended(Protected, first, nil)
	w.take()
	w.pass(w.m.cfg.Quiet)
	w.want("flush 1")
	if id := w.write("n1", 0); id == first {
		t.Error("a file made after the quiet time joins what had ended early")
	}
}

// marked writes two data files and a marker, in an order.
func (w *world) marked(step int, files ...string) scr.DatasetID {
	id := w.dir("n0", step)
	for _, f := range files {
		w.write("n0", id)
		w.step(Event{Kind: Close, Dataset: id, Node: "n0", Template: f})
	}
	return id
}

func TestLastFileOfTheUsualShapeIsLearned(t *testing.T) {
	for name, c := range map[string]struct {
		earlier [2][]string
		now     []string
		early   bool
	}{
		"the same three times": {[2][]string{{"m.#", "m.#", "latest"}, {"m.#", "m.#", "latest"}}, []string{"m.#", "m.#", "latest"}, true},
		"the marker is first":  {[2][]string{{"m.#", "m.#", "latest"}, {"m.#", "m.#", "latest"}}, []string{"latest", "m.#", "m.#"}, false},
		"a file is missing":    {[2][]string{{"m.#", "m.#", "latest"}, {"m.#", "m.#", "latest"}}, []string{"m.#", "latest"}, false},
		"one more than usual":  {[2][]string{{"m.#", "latest"}, {"m.#", "latest"}}, []string{"m.#", "m.#", "latest"}, false},
		"they differed before": {[2][]string{{"m.#", "latest"}, {"m.#", "m.#", "latest"}}, []string{"m.#", "m.#", "latest"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, nil)
			for step, files := range c.earlier {
				id := w.marked(step, files...)
				w.pass(w.m.cfg.Quiet)
				w.ended(Sealed, id, nil)
			}
			w.take()
			id := w.marked(9, c.now...)
			if d, _ := w.m.Dataset(id); (d.Phase == PhaseSealing) != c.early {
				t.Errorf("phase %s, want an early end: %v", d.Phase, c.early)
			}
		})
	}
}

// TestRotationBeginsTheNextDataset: X to X.bak, then X anew.
func TestRotationBeginsTheNextDataset(t *testing.T) {
	w := newWorld(t, nil)
	first := w.upTo(1, PhaseProtecting)
	w.step(Event{Kind: Change, Dataset: first, Template: "x.bak"})
	d := w.phase(first, PhaseOpen)
	if d.Gen != 1 {
		t.Errorf("generation %d after a rename, want 1", d.Gen)
	}
	second := w.write("n0", 0)
	if second == first {
		t.Fatal("the file written after a rotation belongs to the dataset before it")
	}
	w.step(Event{Kind: Killed, Dataset: second, App: app})
	if d, _ := w.m.Dataset(first); d.Suspect {
		t.Error("a dataset that had ended is suspect because of what came after")
	}
	w.done("n0", second)
	w.take()
	w.pass(w.m.cfg.Quiet)
	w.want("seal 1") // again, and not the suspect one
}

func TestTruncationAfterTheEndBeginsTheNextDataset(t *testing.T) {
	for name, c := range map[string]struct {
		phase Phase
		below bool
		moves bool
	}{
		"loose, protected":    {PhaseFlushing, false, true},
		"loose, published":    {PhasePublished, false, true},
		"below, not yet":      {PhaseFlushing, true, false},
		"below, published":    {PhasePublished, true, true},
		"loose, still open":   {PhaseOpen, false, false},
		"loose, being sealed": {PhaseSealing, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, nil)
			first := w.upTo(1, c.phase)
			id := w.step(Event{Kind: Open, Dataset: first, Node: "n0", App: app, Truncates: true, Below: c.below})
			if id == 0 || (id != first) != c.moves {
				t.Errorf("the file belongs to dataset %d then, moved should be %v", id, c.moves)
			}
			if d, _ := w.m.Dataset(id); d.Writers["n0"] != 1 {
				t.Errorf("writers of dataset %d: %v", id, d.Writers)
			}
		})
	}
}

func TestOpenWithoutTruncationReopens(t *testing.T) {
	w := newWorld(t, nil)
	first := w.upTo(1, PhaseFlushing)
	if id := w.step(Event{Kind: Open, Dataset: first, Node: "n0", App: app}); id != first {
		t.Errorf("dataset %d, want %d: its old bytes count", id, first)
	}
	w.phase(first, PhaseOpen)
}

// TestKilledRank says what is suspect after one, and when it vanishes.
func TestKilledRank(t *testing.T) {
	w := newWorld(t, nil)
	whole := w.upTo(1, PhasePublished)
	w.step(Event{Kind: App, App: app})
	half := w.written(2)
	w.step(Event{Kind: Killed, App: app}) // it wrote nothing of this one
	if d := w.phase(half, PhaseOpen); !d.Suspect {
		t.Error("what the other ranks have written is not suspect")
	}
	if d, _ := w.m.Dataset(whole); d.Suspect {
		t.Error("what was complete is suspect")
	}
	w.take()
	w.pass(w.m.cfg.Quiet)
	w.want("")
	w.step(Event{Kind: App, App: "b"})
	w.want("drop 2")
}

func TestNewsOfAKillAfterTheNextApplication(t *testing.T) {
	w := newWorld(t, nil)
	half := w.written(1)
	w.step(Event{Kind: App, App: "b"})
	w.take()
	w.step(Event{Kind: Killed, Dataset: half})
	w.want("drop 1")
}

func TestKillWithinTheQuietTimeOfAnEarlyEnd(t *testing.T) {
	for _, late := range []time.Duration{0, 1} {
		w := newWorld(t, nil)
		id := w.written(1)
		w.step(Event{Kind: Hint, Dataset: id})
		w.ended(Sealed, id, nil)
		w.ended(Protected, id, nil)
		w.pass(late * w.m.cfg.Quiet)
		w.step(Event{Kind: Killed, Dataset: id})
		if d, _ := w.m.Dataset(id); d.Suspect != (late == 0) {
			t.Errorf("after %d quiet times: suspect %v", late, d.Suspect)
		}
	}
}

// TestChangeAfterAnEarlyEndTakesItBack: chmod of what was copied, say.
func TestChangeAfterAnEarlyEndTakesItBack(t *testing.T) {
	w := newWorld(t, nil)
	id := w.written(1)
	w.step(Event{Kind: Hint, Dataset: id})
	w.step(Event{Kind: Change, Dataset: id})
	if late := w.write("n0", 0); late != id {
		t.Errorf("what follows within the quiet time is in dataset %d, want %d", late, id)
	}
}
