package main

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/scrfs/scrfs/scavenger"
	"github.com/scrfs/scrfs/scr"
)

// What one side writes as flags the other reads.
func TestOrdersSurviveTheCommandLine(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ranks := rapid.SliceOfDistinct(rapid.Custom(func(t *rapid.T) scr.Rank {
			return scr.Rank(rapid.IntRange(0, scr.MaxRanks-1).Draw(t, "rank"))
		}), func(r scr.Rank) scr.Rank { return r }).Draw(t, "ranks")
		slices.Sort(ranks)
		got, err := parseRanks(formatRanks(ranks))
		if err != nil || !slices.Equal(got, ranks) {
			t.Fatalf("ranks %v read as %v, %v", ranks, got, err)
		}
		want := scavenger.CopyOrder{Sets: ranks, AllSets: rapid.Bool().Draw(t, "all")}
		if want.AllSets {
			want.Sets = nil
		}
		var order scavenger.CopyOrder
		if err := parseSets(formatSets(want), &order); err != nil || order.AllSets != want.AllSets || !slices.Equal(order.Sets, want.Sets) {
			t.Fatalf("sets %+v read as %+v, %v", want, order, err)
		}
	})
	for _, bad := range []string{"", "x", "1,,2", "-1", "01", "all,1", "1;2"} {
		var order scavenger.CopyOrder
		if err := parseSets(bad, &order); err == nil {
			t.Errorf("--sets %q is read as %+v", bad, order)
		}
	}
}
