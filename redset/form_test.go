package redset_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/scrfs/scrfs/redset"
	"github.com/scrfs/scrfs/scr"
)

// places puts ranks on nodes: perNode[k] ranks, numbered on, on node k.
func places(perNode ...int) []redset.RankPlace {
	var list []redset.RankPlace
	for k, n := range perNode {
		for range n {
			list = append(list, redset.RankPlace{Rank: scr.Rank(len(list)), Node: fmt.Sprintf("node%d", k)})
		}
	}
	return list
}

// ones is n nodes of one rank each.
func ones(n int) []redset.RankPlace { return places(slices.Repeat([]int{1}, n)...) }

func show(sets []redset.Set) string {
	var lines []string
	for _, s := range sets {
		lines = append(lines, fmt.Sprintf("%d %v %v", s.ID, s.Scheme, s.Members))
	}
	return strings.Join(lines, "; ")
}

func TestSetsAreThoseOfSCR(t *testing.T) {
	tests := []struct {
		name   string
		places []redset.RankPlace
		o      redset.Options
		want   string
	}{
		// the two examples that the description of the formats gives
		{"two ranks per node", places(2, 2, 2, 2), redset.Options{Scheme: scr.XOR, Family: scr.F14},
			"0 XOR [0 2 4 6]; 1 XOR [1 3 5 7]"},
		{"eight nodes, sets of four", ones(8), redset.Options{Scheme: scr.XOR, Family: scr.F14, SetSize: 4},
			"0 XOR [0 1 2 3]; 4 XOR [4 5 6 7]"},
		{"fewer than the minimum", ones(5), redset.Options{Scheme: scr.XOR, Family: scr.F12, SetSize: 8},
			"0 XOR [0 1 2 3 4]"},

		// the minimum formula: 11 in sets of at least 4 are 2 sets, 5 and a remainder
		{"minimum with remainder", ones(11), redset.Options{Scheme: scr.XOR, Family: scr.F14, SetSize: 4},
			"0 XOR [0 1 2 3 4 5]; 6 XOR [6 7 8 9 10]"},
		{"minimum, 9 in fours", ones(9), redset.Options{Scheme: scr.XOR, Family: scr.F12, SetSize: 4},
			"0 XOR [0 1 2 3 4]; 5 XOR [5 6 7 8]"},
		{"minimum, 15 in fours", ones(15), redset.Options{Scheme: scr.XOR, Family: scr.F14, SetSize: 4},
			"0 XOR [0 1 2 3 4]; 5 XOR [5 6 7 8 9]; 10 XOR [10 11 12 13 14]"},
		{"default set size is eight", ones(16), redset.Options{Scheme: scr.XOR, Family: scr.F14},
			"0 XOR [0 1 2 3 4 5 6 7]; 8 XOR [8 9 10 11 12 13 14 15]"},

		// F11: a maximum, and hops
		{"maximum", ones(8), redset.Options{Scheme: scr.XOR, Family: scr.F11, SetSize: 3},
			"0 XOR [0 1 2]; 3 XOR [3 4 5]; 6 XOR [6 7]"},
		{"hop distance two", ones(8), redset.Options{Scheme: scr.XOR, Family: scr.F11, SetSize: 4, HopDistance: 2},
			"0 XOR [0 2 4 6]; 1 XOR [1 3 5 7]"},
		{"hop distance two, two rounds", ones(8), redset.Options{Scheme: scr.XOR, Family: scr.F11, SetSize: 2, HopDistance: 2},
			"0 XOR [0 2]; 1 XOR [1 3]; 4 XOR [4 6]; 5 XOR [5 7]"},

		{"partner is the whole level", ones(20), redset.Options{Scheme: scr.Partner, Family: scr.F14, SetSize: 4},
			"0 PARTNER [0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19]"},
		{"partner, two levels", places(2, 2, 2), redset.Options{Scheme: scr.Partner, Family: scr.F14},
			"0 PARTNER [0 2 4]; 1 PARTNER [1 3 5]"},
		{"single", places(2, 1), redset.Options{Scheme: scr.Single, Family: scr.F14},
			"0 SINGLE [0]; 1 SINGLE [1]; 2 SINGLE [2]"},
		{"uneven, each level has two or more", places(3, 1, 3), redset.Options{Scheme: scr.XOR, Family: scr.F14},
			"0 XOR [0 3 4]; 1 XOR [1 5]; 2 XOR [2 6]"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			sets, warnings, err := redset.Form(test.places, test.o)
			if err != nil {
				t.Fatal(err)
			}
			if got := show(sets); got != test.want {
				t.Errorf("sets\n got %s\nwant %s", got, test.want)
			}
			for _, w := range warnings {
				t.Errorf("unexpected warning: %v", w)
			}
		})
	}
}

func TestNothingIsSilentlyUnprotected(t *testing.T) {
	xor := redset.Options{Scheme: scr.XOR, Family: scr.F14, SetSize: 2}
	tests := []struct {
		name   string
		places []redset.RankPlace
		o      redset.Options
		want   string
		warn   []redset.Warning
	}{
		{"one node", places(3), xor, "0 SINGLE [0]; 1 SINGLE [1]; 2 SINGLE [2]",
			[]redset.Warning{{Reason: redset.OneGroup, Group: "node0", Ranks: []scr.Rank{0, 1, 2}}}},
		{"one rank", places(1), xor, "0 SINGLE [0]",
			[]redset.Warning{{Reason: redset.OneGroup, Group: "node0", Ranks: []scr.Rank{0}}}},
		{"nodes of one failure group", []redset.RankPlace{
			{Rank: 0, Node: "a", Group: "psu1"}, {Rank: 1, Node: "b", Group: "psu1"},
		}, xor, "0 SINGLE [0]; 1 SINGLE [1]",
			[]redset.Warning{{Reason: redset.OneGroup, Group: "psu1", Ranks: []scr.Rank{0, 1}}}},
		// node1 has a rank too many; the first level has a set without node1
		{"a lone rank joins a set of others", places(1, 2, 1, 1), xor, "0 XOR [0 1]; 2 XOR [2 3 4]", nil},
		// rank 8 shares node7 with a member of the second set
		{"a lone rank avoids its own node", places(1, 1, 1, 1, 1, 1, 1, 2), redset.Options{Scheme: scr.XOR, Family: scr.F14, SetSize: 3},
			"0 XOR [0 1 2 3 8]; 4 XOR [4 5 6 7]", nil},
		{"a lone rank joins the smallest set", places(append([]int{2}, slices.Repeat([]int{1}, 13)...)...),
			redset.Options{Scheme: scr.XOR, Family: scr.F14, SetSize: 4},
			"0 XOR [0 2 3 4 5]; 1 XOR [1 11 12 13 14]; 6 XOR [6 7 8 9 10]", nil},
		{"a lone rank finds none", places(2, 1), xor, "0 XOR [0 2]; 1 SINGLE [1]",
			[]redset.Warning{{Reason: redset.NoPartner, Group: "node0", Ranks: []scr.Rank{1}}}},
		{"many lone ranks", places(1, 5, 1, 1), xor, "0 XOR [0 1]; 2 XOR [2 6 7]; 3 SINGLE [3]; 4 SINGLE [4]; 5 SINGLE [5]",
			[]redset.Warning{{Reason: redset.NoPartner, Group: "node1", Ranks: []scr.Rank{3, 4, 5}}}},
		{"partner, a lone rank", places(1, 2, 1), redset.Options{Scheme: scr.Partner, Family: scr.F14},
			"0 PARTNER [0 1 3]; 2 SINGLE [2]",
			[]redset.Warning{{Reason: redset.NoPartner, Group: "node1", Ranks: []scr.Rank{2}}}},
		// F11 leaves the last of five alone; it makes the set one larger than the maximum
		{"maximum leaves one over", ones(5), redset.Options{Scheme: scr.XOR, Family: scr.F11, SetSize: 2},
			"0 XOR [0 1 4]; 2 XOR [2 3]", nil},
		{"hops longer than the level", ones(3), redset.Options{Scheme: scr.XOR, Family: scr.F11, SetSize: 4, HopDistance: 9},
			"0 XOR [0 1 2]", nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			sets, warnings, err := redset.Form(test.places, test.o)
			if err != nil {
				t.Fatal(err)
			}
			if got := show(sets); got != test.want {
				t.Errorf("sets\n got %s\nwant %s", got, test.want)
			}
			if diff := cmp.Diff(test.warn, warnings); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
		})
	}
}

func TestFailureGroupsOtherThanNodes(t *testing.T) {
	var list []redset.RankPlace
	for i := range 8 { // nodes 0 and 1 share a power supply, and so on
		list = append(list, redset.RankPlace{Rank: scr.Rank(i), Node: fmt.Sprint("n", i), Group: fmt.Sprint("psu", i/2)})
	}
	sets, warnings, err := redset.Form(list, redset.Options{Scheme: scr.XOR, Family: scr.F14, SetSize: 4})
	if err != nil || warnings != nil {
		t.Fatal(err, warnings)
	}
	if got, want := show(sets), "0 XOR [0 2 4 6]; 1 XOR [1 3 5 7]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestFormRefuses(t *testing.T) {
	xor := redset.Options{Scheme: scr.XOR, Family: scr.F14}
	tests := []struct {
		name   string
		places []redset.RankPlace
		o      redset.Options
		want   string
	}{
		{"no ranks", nil, xor, "no ranks"},
		{"a rank twice", []redset.RankPlace{{Rank: 4, Node: "a"}, {Rank: 4, Node: "b"}}, xor, "rank 4: given twice"},
		{"a negative rank", []redset.RankPlace{{Rank: -1, Node: "a"}}, xor, "rank -1"},
		{"no node", []redset.RankPlace{{Rank: 3}}, xor, "rank 3: neither"},
		{"RS", ones(4), redset.Options{Scheme: scr.RS, Family: scr.F14}, "RS"},
		{"set size 1", ones(4), redset.Options{Scheme: scr.XOR, Family: scr.F14, SetSize: 1}, "set size 1"},
		{"negative set size", ones(4), redset.Options{Scheme: scr.XOR, Family: scr.F14, SetSize: -3}, "set size -3"},
		{"negative hop", ones(4), redset.Options{Scheme: scr.XOR, Family: scr.F11, HopDistance: -1}, "hop distance -1"},
		{"no family", ones(4), redset.Options{Scheme: scr.XOR}, "family"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			sets, _, err := redset.Form(test.places, test.o)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, %v; want an error with %q", sets, err, test.want)
			}
		})
	}
}

func TestNeighboursAreARing(t *testing.T) {
	s := redset.Set{ID: 2, Members: []scr.Rank{2, 5, 9}}
	if s.Left(0) != 9 || s.Right(2) != 2 || s.Left(2) != 5 || s.Right(0) != 5 {
		t.Errorf("left and right of %v: %d %d %d %d", s.Members, s.Left(0), s.Right(2), s.Left(2), s.Right(0))
	}
	if s.Index(9) != 2 || s.Index(3) != -1 {
		t.Errorf("index: %d %d", s.Index(9), s.Index(3))
	}
}

func TestWarningsSayWhatIsAtStake(t *testing.T) {
	w := redset.Warning{Reason: redset.NoPartner, Group: "node1", Ranks: []scr.Rank{3, 4}}
	if got := w.String(); !strings.Contains(got, "node1") || !strings.Contains(got, "3,4") {
		t.Errorf("warning: %s", got)
	}
}
