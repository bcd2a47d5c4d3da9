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

// collect unites the parts of the live nodes and the stage. A copy kept for
// another node counts only if that node is down.
func collect(parts []part, staged []scr.Rank, down []string) holders {
	h := holders{
		have: map[scr.Rank]bool{}, parity: map[scr.Rank]bool{},
		set: map[scr.Rank]SetInfo{}, damaged: map[scr.Rank]string{},
	}
	for _, p := range parts {
		h.ranks = max(h.ranks, p.Ranks)
		h.add(p, down)
	}
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

func (h *holders) add(p part, down []string) {
	s := Source{Node: p.node}
	for _, held := range p.Held {
		h.ranks = max(h.ranks, int(held.Rank)+1)
		if held.Set.Size > 0 {
			h.set[held.Rank] = held.Set
		}
		if held.PartnerOf != "" && !slices.Contains(down, held.PartnerOf) {
			continue
		}
		if !held.whole() {
			h.damaged[held.Rank] = fmt.Sprintf("node %s: %s", p.node, held.Missing)
			continue
		}
		h.have[held.Rank] = true
		h.parity[held.Rank] = h.parity[held.Rank] || held.Redundancy
		s.Ranks = append(s.Ranks, held.Rank)
		s.Bytes += held.Bytes
	}
	if len(s.Ranks) > 0 {
		slices.Sort(s.Ranks)
		h.sources = append(h.sources, s)
	}
}

// beyondRepair tells why the lost ranks cannot be brought back; "" if they can.
func (h *holders) beyondRepair() string {
	if len(h.lost) == 0 {
		return ""
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
		return fmt.Sprintf("%s lost, and no live node is of their redundancy set", h.lostText())
	}
	for _, id := range slices.Sorted(maps.Keys(info)) {
		set := info[id]
		lost := set.Size - members[id]
		switch {
		case lost == 0:
		case lost > set.Mends:
			return fmt.Sprintf("%s lost: %s set %d of %d ranks lacks %d and can mend %d", h.lostText(), set.Scheme, id, set.Size, lost, set.Mends)
		case set.Size-parity[id] > set.Mends:
			return fmt.Sprintf("%s lost: %s set %d of %d ranks has only %d redundancy files", h.lostText(), set.Scheme, id, set.Size, parity[id])
		}
	}
	return ""
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
