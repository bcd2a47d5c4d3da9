package scavenger

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/scrfs/scrfs/scr"
)

// copying is the state of one dataset's copy on all nodes.
type copying struct {
	parts []part            // without nodes that failed
	down  []string          // with them
	whole map[scr.Rank]bool // ranks that are in the stage
	extra map[scr.Rank]bool // those of them with their redundancy file
}

func newCopying(in Input, id scr.DatasetID) *copying {
	c := &copying{down: slices.Clone(in.Down), whole: map[scr.Rank]bool{}, extra: map[scr.Rank]bool{}}
	for _, p := range gather(in.Caches)[id] {
		p.Held = slices.Clone(p.Held) // to be marked
		c.parts = append(c.parts, p)
	}
	return c
}

// wants tells whether a rank is still to be copied.
func (c *copying) wants(d Rescue, p part, rank scr.Rank) bool {
	return !c.whole[rank] || !c.extra[rank] && slices.Contains(d.Sets, p.set(rank))
}

// set is the redundancy set of a rank on this node; -1 if it is in none.
func (p part) set(rank scr.Rank) scr.Rank {
	for _, h := range p.Held {
		if h.Rank == rank && h.Set.Size > 0 {
			return h.Set.ID
		}
	}
	return -1
}

// orders says which ranks each node has still to copy.
func (c *copying) orders(d Rescue) map[string][]scr.Rank {
	orders := map[string][]scr.Rank{}
	for _, s := range d.Sources {
		p := c.part(s.Node)
		for _, rank := range s.Ranks {
			if c.wants(d, *p, rank) {
				orders[s.Node] = append(orders[s.Node], rank)
			}
		}
	}
	return orders
}

// part is that of a node which is a source.
func (c *copying) part(node string) *part {
	i := slices.IndexFunc(c.parts, func(p part) bool { return p.node == node })
	if i < 0 {
		panic(fmt.Sprintf("BUG: node %s is a source and has no part", node))
	}
	return &c.parts[i]
}

// done tells whether everything of the rescue is in the stage.
func (c *copying) done(d Rescue) bool { return len(c.orders(d)) == 0 }

// round lets the nodes copy what is missing, side by side, and notes what came
// of it. It returns what failed.
func (c *copying) round(ctx context.Context, r *run, d Rescue) (failed []error) {
	orders, down := c.orders(d), c.down
	var mu sync.Mutex // guards c and failed
	began := r.Now()
	most := int64(0)
	each(r.Width, len(d.Sources), func(i int) {
		node := d.Sources[i].Node
		ranks := orders[node]
		if len(ranks) == 0 || ctx.Err() != nil {
			return
		}
		got, err := r.Copy(ctx, node, CopyOrder{Dataset: d.Dataset.ID, Ranks: ranks, Sets: d.Sets, Failed: down})
		mu.Lock()
		defer mu.Unlock()
		most = max(most, got.Bytes)
		failed = append(failed, c.note(r, d, node, ranks, got, err)...)
	})
	if spent := r.Now().Sub(began); spent > 0 && most > 0 {
		r.rate = max(int64(float64(most)/spent.Seconds()), 1)
	}
	return failed
}

// note records what a node has copied; the caller holds the lock.
func (c *copying) note(r *run, d Rescue, node string, ranks []scr.Rank, got Copied, err error) (failed []error) {
	id := d.Dataset.ID
	if err != nil {
		c.parts = slices.DeleteFunc(c.parts, func(p part) bool { return p.node == node })
		c.down = append(slices.Clone(c.down), node)
		r.Report(Step{Kind: StepDown, Node: node, Dataset: id, Warning: true, Text: "could not copy: " + err.Error()})
		return []error{&NodeError{node, err}}
	}
	p := c.part(node)
	for _, rank := range ranks {
		why := ""
		for _, f := range got.Failed {
			if f.Rank == rank {
				why = f.Error
			}
		}
		if why == "" && !slices.Contains(got.Ranks, rank) {
			why = "was not copied"
		}
		if why == "" {
			c.whole[rank] = true
			c.extra[rank] = slices.Contains(d.Sets, p.set(rank))
			continue
		}
		p.spoil(rank, why)
		failed = append(failed, &NodeError{node, fmt.Errorf("rank %d: %s", rank, why)})
		r.Report(Step{Kind: StepDown, Node: node, Dataset: id, Ranks: []scr.Rank{rank}, Warning: true, Text: fmt.Sprintf("could not copy rank %d: %s", rank, why)})
	}
	r.Report(Step{
		Kind: StepCopied, Node: node, Dataset: id, Ranks: got.Ranks, Files: got.Files, Bytes: got.Bytes,
		Text: fmt.Sprintf("copied %s: %s, %s", rankList(got.Ranks), count(got.Files, "file"), size(got.Bytes)),
	})
	return failed
}

// spoil marks a rank as damaged on this node.
func (p *part) spoil(rank scr.Rank, why string) {
	for i := range p.Held {
		if p.Held[i].Rank == rank {
			p.Held[i].Missing = why
		}
	}
}

// decide looks anew at what can be done with the nodes that are left.
func (c *copying) decide(staged StagedPart) (Rescue, Why, string) {
	if len(c.parts) == 0 {
		return Rescue{}, Lost, "no node is left that has a part of it" + downNote(c.down)
	}
	return rescue(c.parts, staged, c.down)
}
