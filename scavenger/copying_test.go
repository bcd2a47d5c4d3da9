package scavenger

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/scrfs/scrfs/scr"
)

// A node keeps a copy for its partner, which fails while it copies: the copy is
// asked for in a second round, and nothing is copied twice.
func TestAPartnersCopyStandsIn(t *testing.T) {
	partner := SetInfo{Scheme: "PARTNER", Size: 2}
	in := Input{Caches: []NodeCache{
		{Node: "n0", Datasets: []CachedDataset{{ID: 5, Dataset: descriptor(5), Ranks: 2, Held: []HeldRank{{Rank: 0, Set: partner}}}}},
		{Node: "n1", Datasets: []CachedDataset{{ID: 5, Dataset: descriptor(5), Ranks: 2, Held: []HeldRank{
			{Rank: 0, PartnerOf: "n0", Set: partner}, {Rank: 1, Set: partner},
		}}}},
	}}
	p := Decide(in)
	if len(p.Rescue) != 1 {
		t.Fatalf("plan is %+v", p)
	}
	var mu sync.Mutex
	asked := map[string][][]scr.Rank{}
	r := &run{Options: Options{Width: 2, Now: time.Now, Report: func(Step) {}, Copy: func(_ context.Context, node string, o CopyOrder) (Copied, error) {
		mu.Lock()
		defer mu.Unlock()
		asked[node] = append(asked[node], o.Ranks)
		if node == "n0" {
			return Copied{}, errors.New("power is gone")
		}
		if slices.Contains(o.Ranks, 0) != slices.Contains(o.Failed, "n0") {
			t.Errorf("node n1 shall copy ranks %v, failed are %v", o.Ranks, o.Failed)
		}
		return Copied{Ranks: o.Ranks}, nil
	}}}
	c, d := newCopying(in, 5), p.Rescue[0]
	if failed := c.round(context.Background(), r, d); len(failed) != 1 {
		t.Fatalf("failed: %v", failed)
	}
	d, why, reason := c.decide(StagedPart{})
	if why != "" {
		t.Fatalf("%s: %s", why, reason)
	}
	if failed := c.round(context.Background(), r, d); len(failed) != 0 || !c.done(d) {
		t.Fatalf("failed: %v, done %v", failed, c.done(d))
	}
	if got := asked["n1"]; len(got) != 2 || !slices.Equal(got[0], []scr.Rank{1}) || !slices.Equal(got[1], []scr.Rank{0}) {
		t.Errorf("node n1 was asked for %v, want rank 1, then rank 0", got)
	}
	if len(asked["n0"]) != 1 {
		t.Errorf("node n0 was asked %d times", len(asked["n0"]))
	}
}

// A node that says it copied and did not is not believed.
func TestARankThatIsNotReportedIsNotCopied(t *testing.T) {
	in := Input{Caches: caches(ids(5), 0, 1, 2, 3)}
	r := &run{Options: Options{Width: 1, Now: time.Now, Report: func(Step) {}, Copy: func(_ context.Context, node string, o CopyOrder) (Copied, error) {
		if node == "n2" {
			return Copied{}, nil
		}
		return Copied{Ranks: o.Ranks}, nil
	}}}
	c := newCopying(in, 5)
	failed := c.round(context.Background(), r, Decide(in).Rescue[0])
	if len(failed) != 1 {
		t.Fatalf("failed: %v", failed)
	}
	d, why, _ := c.decide(StagedPart{})
	if why != "" || !slices.Equal(d.Rebuild, []scr.Rank{2}) || !slices.Equal(d.Sets, []scr.Rank{0}) {
		t.Errorf("then: %+v, %s", d, why)
	}
}
