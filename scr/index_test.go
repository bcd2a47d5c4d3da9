package scr

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/scrfs/scrfs/kvtree"
)

func complete(id DatasetID, name string) IndexEntry {
	return IndexEntry{
		ID: id, Name: name, Complete: LimitOf(1),
		Dataset: &Dataset{ID: id, Name: DatasetName(id), Checkpoint: CheckpointID(id), Complete: true},
		Flushed: []Stamp{"2026-11-21T09:33:08"},
	}
}

func newTestIndex(t *testing.T, f Family, entries ...IndexEntry) *Index {
	t.Helper()
	x := NewIndex(f)
	for _, e := range entries {
		if err := x.Put(e); err != nil {
			t.Fatal(err)
		}
	}
	return x
}

func TestFindTakesNameOrID(t *testing.T) {
	x := newTestIndex(t, F14, complete(17, "run/a"), complete(18, "run/b"), complete(18, "run/c"), complete(3, "18"), complete(12, "12"))
	for arg, want := range map[string]string{"run/a": "run/a", "17": "run/a", "run/c": "run/c", "18": "18", "12": "12", "3": "18"} {
		if e, err := x.Find(arg); err != nil || e.Name != want {
			t.Errorf("%s: got %+v, %v; want %s", arg, e, err, want)
		}
	}
	if err := x.Remove("18"); err != nil {
		t.Fatal(err)
	}
	_, err := x.Find("18")
	if !errors.Is(err, ErrAmbiguous) || !strings.Contains(err.Error(), "run/b") || !strings.Contains(err.Error(), "run/c") {
		t.Errorf("18: got %v, want ErrAmbiguous listing both", err)
	}
	for _, arg := range []string{"99", "run", "", "017"} {
		if e, err := x.Find(arg); !errors.Is(err, ErrNotFound) {
			t.Errorf("%q: got %+v, %v; want ErrNotFound", arg, e, err)
		}
	}
}

func TestRestartOrder(t *testing.T) {
	failed := complete(9, "failed")
	failed.Failed = []Stamp{"2026-11-21T09:33:08"}
	part := complete(8, "incomplete")
	part.Complete = LimitOf(0)
	output := complete(7, "output")
	output.Dataset.Checkpoint = 0
	x := newTestIndex(t, F14, complete(1, "a"), complete(10, "c"), complete(2, "b"), failed, part, output, IndexEntry{ID: 6, Name: "flushing"})
	check := func(current string, want ...string) {
		t.Helper()
		got, err := x.RestartOrder(current)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, e := range got {
			names = append(names, e.Name)
		}
		if !slices.Equal(names, want) {
			t.Errorf("got %q, want %q", names, want)
		}
	}
	check("", "c", "b", "a")
	check("a", "a", "c", "b") // F11's link
	if err := x.SetCurrent("b"); err != nil {
		t.Fatal(err)
	}
	check("", "b", "c", "a")
	if err := x.SetCurrent("failed"); err != nil {
		t.Fatal(err)
	}
	check("", "c", "b", "a")
	if err := x.MarkFailed("c", "2026-11-22T00:00:00"); err != nil {
		t.Fatal(err)
	}
	check("", "b", "a")
}

func TestCurrentFollowsTheIndex(t *testing.T) {
	x := newTestIndex(t, F14, complete(1, "a"))
	if err := x.SetCurrent("b"); !errors.Is(err, ErrNotFound) {
		t.Errorf("got %v, want ErrNotFound", err)
	}
	if err := x.SetCurrent("a"); err != nil {
		t.Fatal(err)
	}
	if err := x.Remove("a"); err != nil {
		t.Fatal(err)
	}
	if got, ok := x.Current(); ok {
		t.Errorf("current is %s, which is gone", got)
	}
	if err := newTestIndex(t, F11, complete(1, "a")).SetCurrent("a"); !errors.Is(err, ErrUnsupported) {
		t.Errorf("F11: got %v, want ErrUnsupported", err)
	}
	if err := x.Remove("a"); !errors.Is(err, ErrNotFound) {
		t.Errorf("twice: got %v, want ErrNotFound", err)
	}
	if !kvtree.Equal(x.Tree(), NewIndex(F14).Tree()) {
		t.Errorf("something is left: %q", text(x.Tree()))
	}
}

func TestADirectoryUsedAgainHasOneID(t *testing.T) {
	x := newTestIndex(t, F14, complete(1, "run/ckpt"), complete(2, "run/ckpt"))
	entries, err := x.Entries()
	if err != nil || len(entries) != 1 || entries[0].ID != 2 {
		t.Errorf("got %+v, %v", entries, err)
	}
	if _, err := IndexFromTree(F14, x.Tree()); err != nil {
		t.Error(err)
	}
}

func TestPutKeepsUnknownKeys(t *testing.T) {
	x := newTestIndex(t, F12, complete(1, "ckpt.1"))
	x.Tree().PutString("FUTURE", "1")
	x.Tree().Get("DSET", "1", "NAME", "ckpt.1").PutString("NOTE", "kept")
	if err := x.Put(complete(1, "ckpt.1")); err != nil {
		t.Fatal(err)
	}
	if err := x.MarkFetched("ckpt.1", "2026-11-22T00:00:00"); err != nil {
		t.Fatal(err)
	}
	if err := x.MarkFetched("ckpt.1", "2026-11-23T00:00:00"); err != nil {
		t.Fatal(err)
	}
	if !x.Tree().Has("FUTURE") || x.Tree().Get("DSET", "1", "NAME", "ckpt.1", "NOTE", "kept") == nil {
		t.Errorf("got %q", text(x.Tree()))
	}
	e, err := x.Find("ckpt.1")
	if err != nil || !slices.Equal(e.Fetched, []Stamp{"2026-11-22T00:00:00", "2026-11-23T00:00:00"}) {
		t.Errorf("got %+v, %v", e, err)
	}
}

func TestHostileIndexIsRefused(t *testing.T) {
	good := newTestIndex(t, F14, complete(1, "run/a")).Tree()
	for name, c := range map[string]struct {
		change func(*kvtree.Tree)
		want   error
		says   string
	}{
		"version of SCR 3": {func(t *kvtree.Tree) { t.PutInt("VERSION", 2) }, ErrUnsupported, "VERSION"},
		"no version":       {func(t *kvtree.Tree) { t.Unset("VERSION") }, ErrInvalid, "VERSION"},
		"id 0":             {func(t *kvtree.Tree) { t.Sub("DSET", "0", "DIR", "x") }, ErrInvalid, "0"},
		"id no number":     {func(t *kvtree.Tree) { t.Sub("DSET", "last") }, ErrInvalid, "last"},
		"outside":          {func(t *kvtree.Tree) { t.Sub("DSET", "2", "DIR", "../../etc") }, ErrEscape, "../../etc"},
		"absolute":         {func(t *kvtree.Tree) { t.Sub("DSET", "2", "DIR", "/etc") }, ErrEscape, "/etc"},
		"no directory":     {func(t *kvtree.Tree) { t.Sub("DSET", "2", "DIR", "") }, ErrEscape, "dataset 2"},
		"another id":       {func(t *kvtree.Tree) { t.Get("DSET", "1", "DIR", "run/a", "DSET").PutInt("ID", 9) }, ErrInvalid, "9"},
		"time":             {func(t *kvtree.Tree) { t.Get("DSET", "1", "DIR", "run/a").PutString("FAILED", "yesterday") }, ErrInvalid, "yesterday"},
		"complete":         {func(t *kvtree.Tree) { t.Get("DSET", "1", "DIR", "run/a").PutString("COMPLETE", "2") }, ErrInvalid, "COMPLETE"},
		"two currents":     {func(t *kvtree.Tree) { t.SetKV("CURRENT", "a"); t.SetKV("CURRENT", "b") }, ErrInvalid, "CURRENT"},
	} {
		bad := good.Clone()
		c.change(bad)
		if _, err := IndexFromTree(F14, bad); !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: got %v, want %v naming %s", name, err, c.want, c.says)
		}
	}
	if err := NewIndex(F14).Put(IndexEntry{ID: 1, Name: "../x"}); !errors.Is(err, ErrEscape) {
		t.Errorf("put outside: got %v, want ErrEscape", err)
	}
	if err := NewIndex(F12).Put(IndexEntry{ID: 1, Name: "../x"}); err != nil {
		t.Errorf("a name of F12 is no path: %v", err)
	}
	if err := NewIndex(F12).Put(IndexEntry{ID: 0, Name: "x"}); !errors.Is(err, ErrInvalid) {
		t.Errorf("id 0: got %v, want ErrInvalid", err)
	}
}

func TestStampsAreLocalTime(t *testing.T) {
	loc := time.FixedZone("elsewhere", 3*3600)
	at := time.Date(2011, 2, 28, 12, 37, 4, 999, loc)
	if got := StampOf(at); got != "2011-02-28T12:37:04" {
		t.Errorf("got %s", got)
	}
	if back, err := StampOf(at).Time(loc); err != nil || !back.Equal(at.Truncate(time.Second)) {
		t.Errorf("got %v, %v", back, err)
	}
	if _, err := Stamp("12:37:04").Time(loc); !errors.Is(err, ErrInvalid) {
		t.Errorf("got %v, want ErrInvalid", err)
	}
}

// Both halves of the index say the same after any changes.
func TestHalvesOfIndexStayInStep(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := rapid.SampledFrom(Families()).Draw(t, "family")
		x := NewIndex(f)
		model := map[string]DatasetID{}
		name := rapid.SampledFrom([]string{"a", "run/b", "run/c"})
		t.Repeat(map[string]func(*rapid.T){
			"put": func(t *rapid.T) {
				e := complete(DatasetID(rapid.IntRange(1, 4).Draw(t, "id")), name.Draw(t, "name"))
				if err := x.Put(e); err != nil {
					t.Fatal(err)
				}
				model[e.Name] = e.ID
			},
			"remove": func(t *rapid.T) {
				n := name.Draw(t, "name")
				_, there := model[n]
				if err := x.Remove(n); (err == nil) != there {
					t.Fatalf("remove %s: %v", n, err)
				}
				delete(model, n)
			},
			"": func(t *rapid.T) {
				got := map[string]DatasetID{}
				entries, err := x.Entries()
				if err != nil {
					t.Fatal(err)
				}
				for _, e := range entries {
					got[e.Name] = e.ID
					if x.Tree().Get(x.nameKey(), e.Name, "DSET", e.ID.String()) == nil {
						t.Fatalf("%s is not in the list of names", e.Name)
					}
				}
				if diff := cmp.Diff(model, got); diff != "" || x.Tree().Get(x.nameKey()).Len() != len(model) {
					t.Fatalf("(-want +got)\n%s\n%q", diff, text(x.Tree()))
				}
			},
		})
	})
}

func TestFlushFileSaysWhatIsToDo(t *testing.T) {
	for _, f := range Families() {
		x := NewFlushFile(f)
		x.Put(7, FlushEntry{Name: "ckpt.7", Checkpoint: true})
		x.SetLocation(7, InCache)
		if !x.NeedsFlush(7) || !x.NeedsScavenge(7) {
			t.Errorf("%v: in cache only: %v, %v", f, x.NeedsFlush(7), x.NeedsScavenge(7))
		}
		x.SetLocation(7, InPrefix)
		x.SetLocation(7, Flushing)
		x.UnsetLocation(7, Flushing)
		if x.NeedsFlush(7) || x.NeedsScavenge(7) || x.At(7, Flushing) {
			t.Errorf("%v: in the prefix: %v, %v", f, x.NeedsFlush(7), x.NeedsScavenge(7))
		}
		if x.NeedsFlush(8) || x.NeedsScavenge(8) || x.Has(8) {
			t.Errorf("%v: a dataset that is not listed", f)
		}
		e, err := x.Entry(7)
		want := map[Family]FlushEntry{F11: {}, F14: {Name: "ckpt.7"}, F12: {Name: "ckpt.7", Checkpoint: true}}[f]
		if err != nil || e != want {
			t.Errorf("%v: got %+v, %v; want %+v", f, e, err, want)
		}
		x.Remove(7)
		x.Remove(7)
		if _, err := x.Entry(7); !errors.Is(err, ErrNotFound) || x.Tree().Len() != 0 {
			t.Errorf("%v: removed: %v, %q", f, err, text(x.Tree()))
		}
	}
	bad := kvtree.New()
	bad.Sub("DATASET", "-1")
	if _, err := FlushFileFromTree(F14, bad); !errors.Is(err, ErrInvalid) {
		t.Errorf("got %v, want ErrInvalid", err)
	}
}

func TestAnIndexWithoutListOfNamesIsMended(t *testing.T) {
	tree := newTestIndex(t, F14, complete(1, "run/a")).Tree().Clone()
	tree.Unset("DIR")
	x, err := IndexFromTree(F14, tree)
	if err != nil {
		t.Fatal(err)
	}
	if err := x.Put(complete(2, "run/a")); err != nil {
		t.Fatal(err)
	}
	if entries, err := x.Entries(); err != nil || len(entries) != 1 || entries[0].ID != 2 {
		t.Errorf("got %+v, %v; want only dataset 2", entries, err)
	}
}
