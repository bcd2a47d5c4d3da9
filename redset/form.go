package redset

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/scrfs/scrfs/scr"
)

// Form divides the ranks into redundancy sets, ordered by their id. Every rank
// is in exactly one set, and no two members of a set are in one failure group.
//
// The n-th ranks of all failure groups, by world rank, are a level; each level
// is cut into sets as o says. A rank that is left alone, because its group has
// more ranks than any other, joins the smallest set (of those, the one with
// the lowest id) in which its group has no member, even if the set becomes
// larger than a maximum asked for. If there is none, or if all ranks are in one
// failure group, it becomes a SINGLE set and a warning says so. For the scheme
// SINGLE each rank is a set of its own, without warning.
//
// The result depends on the places only as a set: their order has no meaning.
// A rank that is negative or given twice, a place without a node and group,
// and no places at all are errors.
func Form(places []RankPlace, o Options) ([]Set, []Warning, error) {
	if err := o.Validate(); err != nil {
		return nil, nil, fmt.Errorf("form redundancy sets: %w", err)
	}
	o = o.withDefaults()
	places, err := sortPlaces(places)
	if err != nil {
		return nil, nil, fmt.Errorf("form redundancy sets: %w", err)
	}
	if o.Scheme == scr.Single {
		return setsOf(eachAlone(places), scr.Single), nil, nil
	}
	levels := splitLevels(places)
	if len(levels) == len(places) {
		w := Warning{Reason: OneGroup, Group: places[0].failureGroup()}
		for _, p := range places {
			w.Ranks = append(w.Ranks, p.Rank)
		}
		return setsOf(eachAlone(places), scr.Single), []Warning{w}, nil
	}
	var sets [][]RankPlace
	for _, level := range levels {
		sets = append(sets, cutLevel(level, o)...)
	}
	sets = joinAlone(sets)
	return setsOf(sets, o.Scheme), noPartnerWarnings(sets), nil
}

func sortPlaces(places []RankPlace) ([]RankPlace, error) {
	if len(places) == 0 {
		return nil, fmt.Errorf("there are no ranks")
	}
	sorted := slices.Clone(places)
	slices.SortFunc(sorted, byRank)
	for i, p := range sorted {
		switch {
		case p.Rank < 0:
			return nil, fmt.Errorf("rank %d: must not be negative", p.Rank)
		case i > 0 && sorted[i-1].Rank == p.Rank:
			return nil, fmt.Errorf("rank %d: given twice", p.Rank)
		case p.failureGroup() == "":
			return nil, fmt.Errorf("rank %d: neither node nor failure group is known", p.Rank)
		}
	}
	return sorted, nil
}

// splitLevels puts the n-th place of each failure group into level n. Places
// are sorted by rank, and so is each level. One group alone gives as many
// levels as there are ranks.
func splitLevels(places []RankPlace) [][]RankPlace {
	var levels [][]RankPlace
	seen := make(map[string]int)
	for _, p := range places {
		n := seen[p.failureGroup()]
		seen[p.failureGroup()]++
		if n == len(levels) {
			levels = append(levels, nil)
		}
		levels[n] = append(levels[n], p)
	}
	return levels
}

func cutLevel(level []RankPlace, o Options) [][]RankPlace {
	var sets [][]RankPlace
	index := make(map[int]int)
	for p, number := range cut(len(level), o) {
		i, ok := index[number]
		if !ok {
			i = len(sets)
			index[number] = i
			sets = append(sets, nil)
		}
		sets[i] = append(sets[i], level[p])
	}
	return sets
}

func eachAlone(places []RankPlace) [][]RankPlace {
	sets := make([][]RankPlace, 0, len(places))
	for _, p := range places {
		sets = append(sets, []RankPlace{p})
	}
	return sets
}

func byRank(a, b RankPlace) int { return cmp.Compare(a.Rank, b.Rank) }
