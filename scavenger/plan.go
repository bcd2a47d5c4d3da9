package scavenger

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/scrfs/scrfs/scr"
)

// Input is all that decides what is rescued.
type Input struct {
	// Caches are those of the nodes that answered; Down are the others.
	Caches []NodeCache
	Down   []string
	// Published are the datasets that are in the prefix directory, by index and
	// flush file.
	Published []scr.DatasetID
	// Staged is what daemons had brought to the prefix directory before they
	// ended: leftover stages, with the ranks whose files are whole there.
	Staged map[scr.DatasetID]StagedPart
	// Only restricts the plan to one dataset; 0 is all of them.
	Only scr.DatasetID
	// TimeLeft bounds the copying; 0 is no bound. Rate is what one node copies,
	// in bytes per second, DefaultRate if 0.
	TimeLeft time.Duration
	Rate     int64
}

// StagedPart is what a leftover stage holds.
type StagedPart struct {
	Dataset scr.Dataset // as its rank filemaps say
	Ranks   []scr.Rank  // whole, ascending
	// Damaged: the rank filemaps disagree, and none can be used.
	Damaged bool
}

// Plan is what is done, and what is not done and why.
type Plan struct {
	Rescue  []Rescue // oldest first, which is the order of publishing
	Skipped []Skip   // by id
}

// Rescue is one dataset that can be brought to the prefix directory.
type Rescue struct {
	Dataset scr.Dataset
	Dir     string     // dataset directory, relative to the prefix directory
	Sources []Source   // nodes to copy from, in the order of the node list
	Rebuild []scr.Rank // on no live node: the redundancy brings them back
	Staged  []scr.Rank // only in the leftover stage
	// Sets are the redundancy sets with a lost rank; only their redundancy files
	// are copied.
	Sets []scr.Rank
	// DropStage: the leftover stage is of another writing of the dataset.
	DropStage bool
	Ranks     int // of the job
}

// Source is a node that has ranks of a dataset.
type Source struct {
	Node  string
	Ranks []scr.Rank // ascending
	Bytes int64
}

// Skip is a dataset that is left where it is.
type Skip struct {
	ID     scr.DatasetID
	Name   string // "" if not known
	Why    Why
	Reason string
	// Rescue is what could be done if there were time; only for NoTime.
	Rescue Rescue
}

// Why is the kind of reason for which a dataset is skipped.
type Why string

// The reasons. Only Lost is a loss: a dataset that was sealed and is not whole
// any more.
const (
	IsPublished Why = "published"  // it is in the prefix directory
	Older       Why = "older"      // a newer one is published, which it must not replace
	Suspect     Why = "suspect"    // its writer was stopped: not a checkpoint
	Lost        Why = "lost"       // more is missing than the redundancy can mend
	NoTime      Why = "no-time"    // a newer one would not be done in time
	NotAsked    Why = "not-asked"  // another dataset was named
	NotInCache  Why = "not-cached" // it was named, and no node has it
)

// Decide makes the plan. It is pure: the same input gives the same plan.
//
// What is newer than the newest published dataset is rescued, oldest first, so
// that names move forward only and the index ends with the newest checkpoint as
// the current one. A dataset older than a published one is left alone: its
// files could take the place of newer ones.
func Decide(in Input) Plan {
	var p Plan
	union := gather(in.Caches)
	newest := scr.DatasetID(0)
	for _, id := range in.Published {
		newest = max(newest, id)
	}
	for _, id := range sortedIDs(union) {
		parts := union[id]
		skip := Skip{ID: id, Name: nameOf(parts)}
		switch {
		case in.Only != 0 && id != in.Only:
			skip.Why, skip.Reason = NotAsked, fmt.Sprintf("only dataset %d was asked for", in.Only)
		case slices.Contains(in.Published, id):
			skip.Why, skip.Reason = IsPublished, "is in the prefix directory"
		case id < newest:
			skip.Why, skip.Reason = Older, fmt.Sprintf("is older than dataset %d, which is in the prefix directory", newest)
		default:
			var r Rescue
			if r, skip.Why, skip.Reason = rescue(parts, in.Staged[id], in.Down); skip.Why == "" {
				p.Rescue = append(p.Rescue, r)
				continue
			}
		}
		p.Skipped = append(p.Skipped, skip)
	}
	if in.Only != 0 && union[in.Only] == nil {
		p.Skipped = append(p.Skipped, Skip{ID: in.Only, Why: NotInCache, Reason: "is in the cache of no node"})
	}
	if in.TimeLeft > 0 {
		p.dropLate(in.TimeLeft, in.Rate)
	}
	slices.SortStableFunc(p.Skipped, func(a, b Skip) int { return cmp.Compare(a.ID, b.ID) })
	return p
}

// dropLate skips the oldest datasets until the others fit into the time.
func (p *Plan) dropLate(left time.Duration, rate int64) {
	first := Fit(p.Rescue, left, rate)
	for _, r := range p.Rescue[:first] {
		p.Skipped = append(p.Skipped, Skip{
			ID: r.Dataset.ID, Name: r.Dataset.Name, Why: NoTime, Rescue: r,
			Reason: fmt.Sprintf("copying it leaves less than %v for newer datasets", left.Round(time.Second)),
		})
	}
	p.Rescue = p.Rescue[first:]
}

// part is one node's part of a dataset.
type part struct {
	node string
	CachedDataset
}

func gather(caches []NodeCache) map[scr.DatasetID][]part {
	union := map[scr.DatasetID][]part{}
	for _, c := range caches {
		for _, d := range c.Datasets {
			union[d.ID] = append(union[d.ID], part{c.Node, d})
		}
	}
	return union
}

func sortedIDs(union map[scr.DatasetID][]part) []scr.DatasetID {
	ids := make([]scr.DatasetID, 0, len(union))
	for id := range union {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

func nameOf(parts []part) string {
	for _, p := range parts {
		if p.Unsealed == "" && p.Dataset.Name != "" {
			return p.Dataset.Name
		}
	}
	return ""
}

// rescue decides on one dataset that is not published. Why is empty if it can
// be rescued.
func rescue(parts []part, staged StagedPart, down []string) (r Rescue, why Why, reason string) {
	if reason := suspect(parts); reason != "" {
		return r, Suspect, reason
	}
	r.Dataset, r.Dir = parts[0].Dataset, parts[0].Dir
	r.DropStage = staged.Damaged || len(staged.Ranks) > 0 && staged.Dataset != r.Dataset
	if r.DropStage {
		staged.Ranks = nil
	}
	h := collect(parts, staged.Ranks, down)
	r.Ranks, r.Sources, r.Staged, r.Rebuild = h.ranks, h.sources, h.staged, h.lost
	if r.Sets, reason = h.mend(); reason != "" {
		return r, Lost, reason + downNote(down)
	}
	return r, "", ""
}

// suspect tells why the parts are not a whole that was ever agreed on.
func suspect(parts []part) string {
	for _, p := range parts {
		switch {
		case p.Unsealed != "":
			return fmt.Sprintf("was not finished: node %s: %s", p.node, p.Unsealed)
		case p.Dataset != parts[0].Dataset || p.Dir != parts[0].Dir:
			return fmt.Sprintf("nodes %s and %s hold different writings of it", parts[0].node, p.node)
		case !p.Dataset.Complete:
			return "was not finished: not every rank said that its files are valid"
		}
	}
	return ""
}

func downNote(down []string) string {
	if len(down) == 0 {
		return ""
	}
	return "; down: " + strings.Join(down, ", ")
}
