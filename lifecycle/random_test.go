package lifecycle

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/scrfs/scrfs/scr"
	"pgregory.net/rapid"
)

// drawEvent draws an event about one of the datasets there are.
func drawEvent(t *rapid.T, m *Machine, now int64) Event {
	kinds := []EventKind{
		Make, Make, MakeBelow, Open, Close, Close, Close, Change, Commit, Invalid, Killed, App, NodeDown, Tick, Tick, Want,
		Sealed, Sealed, Protected, Protected, Flushed, Flushed, Published, Published, Evicted, Rebuilt,
	}
	nodes := []string{"n0", "n1", "n2"}
	e := Event{
		Kind: rapid.SampledFrom(kinds).Draw(t, "kind"), Now: now, Fresh: m.Newest() + 1,
		Node: rapid.SampledFrom(nodes).Draw(t, "node"), App: rapid.SampledFrom([]string{"", "a", "b", "c"}).Draw(t, "app"),
		Template: "ckpt.#", Numbers: fmt.Sprint(rapid.IntRange(0, 3).Draw(t, "number")), Path: "ckpt", Scheme: "XOR", Files: 1,
		IsDir: rapid.Bool().Draw(t, "dir"), Output: rapid.IntRange(0, 5).Draw(t, "output") == 0,
	}
	e.Writes = !e.IsDir && rapid.Bool().Draw(t, "writes")
	var ids []scr.DatasetID
	for _, d := range m.Datasets() {
		ids = append(ids, d.ID)
	}
	// The latest few are where things happen.
	ids = append(ids[max(0, len(ids)-5):], 0, 99999)
	e.Dataset = rapid.SampledFrom(ids).Draw(t, "dataset")
	if d, ok := m.Dataset(e.Dataset); ok && rapid.IntRange(0, 4).Draw(t, "stale") > 0 {
		e.Gen = d.Gen
	}
	if rapid.IntRange(0, 3).Draw(t, "fails") == 0 {
		e.Err, e.Final = "no", rapid.Bool().Draw(t, "final")
	}
	e.Nodes = []string{"n0", rapid.SampledFrom(nodes).Draw(t, "holder")}
	e.Empty = rapid.IntRange(0, 9).Draw(t, "empty") == 0
	if rapid.Bool().Draw(t, "kept") {
		e.Kept = []scr.DatasetID{e.Dataset}
	}
	return e
}

// machinesEqual compares all that decides what a machine does.
func machinesEqual(t *rapid.T, a, b *Machine) {
	t.Helper()
	if diff := cmp.Diff(a, b, cmp.AllowUnexported(Machine{}, family{})); diff != "" {
		t.Fatalf("machines differ (-a +b):\n%s", diff)
	}
}

func TestRandomEventsKeepThePromises(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := Config{
			Quiet: 2 * time.Second, FlushEvery: rapid.IntRange(0, 3).Draw(t, "flush every"),
			CacheSize: rapid.IntRange(0, 3).Draw(t, "cache size"), RetryAfter: time.Second,
		}
		m, twin := New(cfg), New(cfg)
		now := int64(time.Hour)
		for range rapid.IntRange(1, 60).Draw(t, "events") {
			now += rapid.SampledFrom([]int64{0, 1, int64(time.Second), int64(3 * time.Second), int64(30 * time.Second)}).Draw(t, "pause")
			e := drawEvent(t, m, now)
			due, before := m.Due(now), states(m)
			id, acts := m.Step(e)
			if e.Kind == Tick && !due && len(acts) > 0 {
				t.Fatalf("nothing was due, and a tick gave %v", acts)
			}
			if m.Due(now) && e.Kind == Tick {
				t.Fatalf("a tick is due again right after a tick")
			}
			checkStep(t, e, id, acts, before, states(m))
			twinID, twinActs := twin.Step(e)
			if id != twinID || !slices.Equal(acts, twinActs) {
				t.Fatalf("%+v: dataset %d %v, its twin says %d %v", e, id, acts, twinID, twinActs)
			}
			machinesEqual(t, m, twin)
			if rapid.IntRange(0, 9).Draw(t, "restore") == 0 {
				b, err := twin.Snapshot()
				if err != nil {
					t.Fatal(err)
				}
				if twin, err = Restore(cfg, b); err != nil {
					t.Fatal(err)
				}
			}
		}
	})
}

func states(m *Machine) map[scr.DatasetID]Dataset {
	all := map[scr.DatasetID]Dataset{}
	for _, d := range m.Datasets() {
		all[d.ID] = d
	}
	return all
}

// checkStep holds one step against what must always be so.
func checkStep(t *rapid.T, e Event, id scr.DatasetID, acts []Action, before, after map[scr.DatasetID]Dataset) {
	t.Helper()
	for _, d := range after {
		was, known := before[d.ID]
		if known && d.Gen < was.Gen {
			t.Fatalf("generation of %d fell from %d to %d", d.ID, was.Gen, d.Gen)
		}
		if known && was.Published && (!d.Published || d.Phase == PhaseLost || d.Phase == PhaseOpen) {
			t.Fatalf("dataset %d was published and is %s", d.ID, d.Phase)
		}
		if d.Phase == PhasePublished && !d.Published || d.Published && !slices.Contains([]Phase{PhasePublished, PhaseEvicting}, d.Phase) {
			t.Fatalf("dataset %d is %s, published %v", d.ID, d.Phase, d.Published)
		}
		if d.Suspect && d.Phase != PhaseOpen && d.Phase != PhaseLost {
			t.Fatalf("dataset %d is suspect and %s", d.ID, d.Phase)
		}
	}
	flushing := 0
	for _, d := range after {
		if d.Phase == PhaseFlushing || d.Phase == PhasePublishing {
			flushing++
		}
	}
	if flushing > 1 {
		t.Fatal("two datasets are flushed at once")
	}
	for _, a := range acts {
		checkAction(t, e, a, before, after)
	}
	if e.Kind == Make && (id == 0 || after[id].Phase != PhaseOpen && after[id].Phase != PhaseSealing) {
		t.Fatalf("a new name went to dataset %d, which is %s", id, after[id].Phase)
	}
}

func checkAction(t *rapid.T, e Event, a Action, before, after map[scr.DatasetID]Dataset) {
	t.Helper()
	d := after[a.Dataset]
	if a.Gen != d.Gen {
		t.Fatalf("%v of a dataset of generation %d", a, d.Gen)
	}
	switch a.Kind {
	case DoFlush:
		if before[a.Dataset].Phase == PhaseFlushing {
			return // tried again
		}
		for _, older := range after {
			onItsWay := older.ID < d.ID && older.WantFlush && !older.Published && older.Phase != PhaseLost
			stream := older.Phase == PhaseOpen && (older.Suspect || older.writersOpen())
			if onItsWay && !stream {
				t.Fatalf("dataset %d is flushed before %d, which is %s", d.ID, older.ID, older.Phase)
			}
		}
	case DoEvict:
		was := before[a.Dataset]
		if d.Published || was.Phase == PhaseEvicting {
			return
		}
		safe := false
		for _, newer := range after {
			safe = safe || newer.ID > d.ID && newer.Checkpoint != 0 && newer.Complete() && newer.Safe()
		}
		if !safe || d.WantFlush {
			t.Fatalf("dataset %d leaves the caches on %s; want flush %v, newer safe %v", d.ID, e.Kind, d.WantFlush, safe)
		}
	}
}

func FuzzRestore(f *testing.F) {
	w := newWorld(f, nil)
	w.upTo(1, PhasePublished)
	w.upTo(2, PhaseFlushing)
	w.write("n1", 0)
	b, err := w.m.Snapshot()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add(b[:len(b)/2])
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := Restore(Default(), b)
		if err != nil {
			return
		}
		for _, d := range m.Datasets() {
			for _, kind := range []EventKind{MakeBelow, Open, Close, Change, Killed, Commit, NodeDown, Tick, Sealed, Want} {
				m.Step(Event{Kind: kind, Dataset: d.ID, Node: "n0", Writes: true, Gen: d.Gen, Fresh: m.Newest() + 1})
			}
		}
		m.Pending()
	})
}
