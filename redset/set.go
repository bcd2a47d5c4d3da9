package redset

import (
	"fmt"
	"slices"
	"strings"

	"github.com/scrfs/scrfs/scr"
)

// RankPlace says where a rank runs.
type RankPlace struct {
	Rank  scr.Rank
	Node  string
	Group string // failure group; empty means the node is its own group
}

func (p RankPlace) failureGroup() string {
	if p.Group != "" {
		return p.Group
	}
	return p.Node
}

// Set is a group of ranks that protect each other.
type Set struct {
	ID      scr.Rank   // the lowest world rank in the set
	Members []scr.Rank // ascending; the place in this list is the rank in the set
	Scheme  scr.Scheme // SINGLE if and only if there is one member
}

// Index returns the place of rank in the set, from 0, or -1 if it is no member.
func (s Set) Index(rank scr.Rank) int {
	i, ok := slices.BinarySearch(s.Members, rank)
	if !ok {
		return -1
	}
	return i
}

// Left returns the neighbour before member i, counted in a ring.
func (s Set) Left(i int) scr.Rank { return s.Members[(i+len(s.Members)-1)%len(s.Members)] }

// Right returns the neighbour after member i, counted in a ring.
func (s Set) Right(i int) scr.Rank { return s.Members[(i+1)%len(s.Members)] }

// Reason says why ranks have less protection than was asked for.
type Reason int

const (
	// OneGroup: all ranks are in one failure group, so there is no other to
	// keep redundancy data in. Every rank is a SINGLE set.
	OneGroup Reason = iota + 1

	// NoPartner: the failure group has more ranks than the others, and every
	// set has a member of this group already. The rank is a SINGLE set.
	// There is one such warning per failure group.
	NoPartner
)

// Warning tells of ranks whose files are lost with their node.
type Warning struct {
	Reason Reason
	Group  string     // the failure group of the ranks
	Ranks  []scr.Rank // ascending
}

func (w Warning) String() string {
	switch w.Reason {
	case OneGroup:
		return fmt.Sprintf("all ranks are in failure group %s: files are kept once and are lost with it", w.Group)
	case NoPartner:
		return fmt.Sprintf("failure group %s has more ranks than others: files of rank %s are kept once and are lost with it",
			w.Group, joinRanks(w.Ranks))
	}
	return fmt.Sprintf("warning %d for ranks %s", w.Reason, joinRanks(w.Ranks))
}

func joinRanks(ranks []scr.Rank) string {
	texts := make([]string, len(ranks))
	for i, r := range ranks {
		texts[i] = fmt.Sprint(int(r))
	}
	return strings.Join(texts, ",")
}
