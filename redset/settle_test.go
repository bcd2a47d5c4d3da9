package redset

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/scrfs/scrfs/scr"
)

func TestSettle(t *testing.T) {
	place := func(nodes ...string) (list []RankPlace) {
		for r, n := range nodes {
			list = append(list, RankPlace{Rank: scr.Rank(r), Node: n})
		}
		return list
	}
	for _, c := range []struct {
		name    string
		writers []Writer
		nodes   []string
		ranks   []scr.Rank
		places  []RankPlace
	}{
		{"each rank on its node", []Writer{{"b", 1, 2}, {"a", 0, 2}}, []string{"a", "b"}, []scr.Rank{1, 0}, place("a", "b")},
		{"rank 0 writes alone", []Writer{{"a", 0, 4}}, []string{"a", "b", "c"}, []scr.Rank{0}, place("a", "b", "c", "a")},
		{"nobody has a rank", []Writer{{"b", NoRank, 0}, {"b", NoRank, 0}}, []string{"a", "b"}, []scr.Rank{1, 1}, place("a", "b")},
		{"a helper beside the ranks", []Writer{{"a", 0, 2}, {"b", 1, 2}, {"b", NoRank, 0}}, nil, []scr.Rank{0, 1, 1}, place("a", "b")},
		{"a helper on a node without ranks", []Writer{{"a", 0, 1}, {"b", NoRank, 0}}, nil, []scr.Rank{0, 1}, place("a", "b")},
		{"a second step of another size", []Writer{{"a", 0, 2}, {"b", 1, 2}, {"b", 0, 1}}, nil, []scr.Rank{0, 1, 1}, place("a", "b")},
		{"two steps with the same ranks", []Writer{{"a", 0, 2}, {"b", 1, 2}, {"b", 0, 2}}, nil, []scr.Rank{0, 1, 1}, place("a", "b")},
		{"world not known", []Writer{{"a", 3, 0}}, []string{"a", "b"}, []scr.Rank{3}, place("b", "a", "b", "a")},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := Settle(c.writers, c.nodes)
			want := Settlement{Ranks: c.ranks, Places: c.places}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("Settle (-want +got):\n%s", diff)
			}
		})
	}
}

// TestSettleGivesEveryFileARankOfItsNode: whatever wrote the files, each gets a
// rank that is placed on the node where the file lies.
func TestSettleGivesEveryFileARankOfItsNode(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		writers := rapid.SliceOf(rapid.Custom(func(t *rapid.T) Writer {
			world := rapid.IntRange(0, 5).Draw(t, "world")
			return Writer{
				Node:  rapid.SampledFrom([]string{"a", "b", "c", "d"}).Draw(t, "node"),
				Rank:  scr.Rank(rapid.IntRange(-1, max(world-1, 2)).Draw(t, "rank")),
				World: world,
			}
		})).Draw(t, "writers")
		s := Settle(writers, []string{"a", "b"})
		for i, p := range s.Places {
			if p.Rank != scr.Rank(i) || p.Node == "" {
				t.Fatalf("place %d is %+v", i, p)
			}
		}
		for i, w := range writers {
			if r := s.Ranks[i]; int(r) >= len(s.Places) || s.Places[r].Node != w.Node {
				t.Fatalf("file of %+v got rank %d, placed %+v", w, r, s.Places)
			}
		}
	})
}
