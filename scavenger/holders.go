package scavenger

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/scrfs/scrfs/scr"
)

// holders is who has which rank of one dataset.
type holders struct {
	ranks   int
	have    map[scr.Rank]bool // on a live node or in the stage
	parity  map[scr.Rank]bool // the redundancy file as well
	set     map[scr.Rank]SetInfo
	damaged map[scr.Rank]string // held, but not whole: node and file
	sources []Source
	staged  []scr.Rank
	lost    []scr.Rank
}

// collect unites the parts of the live nodes and the stage.
func collect(parts []part, staged []scr.Rank, down []string) holders {
	h := holders{
		have: map[scr.Rank]bool{}, parity: map[scr.Rank]bool{},
		set: map[scr.Rank]SetInfo{}, damaged: map[scr.Rank]string{},
	}
	best := map[scr.Rank]holder{}
	for i, p := range parts {
		h.ranks = max(h.ranks, p.Ranks)
		for _, held := range p.Held {
			h.see(best, holder{i, held}, p.node, down)
		}
	}
	h.ask(parts, best)
	for _, r := range staged {
		h.ranks = max(h.ranks, int(r)+1)
		if !h.have[r] {
			h.have[r] = true
			h.staged = append(h.staged, r)
		}
	}
	for r := range scr.Rank(h.ranks) {
		if !h.have[r] {
			h.lost = append(h.lost, r)
		}
	}
	return h
}

// holder is the place of a rank: the index of the part, and what it is there.
type holder struct {
	part int
	HeldRank
}

// see takes note of a rank on a node. A copy kept for another node counts only
// if that node is down. Of two nodes that have a rank, as when it was rebuilt
// and its node came back, the one with the redundancy file is asked, else the
// first.
func (h *holders) see(best map[scr.Rank]holder, at holder, node string, down []string) {
	rank := at.Rank
	h.ranks = max(h.ranks, int(rank)+1)
	if at.Set.Size > 0 {
		h.set[rank] = at.Set
	}
	if at.PartnerOf != "" && !slices.Contains(down, at.PartnerOf) {
		return
	}
	if !at.whole() {
		h.damaged[rank] = fmt.Sprintf("node %s: %s", node, at.Missing)
		return
	}
	if other, ok := best[rank]; !ok || at.Redundancy && !other.Redundancy {
		best[rank] = at
	}
	h.have[rank] = true
	h.parity[rank] = h.parity[rank] || at.Redundancy
}

// ask makes sources of the places, in the order of the parts.
func (h *holders) ask(parts []part, best map[scr.Rank]holder) {
	sources := make([]Source, len(parts))
	for _, rank := range slices.Sorted(maps.Keys(best)) {
		s := &sources[best[rank].part]
		s.Ranks = append(s.Ranks, rank)
		s.Bytes += best[rank].Bytes
	}
	for i, s := range sources {
		if len(s.Ranks) > 0 {
			s.Node = parts[i].node
			h.sources = append(h.sources, s)
		}
	}
}

// mend returns the sets that lack a rank, or tells why the lost ranks cannot be
// brought back.
func (h *holders) mend() (sets []scr.Rank, reason string) {
	if len(h.lost) == 0 {
		return nil, ""
	}
	members := map[scr.Rank]int{} // ranks that are there, of each set
	parity := map[scr.Rank]int{}  // redundancy files that are there
	info := map[scr.Rank]SetInfo{}
	accounted := 0
	for _, r := range slices.Sorted(maps.Keys(h.set)) {
		set := h.set[r]
		if _, known := info[set.ID]; !known {
			info[set.ID] = set
			accounted += set.Size
		}
		if h.have[r] {
			members[set.ID]++
		}
		if h.parity[r] {
			parity[set.ID]++
		}
	}
	if accounted < h.ranks {
		return nil, fmt.Sprintf("%s lost, and no live node is of their redundancy set", h.lostText())
	}
	for _, id := range slices.Sorted(maps.Keys(info)) {
		set := info[id]
		lost := set.Size - members[id]
		switch {
		case lost == 0:
		case lost > set.Mends:
			return nil, fmt.Sprintf("%s lost: %s set %d of %d ranks lacks %d and can mend %d", h.lostText(), set.Scheme, id, set.Size, lost, set.Mends)
		case set.Size-parity[id] > set.Mends:
			return nil, fmt.Sprintf("%s lost: %s set %d of %d ranks has only %d redundancy files", h.lostText(), set.Scheme, id, set.Size, parity[id])
		default:
			sets = append(sets, id)
		}
	}
	return sets, ""
}

// lostText names the lost ranks, with what is wrong of those that are held.
func (h *holders) lostText() string {
	names := make([]string, 0, most+1)
	for i, r := range h.lost {
		if i == most {
			names = append(names, fmt.Sprintf("%d more", len(h.lost)-most))
			break
		}
		name := r.String()
		if why, ok := h.damaged[r]; ok {
			name += " (" + why + ")"
		}
		names = append(names, name)
	}
	if len(names) == 1 {
		return "rank " + names[0] + " is"
	}
	return "ranks " + strings.Join(names, ", ") + " are"
}

// most is how many ranks a message names.
const most = 20
