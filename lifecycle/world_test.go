package lifecycle

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/scrfs/scrfs/scr"
)

// world feeds a machine and keeps what it asked for.
type world struct {
	t    testing.TB
	m    *Machine
	now  int64
	next scr.DatasetID
	acts []Action // since the last take
}

func newWorld(t testing.TB, change func(*Config)) *world {
	cfg := Default()
	cfg.FlushEvery = 1
	if change != nil {
		change(&cfg)
	}
	return &world{t: t, m: New(cfg), now: int64(time.Hour)}
}

func (w *world) step(e Event) scr.DatasetID {
	e.Now, e.Fresh = w.now, w.next+1
	id, acts := w.m.Step(e)
	w.next = max(w.next, id)
	w.acts = append(w.acts, acts...)
	return id
}

// pass lets time go by, with the ticks a daemon gives when they are due.
func (w *world) pass(d time.Duration) {
	for end := w.now + int64(d); w.now < end; {
		w.now += int64(100 * time.Millisecond)
		if w.m.Due(w.now) {
			w.step(Event{Kind: Tick})
		}
	}
}

// take returns what was asked for since the last time, as "seal 1".
func (w *world) take() string {
	var list []string
	for _, a := range w.acts {
		list = append(list, strings.TrimSpace(fmt.Sprintf("%s %d %s", a.Kind, a.Dataset, a.Node)))
	}
	w.acts = nil
	return strings.Join(list, ", ")
}

func (w *world) want(acts string) {
	w.t.Helper()
	if got := w.take(); got != acts {
		w.t.Fatalf("actions %q, want %q", got, acts)
	}
}

func (w *world) phase(id scr.DatasetID, want Phase) Dataset {
	w.t.Helper()
	d, ok := w.m.Dataset(id)
	if !ok || d.Phase != want {
		w.t.Fatalf("dataset %d is %s (%v), want %s", id, d.Phase, d.Err, want)
	}
	return d
}

// dir makes a directory "ckpt.<n>", write creates a file below a directory of
// a dataset, or in the prefix with dataset 0; done closes it.
func (w *world) dir(node string, n int) scr.DatasetID {
	return w.step(Event{Kind: Make, IsDir: true, Node: node, App: "a", Path: fmt.Sprint("ckpt.", n), Template: "ckpt.#", Numbers: fmt.Sprint(n)})
}

func (w *world) write(node string, id scr.DatasetID) scr.DatasetID {
	kind := MakeBelow
	if id == 0 {
		kind = Make
	}
	return w.step(Event{Kind: kind, Dataset: id, Node: node, App: "a", Writes: true})
}

func (w *world) done(node string, id scr.DatasetID) {
	w.step(Event{Kind: Close, Dataset: id, Node: node})
}

func (w *world) ended(kind EventKind, id scr.DatasetID, change func(*Event)) {
	w.t.Helper()
	d, ok := w.m.Dataset(id)
	if !ok {
		w.t.Fatalf("no dataset %d", id)
	}
	e := Event{Kind: kind, Dataset: id, Gen: d.Gen}
	if kind == Sealed {
		e.Nodes, e.Files, e.SizeBytes = []string{"n0", "n1"}, 2, 100
	}
	if kind == Protected {
		e.Scheme = "XOR"
	}
	if change != nil {
		change(&e)
	}
	w.step(e)
}

// written makes a dataset of files on nodes n0 and n1, all closed.
func (w *world) written(n int) scr.DatasetID {
	id := w.dir("n0", n)
	for _, node := range []string{"n0", "n1"} {
		w.write(node, id)
		w.done(node, id)
	}
	return id
}

// upTo brings a dataset of step n to a phase, answering well to all before.
func (w *world) upTo(n int, p Phase) scr.DatasetID {
	w.t.Helper()
	id := w.written(n)
	order := []Phase{PhaseOpen, PhaseSealing, PhaseProtecting, PhaseCached, PhaseFlushing, PhasePublishing, PhasePublished}
	for w.at(id) != p {
		switch at := w.at(id); {
		case slices.Index(order, at) > slices.Index(order, p):
			w.t.Fatalf("dataset %d went to %s, wanted %s", id, at, p)
		case at == PhaseOpen:
			w.pass(w.m.cfg.Quiet)
		case at == PhaseSealing:
			w.ended(Sealed, id, nil)
		case at == PhaseProtecting:
			w.ended(Protected, id, nil)
		case at == PhaseFlushing:
			w.ended(Flushed, id, nil)
		case at == PhasePublishing:
			w.ended(Published, id, nil)
		default:
			w.t.Fatalf("dataset %d stays %s, wanted %s", id, at, p)
		}
	}
	return id
}

func (w *world) at(id scr.DatasetID) Phase {
	d, _ := w.m.Dataset(id)
	return d.Phase
}
