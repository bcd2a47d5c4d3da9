package scr

import (
	"slices"

	"github.com/scrfs/scrfs/kvtree"
)

const (
	// indexRanksPerLeaf is what SCR's index command puts into a leaf.
	indexRanksPerLeaf = 8192
	// flushBytesPerPart is where SCR's flush begins a new part: a stripe of the
	// parallel file systems of its time.
	flushBytesPerPart = 1 << 20
	// maxLevels bounds the depth. With two entries to a part at least, 32 levels
	// hold more ranks than MaxRanks.
	maxLevels = 32
)

// Part is one file of a rank2file map. Name is relative to the prefix directory.
type Part struct {
	Name string
	Tree *kvtree.Tree
}

// SplitForIndex cuts the map as SCR's index command does: 8192 ranks to a leaf
// and exactly two levels. The parts are in the order in which they must be
// written, the top last. dir is the dataset directory; p.Family is F14 or F12.
//
// A leaf is named by the first rank of its range and RANKS at the top reaches up
// to the last rank that is there, also when ranks are missing: as SCR.
func (m Rank2File) SplitForIndex(p Paths, dir string) []Part {
	leaves := m.leaves(p.Family, func(e RankFiles, _ *kvtree.Tree) int64 {
		return int64(e.Rank) / indexRanksPerLeaf
	})
	for i := range leaves {
		leaves[i].first -= leaves[i].first % indexRanksPerLeaf
	}
	s := splitter{paths: p, dir: dir}
	top := innerOf(s.write(leaves, 0))
	if n := len(m.Entries); n > 0 {
		top.ranks = int(m.Entries[n-1].Rank) + 1
	}
	s.top(top, 1)
	return s.parts
}

// SplitForFlush cuts the map as SCR's flush does: a new leaf where the running
// total of packed bytes passes a multiple of 1 MiB, the same again with the
// names of the leaves, until one file is left. There are at least two levels.
// Parts are as in SplitForIndex.
func (m Rank2File) SplitForFlush(p Paths, dir string) []Part {
	var totalBytes int64
	s := splitter{paths: p, dir: dir}
	nodes := s.write(m.leaves(p.Family, func(_ RankFiles, packed *kvtree.Tree) int64 {
		group := totalBytes / flushBytesPerPart
		totalBytes += int64(len(kvtree.Pack(packed)))
		return group
	}), 0)
	level := 1
	for ; ; level++ {
		groups := groupNodes(nodes)
		if len(groups) == 1 {
			break
		}
		nodes = s.write(groups, level)
	}
	s.top(innerOf(nodes), level)
	return s.parts
}

// part is a file in the making: the ranks below it and its entries.
type part struct {
	first Rank
	ranks int
	list  *kvtree.Tree // below RANK
}

// leaves groups entries with equal group numbers; there is at least one leaf.
func (m Rank2File) leaves(f Family, groupOf func(RankFiles, *kvtree.Tree) int64) []part {
	var out []part
	last := int64(-1)
	for _, e := range m.Entries {
		hash := e.hash(f)
		if g := groupOf(e, hash); g != last || len(out) == 0 {
			out, last = append(out, part{first: e.Rank, list: kvtree.New()}), g
		}
		leaf := &out[len(out)-1]
		leaf.ranks++
		leaf.list.Set(e.Rank.String(), hash)
	}
	if len(out) == 0 {
		out = append(out, part{list: kvtree.New()})
	}
	return out
}

// node names a part that was written.
type node struct {
	first Rank
	ranks int
	entry *kvtree.Tree // FILE and OFFSET
}

// groupNodes cuts nodes by their packed bytes, with at least two to a group, so
// that every level has fewer files than the one below.
func groupNodes(nodes []node) []part {
	var out []part
	var totalBytes, last int64
	for i, n := range nodes {
		group := totalBytes / flushBytesPerPart
		totalBytes += int64(len(kvtree.Pack(n.entry)))
		if i == 0 || group != last && out[len(out)-1].list.Len() > 1 {
			out, last = append(out, part{first: n.first, list: kvtree.New()}), group
		}
		p := &out[len(out)-1]
		p.ranks += n.ranks
		p.list.Set(n.first.String(), n.entry)
	}
	return out
}

// innerOf puts all nodes into one part.
func innerOf(nodes []node) part {
	p := part{first: nodes[0].first, list: kvtree.New()}
	for _, n := range nodes {
		p.ranks += n.ranks
		p.list.Set(n.first.String(), n.entry)
	}
	return p
}

type splitter struct {
	paths Paths
	dir   string
	parts []Part
}

// write adds the files of one level and returns what the next one says of them.
func (s *splitter) write(parts []part, level int) []node {
	nodes := make([]node, len(parts))
	for i, p := range parts {
		name := s.paths.Rank2FilePart(s.dir, level, p.first)
		s.parts = append(s.parts, Part{Name: name, Tree: p.tree(level)})
		entry := kvtree.New()
		entry.PutString(keyFile, s.paths.NameIn(s.dir, name))
		entry.PutInt(keyOffset, 0)
		nodes[i] = node{first: p.first, ranks: p.ranks, entry: entry}
	}
	return nodes
}

func (s *splitter) top(p part, level int) {
	s.parts = append(s.parts, Part{Name: s.paths.Rank2File(s.dir), Tree: p.tree(level)})
}

func (p part) tree(level int) *kvtree.Tree {
	t := kvtree.New()
	t.PutInt(keyRanks, int64(p.ranks))
	t.PutInt(keyLevel, int64(level))
	if p.list.Len() > 0 {
		t.Set(keyRank, p.list)
	}
	return t
}

// Find returns the entry of a rank.
func (m Rank2File) Find(r Rank) (RankFiles, bool) {
	i, ok := slices.BinarySearchFunc(m.Entries, r, func(e RankFiles, r Rank) int { return int(e.Rank) - int(r) })
	if !ok {
		return RankFiles{}, false
	}
	return m.Entries[i], true
}
