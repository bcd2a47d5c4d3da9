package redset

import (
	"maps"
	"slices"

	"github.com/scrfs/scrfs/scr"
)

// NoRank marks a writer whose environment named no rank.
const NoRank scr.Rank = -1

// Writer is who wrote one file: the node it ran on, its rank, and the number of
// ranks of its application (0 if not known).
type Writer struct {
	Node  string
	Rank  scr.Rank
	World int
}

// Settlement gives every file of a dataset a rank and every rank a node.
type Settlement struct {
	Ranks  []scr.Rank  // of each writer, in the order given
	Places []RankPlace // of all ranks, 0 to their number less one, in order
}

// Settle decides the ranks of a dataset when it has ended.
//
// The job's ranks are those of the application that wrote most of the files;
// its world is RANKS. Writers without a rank, of another world, or with a rank
// that ran on another node as well (a helper in the batch script, a second job
// step) count for the lowest rank of their own node; on a node without one they
// get a rank that wrote nothing, or, when all have written, one more. With no
// ranked writer at all each node is a rank, in the order of nodes. Ranks that
// wrote nothing are spread evenly over the nodes. nodes are those that live,
// at least all the writers'.
func Settle(writers []Writer, nodes []string) Settlement {
	nodes = slices.Clone(nodes)
	for _, w := range writers {
		nodes = append(nodes, w.Node)
	}
	slices.Sort(nodes)
	nodes = slices.Compact(nodes)

	world := mainWorld(writers)
	at := rankedNodes(writers, world)
	if len(at) == 0 {
		world = len(nodes)
		for i, n := range nodes {
			at[scr.Rank(i)] = n
		}
	}
	for r := range at {
		world = max(world, int(r)+1)
	}
	lowest := map[string]scr.Rank{}
	for _, r := range slices.Sorted(maps.Keys(at)) {
		if _, have := lowest[at[r]]; !have {
			lowest[at[r]] = r
		}
	}
	s := Settlement{Ranks: make([]scr.Rank, len(writers))}
	for i, w := range writers {
		if w.Rank >= 0 && at[w.Rank] == w.Node && sameWorld(w.World, world) {
			s.Ranks[i] = w.Rank
			continue
		}
		r, have := lowest[w.Node]
		if !have {
			r = freeRank(at)
			at[r], lowest[w.Node] = w.Node, r
			world = max(world, int(r)+1)
		}
		s.Ranks[i] = r
	}
	s.Places = spread(at, world, nodes)
	return s
}

// mainWorld is the world that most ranked files were written in; of equals the
// larger. Files of unknown world do not vote.
func mainWorld(writers []Writer) int {
	votes := map[int]int{}
	for _, w := range writers {
		if w.Rank >= 0 && w.World > 0 {
			votes[w.World]++
		}
	}
	best := 0
	for _, world := range slices.Sorted(maps.Keys(votes)) {
		if best == 0 || votes[world] >= votes[best] {
			best = world
		}
	}
	return best
}

func sameWorld(w, world int) bool { return w == 0 || world == 0 || w == world }

// rankedNodes says where each rank ran. One that is seen on two nodes stays
// where it was seen first.
func rankedNodes(writers []Writer, world int) map[scr.Rank]string {
	at := map[scr.Rank]string{}
	for _, w := range writers {
		if w.Rank < 0 || !sameWorld(w.World, world) || world > 0 && int(w.Rank) >= world {
			continue
		}
		if _, seen := at[w.Rank]; !seen {
			at[w.Rank] = w.Node
		}
	}
	return at
}

func freeRank(at map[scr.Rank]string) scr.Rank {
	var r scr.Rank
	for at[r] != "" {
		r++
	}
	return r
}

// spread places the ranks that wrote nothing, each on the node with the fewest.
func spread(at map[scr.Rank]string, world int, nodes []string) []RankPlace {
	load := map[string]int{}
	for _, n := range at {
		load[n]++
	}
	places := make([]RankPlace, world)
	for r := range places {
		node, ok := at[scr.Rank(r)]
		if !ok {
			node = slices.MinFunc(nodes, func(a, b string) int { return load[a] - load[b] })
			load[node]++
		}
		places[r] = RankPlace{Rank: scr.Rank(r), Node: node}
	}
	return places
}
