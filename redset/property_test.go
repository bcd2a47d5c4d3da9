package redset_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/scrfs/scrfs/redset"
	"github.com/scrfs/scrfs/scr"
)

func drawPlaces(t *rapid.T) []redset.RankPlace {
	groups := rapid.IntRange(1, 12).Draw(t, "groups")
	ranks := rapid.IntRange(1, 60).Draw(t, "ranks")
	list := make([]redset.RankPlace, ranks)
	for i := range list {
		g := rapid.IntRange(0, groups-1).Draw(t, "group")
		list[i] = redset.RankPlace{Rank: scr.Rank(3 * i), Node: fmt.Sprint("n", i%7), Group: fmt.Sprint("g", g)}
	}
	return list
}

func drawOptions(t *rapid.T) redset.Options {
	return redset.Options{
		Scheme:      rapid.SampledFrom([]scr.Scheme{scr.Single, scr.Partner, scr.XOR}).Draw(t, "scheme"),
		Family:      rapid.SampledFrom([]scr.Family{scr.F11, scr.F12, scr.F14}).Draw(t, "family"),
		SetSize:     rapid.SampledFrom([]int{0, 2, 3, 4, 8, 11}).Draw(t, "setSize"),
		HopDistance: rapid.IntRange(0, 4).Draw(t, "hop"),
	}
}

func TestSetsPartitionTheRanksAndNeverShareAGroup(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list, o := drawPlaces(t), drawOptions(t)
		sets, warnings, err := redset.Form(list, o)
		if err != nil {
			t.Fatal(err)
		}
		group := make(map[scr.Rank]string)
		for _, p := range list {
			group[p.Rank] = p.Group
		}
		warned := make(map[scr.Rank]bool)
		for _, w := range warnings {
			for _, r := range w.Ranks {
				warned[r] = true
			}
		}
		seen := make(map[scr.Rank]bool)
		for _, s := range sets {
			if s.ID != s.Members[0] || !slices.IsSorted(s.Members) {
				t.Fatalf("set %d has members %v", s.ID, s.Members)
			}
			if single := s.Scheme == scr.Single; single != (len(s.Members) == 1) {
				t.Fatalf("set %v is %v", s.Members, s.Scheme)
			}
			if len(s.Members) == 1 && o.Scheme != scr.Single && !warned[s.ID] {
				t.Fatalf("rank %d is alone and nobody says so", s.ID)
			}
			inSet := make(map[string]bool)
			for _, r := range s.Members {
				if seen[r] || inSet[group[r]] {
					t.Fatalf("rank %d: twice, or twice its group, in %s", r, show(sets))
				}
				seen[r], inSet[group[r]] = true, true
			}
		}
		if len(seen) != len(list) {
			t.Fatalf("%d ranks in sets, of %d", len(seen), len(list))
		}
	})
}

func TestMinimumIsKept(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		nodes := rapid.IntRange(2, 300).Draw(t, "nodes")
		size := rapid.IntRange(2, 20).Draw(t, "setSize")
		sets, _, err := redset.Form(ones(nodes), redset.Options{Scheme: scr.XOR, Family: scr.F14, SetSize: size})
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range sets {
			if n := len(s.Members); n < min(size, nodes) || n > 2*size && n > min(size, nodes)+1 {
				t.Fatalf("%d nodes, minimum %d: a set of %d", nodes, size, n)
			}
		}
	})
}

func TestOrderOfPlacesHasNoMeaning(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list, o := drawPlaces(t), drawOptions(t)
		sets, warnings, _ := redset.Form(list, o)
		shuffled := rapid.Permutation(list).Draw(t, "order")
		sets2, warnings2, _ := redset.Form(shuffled, o)
		if diff := cmp.Diff(sets, sets2) + cmp.Diff(warnings, warnings2); diff != "" {
			t.Fatal(diff)
		}
	})
}
