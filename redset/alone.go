package redset

import (
	"cmp"
	"slices"

	"github.com/scrfs/scrfs/scr"
)

// joinAlone puts each member of a set of one into another set in which its
// failure group has no member, if there is such a set: another of one as well,
// which can only be in F11. It returns the sets that remain.
func joinAlone(sets [][]RankPlace) [][]RankPlace {
	sets = slices.Clone(sets)
	hopeless := make(map[string]bool) // sets only gain members, so once is for ever
	for i, members := range sets {
		if len(members) != 1 || hopeless[members[0].failureGroup()] {
			continue
		}
		p := members[0]
		best := bestSet(sets, p.failureGroup())
		if best < 0 {
			hopeless[p.failureGroup()] = true
			continue
		}
		at, _ := slices.BinarySearchFunc(sets[best], p, byRank)
		sets[best] = slices.Insert(slices.Clone(sets[best]), at, p)
		sets[i] = nil
	}
	return slices.DeleteFunc(sets, func(s []RankPlace) bool { return len(s) == 0 })
}

// bestSet returns the smallest set without a member of group, of those the one
// with the lowest id, or -1. The smallest, because the price of a lost member
// is reading the whole set.
func bestSet(sets [][]RankPlace, group string) int {
	best := -1
	for i, members := range sets {
		switch {
		case len(members) == 0:
		case slices.ContainsFunc(members, func(p RankPlace) bool { return p.failureGroup() == group }):
		case best < 0 || lessSet(members, sets[best]):
			best = i
		}
	}
	return best
}

func lessSet(a, b []RankPlace) bool {
	return cmp.Or(cmp.Compare(len(a), len(b)), byRank(a[0], b[0])) < 0
}

// noPartnerWarnings makes one warning per failure group that has a rank alone.
func noPartnerWarnings(sets [][]RankPlace) []Warning {
	var warnings []Warning
	index := make(map[string]int)
	for _, s := range sets {
		if len(s) > 1 {
			continue
		}
		group := s[0].failureGroup()
		i, ok := index[group]
		if !ok {
			i = len(warnings)
			index[group] = i
			warnings = append(warnings, Warning{Reason: NoPartner, Group: group})
		}
		warnings[i].Ranks = append(warnings[i].Ranks, s[0].Rank)
	}
	for _, w := range warnings {
		slices.Sort(w.Ranks)
	}
	return warnings
}

func setsOf(groups [][]RankPlace, scheme scr.Scheme) []Set {
	sets := make([]Set, 0, len(groups))
	for _, places := range groups {
		s := Set{ID: places[0].Rank, Scheme: scheme}
		if len(places) == 1 {
			s.Scheme = scr.Single
		}
		for _, p := range places {
			s.Members = append(s.Members, p.Rank)
		}
		sets = append(sets, s)
	}
	slices.SortFunc(sets, func(a, b Set) int { return cmp.Compare(a.ID, b.ID) })
	return sets
}
