package scavenger

import (
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/scrfs/scrfs/scr"
)

// job is a run of one rank per node on four nodes, with XOR sets of four.
func descriptor(id scr.DatasetID) scr.Dataset {
	return scr.Dataset{ID: id, Name: scr.DatasetName(id), Checkpoint: scr.CheckpointID(id), Files: 4, SizeBytes: 400, Complete: true}
}

func held(rank scr.Rank) HeldRank {
	return HeldRank{Rank: rank, Files: 2, Bytes: 150, Redundancy: true, Set: SetInfo{Scheme: "XOR", ID: 0, Size: 4, Mends: 1}}
}

func cached(id scr.DatasetID, ranks ...scr.Rank) CachedDataset {
	d := CachedDataset{ID: id, Dataset: descriptor(id), Ranks: 4}
	for _, r := range ranks {
		d.Held = append(d.Held, held(r))
	}
	return d
}

// caches gives each of the named nodes n0..n3 its rank of the datasets.
func caches(ids []scr.DatasetID, nodes ...int) []NodeCache {
	var all []NodeCache
	for _, n := range nodes {
		c := NodeCache{Node: "n" + scr.Rank(n).String()}
		for _, id := range ids {
			c.Datasets = append(c.Datasets, cached(id, scr.Rank(n)))
		}
		all = append(all, c)
	}
	return all
}

func ids(list ...scr.DatasetID) []scr.DatasetID { return list }

// change lets a test spoil one node's part of a dataset.
func change(all []NodeCache, node int, id scr.DatasetID, f func(*CachedDataset)) []NodeCache {
	for i := range all[node].Datasets {
		if all[node].Datasets[i].ID == id {
			f(&all[node].Datasets[i])
		}
	}
	return all
}

func TestPlanTable(t *testing.T) {
	single := func(d *CachedDataset) { d.Held[0].Set = SetInfo{Scheme: "SINGLE", ID: d.Held[0].Rank, Size: 1} }
	for _, c := range []struct {
		name   string
		in     Input
		rescue string // "id" or "id-rank-rank" with the ranks to rebuild
		skip   string // "id:why"
		reason string // part of the reason of the first that is skipped
	}{
		{name: "nothing in cache"},
		{name: "oldest first", in: Input{Caches: caches(ids(7, 5, 6), 0, 1, 2, 3)}, rescue: "5 6 7"},
		{name: "one node lost", in: Input{Caches: caches(ids(5), 0, 1, 3), Down: []string{"n2"}}, rescue: "5-2"},
		{name: "last rank lost", in: Input{Caches: caches(ids(5), 0, 1, 2)}, rescue: "5-3"},
		{
			name: "two nodes lost", in: Input{Caches: caches(ids(5), 0, 3), Down: []string{"n1", "n2"}},
			skip: "5:lost", reason: "ranks 1, 2 are lost: XOR set 0 of 4 ranks lacks 2 and can mend 1; down: n1, n2",
		},
		{
			name: "published ones stay, older ones are not brought back", in: Input{Caches: caches(ids(4, 5, 6), 0, 1, 2, 3), Published: ids(5)},
			rescue: "6", skip: "4:older 5:published", reason: "older than dataset 5",
		},
		{
			name: "a dataset that was being written", in: Input{Caches: change(caches(ids(5, 6), 0, 1, 2, 3), 2, 6, func(d *CachedDataset) { d.Unsealed = "rank 2 was writing" })},
			rescue: "5", skip: "6:suspect", reason: "node n2: rank 2 was writing",
		},
		{
			name: "two writings of one dataset", in: Input{Caches: change(caches(ids(5), 0, 1, 2, 3), 1, 5, func(d *CachedDataset) { d.Dataset.SizeBytes++ })},
			skip: "5:suspect", reason: "nodes n0 and n1 hold different writings",
		},
		{
			name: "not complete", in: Input{Caches: change(caches(ids(5), 0), 0, 5, func(d *CachedDataset) { d.Dataset.Complete = false })},
			skip: "5:suspect", reason: "not every rank said",
		},
		{
			name: "a file is damaged and is rebuilt", in: Input{Caches: change(caches(ids(5), 0, 1, 2, 3), 1, 5, func(d *CachedDataset) { d.Held[0].Missing = "a has 3 bytes" })},
			rescue: "5-1",
		},
		{
			name: "a file is damaged and a node lost", in: Input{Caches: change(caches(ids(5), 0, 1, 2), 1, 5, func(d *CachedDataset) { d.Held[0].Missing = "a has 3 bytes" })},
			skip: "5:lost", reason: "ranks 1 (node n1: a has 3 bytes), 3 are lost",
		},
		{
			name:   "killed before the redundancy was made, nothing lost",
			in:     Input{Caches: change(caches(ids(5), 0, 1, 2, 3), 1, 5, func(d *CachedDataset) { d.Held[0].Redundancy = false })},
			rescue: "5",
		},
		{
			name: "killed before the redundancy was made, a node lost",
			in:   Input{Caches: change(caches(ids(5), 0, 1, 2), 1, 5, func(d *CachedDataset) { d.Held[0].Redundancy = false })},
			skip: "5:lost", reason: "has only 2 redundancy files",
		},
		{
			name: "a set whose every node is lost", in: Input{Caches: change(caches(ids(5), 0), 0, 5, single)},
			skip: "5:lost", reason: "no live node is of their redundancy set",
		},
		{
			name: "the stage has what the lost node had", in: Input{
				Caches: caches(ids(5), 0, 3), Staged: map[scr.DatasetID]StagedPart{5: {Dataset: descriptor(5), Ranks: []scr.Rank{0, 1, 2}}},
			},
			rescue: "5",
		},
		{
			name: "the stage is of another writing", in: Input{
				Caches: caches(ids(5), 0, 3), Staged: map[scr.DatasetID]StagedPart{5: {Dataset: descriptor(6), Ranks: []scr.Rank{0, 1, 2}}},
			},
			skip: "5:lost",
		},
		{name: "only one", in: Input{Caches: caches(ids(5, 6), 0, 1, 2, 3), Only: 5}, rescue: "5", skip: "6:not-asked"},
		{name: "only one, not there", in: Input{Caches: caches(ids(5), 0, 1, 2, 3), Only: 8}, skip: "5:not-asked 8:not-cached"},
		{
			name: "little time", in: Input{Caches: caches(ids(5, 6, 7), 0, 1, 2, 3), TimeLeft: time.Second, Rate: 100},
			rescue: "7", skip: "5:no-time 6:no-time", reason: "less than 1s",
		},
		{
			name: "time for two", in: Input{Caches: caches(ids(5, 6, 7), 0, 1, 2, 3), TimeLeft: 3 * time.Second, Rate: 100},
			rescue: "6 7", skip: "5:no-time",
		},
		{
			name: "output newer than the last checkpoint", in: Input{
				Caches:   change(caches(ids(5, 6), 0), 0, 6, func(d *CachedDataset) { d.Dataset.Checkpoint = 0; d.Ranks = 1; single(d) }),
				TimeLeft: 1, Rate: 1, Staged: map[scr.DatasetID]StagedPart{5: {Dataset: descriptor(5), Ranks: []scr.Rank{1, 2, 3}}},
			},
			rescue: "5 6",
		},
		{
			name: "a rank on two nodes is copied once", in: Input{Caches: change(caches(ids(5), 0, 1, 2, 3), 2, 5, func(d *CachedDataset) {
				d.Held = append(d.Held, held(1))
			})},
			rescue: "5",
		},
		{
			name: "a partner's copy counts while its owner is down", in: Input{Down: []string{"n3"}, Caches: change(caches(ids(5), 0, 1, 2), 2, 5, func(d *CachedDataset) {
				d.Held = append(d.Held, HeldRank{Rank: 3, PartnerOf: "n3"})
			})},
			rescue: "5",
		},
		{
			name: "a partner's copy does not count beside its owner", in: Input{Caches: change(caches(ids(5), 0, 1, 2), 2, 5, func(d *CachedDataset) {
				d.Held = append(d.Held, HeldRank{Rank: 3, PartnerOf: "n3"})
			})},
			rescue: "5-3",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := Decide(c.in)
			var rescue, skip []string
			for _, r := range p.Rescue {
				word := r.Dataset.ID.String()
				for _, lost := range r.Rebuild {
					word += "-" + lost.String()
				}
				rescue = append(rescue, word)
			}
			for _, s := range p.Skipped {
				skip = append(skip, s.ID.String()+":"+string(s.Why))
			}
			if got := strings.Join(rescue, " "); got != c.rescue {
				t.Errorf("rescues %q, want %q", got, c.rescue)
			}
			if got := strings.Join(skip, " "); got != c.skip {
				t.Errorf("skips %q, want %q", got, c.skip)
			}
			if c.reason != "" && (len(p.Skipped) == 0 || !strings.Contains(p.Skipped[0].Reason, c.reason)) {
				t.Errorf("skipped %+v, want a reason with %q", p.Skipped, c.reason)
			}
		})
	}
}

// Whatever nodes say: each dataset has one fate, what is rescued is newer than
// all that is published, oldest first, and nobody copies what he does not have.
func TestPlanKeepsItsPromises(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := drawInput(t)
		p := Decide(in)
		seen := map[scr.DatasetID]bool{}
		last := scr.DatasetID(0)
		for _, r := range p.Rescue {
			id := r.Dataset.ID
			if id <= last {
				t.Fatalf("dataset %d comes after %d", id, last)
			}
			last, seen[id] = id, true
			for _, pub := range in.Published {
				if id <= pub {
					t.Fatalf("dataset %d is rescued, %d is published", id, pub)
				}
			}
			checkRescue(t, in, r)
		}
		for _, s := range p.Skipped {
			if seen[s.ID] {
				t.Fatalf("dataset %d has two fates", s.ID)
			}
			seen[s.ID] = true
			if s.Reason == "" || s.Why == "" {
				t.Fatalf("dataset %d is skipped without a reason", s.ID)
			}
		}
		for _, c := range in.Caches {
			for _, d := range c.Datasets {
				if !seen[d.ID] {
					t.Fatalf("dataset %d is forgotten", d.ID)
				}
			}
		}
	})
}

// checkRescue holds a rescue against an own count of the XOR set.
func checkRescue(t *rapid.T, in Input, r Rescue) {
	have, parity := map[scr.Rank]bool{}, map[scr.Rank]bool{}
	for _, c := range in.Caches {
		for _, d := range c.Datasets {
			if d.ID != r.Dataset.ID {
				continue
			}
			if d.Unsealed != "" {
				t.Fatalf("dataset %d is rescued and node %s was writing it", d.ID, c.Node)
			}
			for _, h := range d.Held {
				have[h.Rank] = have[h.Rank] || h.Missing == ""
				parity[h.Rank] = parity[h.Rank] || h.Missing == "" && h.Redundancy
			}
		}
	}
	asked := map[scr.Rank]bool{}
	for _, s := range r.Sources {
		for _, rank := range s.Ranks {
			if asked[rank] {
				t.Fatalf("rank %d is copied twice", rank)
			}
			asked[rank] = true
			if !have[rank] {
				t.Fatalf("node %s shall copy rank %d, which it does not have", s.Node, rank)
			}
		}
	}
	for _, rank := range r.Staged {
		have[rank] = true
	}
	lost, redundant := 0, 0
	for rank := range scr.Rank(4) {
		if !have[rank] {
			lost++
			if !slices.Contains(r.Rebuild, rank) {
				t.Fatalf("rank %d is nowhere and not rebuilt", rank)
			}
		}
		if parity[rank] {
			redundant++
		}
	}
	if lost > 1 || lost == 1 && redundant < 3 {
		t.Fatalf("dataset %d lacks %d ranks and has %d redundancy files", r.Dataset.ID, lost, redundant)
	}
}

func drawInput(t *rapid.T) Input {
	in := Input{Staged: map[scr.DatasetID]StagedPart{}}
	for n := range 4 {
		if rapid.IntRange(0, 5).Draw(t, "up") == 0 {
			in.Down = append(in.Down, "n"+scr.Rank(n).String())
			continue
		}
		c := NodeCache{Node: "n" + scr.Rank(n).String()}
		for id := scr.DatasetID(1); id <= 5; id++ {
			d := cached(id, scr.Rank(n))
			switch rapid.IntRange(0, 20).Draw(t, "fate") {
			case 0:
				continue
			case 1:
				d.Unsealed = "is being written"
			case 2:
				d.Held[0].Missing = "a file is gone"
			case 3:
				d.Held[0].Redundancy = false
			case 4:
				d.Dataset.SizeBytes++
			case 5:
				d.Held = append(d.Held, held(scr.Rank(rapid.IntRange(0, 3).Draw(t, "second"))))
			}
			c.Datasets = append(c.Datasets, d)
		}
		in.Caches = append(in.Caches, c)
	}
	for id := scr.DatasetID(1); id <= 5; id++ {
		if rapid.IntRange(0, 8).Draw(t, "published") == 0 {
			in.Published = append(in.Published, id)
		}
		if rapid.IntRange(0, 3).Draw(t, "staged") == 0 {
			in.Staged[id] = StagedPart{Dataset: descriptor(id), Ranks: []scr.Rank{scr.Rank(rapid.IntRange(0, 3).Draw(t, "rank"))}}
		}
	}
	in.TimeLeft = time.Duration(rapid.IntRange(0, 20).Draw(t, "time")) * time.Second
	in.Rate = 100
	return in
}

// The newest checkpoint is always tried, and more time never means less.
func TestFitKeepsTheNewestCheckpoint(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var list []Rescue
		newest := -1
		for i := range rapid.IntRange(1, 6).Draw(t, "count") {
			r := Rescue{Dataset: descriptor(scr.DatasetID(i + 1)), Sources: []Source{{Bytes: rapid.Int64Min(0).Draw(t, "bytes")}}}
			if rapid.Bool().Draw(t, "output") {
				r.Dataset.Checkpoint = 0
			} else {
				newest = i
			}
			list = append(list, r)
		}
		left := time.Duration(rapid.Int64Min(0).Draw(t, "left"))
		rate := rapid.Int64Range(0, 1<<40).Draw(t, "rate")
		first := Fit(list, left, rate)
		if first < 0 || first >= len(list) || newest >= 0 && first > newest {
			t.Fatalf("begins at %d of %d, newest checkpoint %d", first, len(list), newest)
		}
		if more := Fit(list, left+(1<<62-left/2)/4, rate); more > first {
			t.Fatalf("with more time it begins at %d, not %d", more, first)
		}
	})
	if got := Fit(nil, time.Second, 1); got != 0 {
		t.Errorf("of nothing: begins at %d", got)
	}
}
