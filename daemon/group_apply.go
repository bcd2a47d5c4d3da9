package daemon

import (
	"context"
	"fmt"
	"path"
	"syscall"

	"github.com/scrfs/scrfs/catalog"
	"github.com/scrfs/scrfs/lifecycle"
	"github.com/scrfs/scrfs/peer"
	"github.com/scrfs/scrfs/scr"
)

// applyLocked carries out one entry on this node. Every node does the same
// with the same entries, so the trees and the lives stay equal.
func (g *group) applyLocked(e entry) (outcome, []lifecycle.Action) {
	g.seq = e.Seq
	g.changed.Broadcast()
	if e.Op == nil {
		id, acts := g.lives.Step(*e.Event)
		return outcome{Seq: e.Seq, Dataset: id}, acts
	}
	op := *e.Op
	if err := g.state.Check(op); err != nil {
		res, err := g.state.Apply(op) // remembers the answer
		return g.outcome(e.Seq, op, res, err), nil
	}
	var acts []lifecycle.Action
	if ev, ok := g.eventOf(op, e.Fresh); ok && !g.state.Answered(op) {
		var id scr.DatasetID
		id, acts = g.lives.Step(ev)
		switch op.Kind {
		case catalog.OpMkdir, catalog.OpCreate, catalog.OpSymlink:
			op.Dataset = id
		case catalog.OpOpen:
			if id == 0 {
				// The file is published: the one on the prefix directory is meant.
				return outcome{Seq: e.Seq, Errno: syscall.EXDEV}, acts
			}
		}
	}
	oldPath := g.pathOf(op.Dir, op.Name)
	res, err := g.state.Apply(op)
	if err == nil && !res.Repeated {
		g.effects.apply(op, res, oldPath, g.pathOf(op.NewDir, op.NewName))
	}
	return g.outcome(e.Seq, op, res, err), acts
}

func (g *group) outcome(seq uint64, op catalog.Op, res catalog.Result, err error) outcome {
	out := outcome{Seq: seq, Dataset: op.Dataset}
	if err != nil {
		errno, ok := err.(syscall.Errno)
		if !ok {
			panic(fmt.Sprintf("BUG: catalogue operation %s gave %v, which is no errno", op.Kind, err))
		}
		out.Errno = errno
	}
	if res.Inode != nil {
		out.Ino, out.Dataset = res.Inode.Ino, res.Inode.Dataset
	}
	return out
}

func (g *group) pathOf(dir catalog.Dir, name string) string {
	if dir.Ino == 0 {
		return path.Join(dir.Path, name)
	}
	parent, _ := g.state.Path(g.state.Inode(dir.Ino))
	return path.Join(parent, name)
}

// eventOf says what an operation means to the life of its dataset.
func (g *group) eventOf(op catalog.Op, fresh scr.DatasetID) (lifecycle.Event, bool) {
	ev := lifecycle.Event{Now: op.Now, Node: op.Node, App: op.App, Fresh: fresh}
	about := func(kind lifecycle.EventKind, n *catalog.Inode) (lifecycle.Event, bool) {
		if n == nil {
			return ev, false
		}
		ev.Kind, ev.Dataset = kind, n.Dataset
		return ev, true
	}
	switch op.Kind {
	case catalog.OpMkdir, catalog.OpCreate, catalog.OpSymlink:
		ev.Kind = lifecycle.Make
		ev.IsDir, ev.Writes = op.Kind == catalog.OpMkdir, op.Kind == catalog.OpCreate
		ev.Output = op.Flags&flagOutput != 0
		ev.Path = g.pathOf(op.Dir, op.Name)
		ev.Template, ev.Numbers = g.template(op.Name)
		if op.Dir.Ino != 0 {
			ev.Kind, ev.Dataset = lifecycle.MakeBelow, g.state.Inode(op.Dir.Ino).Dataset
		}
		return ev, true
	case catalog.OpOpen:
		return about(lifecycle.Open, g.state.Inode(op.Ino))
	case catalog.OpClose:
		return about(lifecycle.Close, g.state.Inode(op.Ino))
	case catalog.OpSetAttr:
		return about(lifecycle.Change, g.state.Inode(op.Ino))
	case catalog.OpUnlink, catalog.OpRmdir, catalog.OpRename:
		return about(lifecycle.Change, g.state.Lookup(op.Dir, op.Name))
	case catalog.OpNodeDown:
		ev.Kind, ev.Kept = lifecycle.NodeDown, op.Kept
		return ev, true
	}
	return ev, false
}

// flagOutput in the Flags of a make operation: a rule says it is output, not a
// checkpoint.
const flagOutput = 1

// serveApply takes entries from the leader.
func (g *group) serveApply(_ context.Context, from peer.NodeID, req []byte) ([]byte, error) {
	frames, err := splitFrames(req)
	if err != nil {
		return nil, err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, f := range frames {
		e, err := decodeEntry(f)
		if err != nil {
			return nil, err
		}
		switch {
		case e.Epoch > g.epoch:
			return nil, fmt.Errorf("entry %d of epoch %d from %s, this node is in epoch %d: %w", e.Seq, e.Epoch, from, g.epoch, errNotYet)
		case e.Epoch < g.epoch || from != g.leader:
			return nil, fmt.Errorf("entry %d of epoch %d from %s, this node is in epoch %d: %w", e.Seq, e.Epoch, from, g.epoch, errStale)
		case e.Seq <= g.seq:
			continue // sent again
		case e.Seq != g.seq+1:
			return nil, fmt.Errorf("entry %d of epoch %d after %d: %w", e.Seq, e.Epoch, g.seq, errStale)
		}
		g.applyLocked(e)
	}
	return nil, nil
}
