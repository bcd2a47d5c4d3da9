package daemon

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"syscall"

	"github.com/scrfs/scrfs/catalog"
	"github.com/scrfs/scrfs/lifecycle"
	"github.com/scrfs/scrfs/peer"
	"github.com/scrfs/scrfs/scr"
)

// applyLocked carries out one entry, whose wire form is b, on this node. Every
// node does the same with the same entries, so the trees and the lives stay
// equal.
func (g *group) applyLocked(e entry, b []byte) (outcome, []lifecycle.Action) {
	g.seq = e.Seq
	g.history.add(e.Seq, b)
	g.changed.Broadcast()
	if e.Op == nil {
		id, acts := g.lives.Step(*e.Event)
		return outcome{Seq: e.Seq, Dataset: id}, acts
	}
	op := *e.Op
	if op.Kind == catalog.OpNodeDown {
		delete(g.members, peer.NodeID(op.Node))
		if op.Flags&flagJoins != 0 {
			g.members[peer.NodeID(op.Node)] = true
		}
	}
	if g.state.Check(op) != nil {
		res, err := g.state.Apply(op) // remembers the answer
		return g.outcome(e.Seq, op, res, err), nil
	}
	var acts []lifecycle.Action
	if !g.state.Answered(op) {
		for _, ev := range g.eventsOf(op, e.Fresh) {
			id, more := g.lives.Step(ev)
			acts = append(acts, more...)
			switch ev.Kind {
			case lifecycle.Make, lifecycle.MakeBelow:
				op.Dataset = id
			case lifecycle.Open:
				if id == 0 {
					// The file is published: the one on the prefix directory is meant.
					return outcome{Seq: e.Seq, Errno: syscall.EXDEV}, acts
				}
				op.Dataset = id // another if the file is written anew
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
		var errno syscall.Errno
		ok := errors.As(err, &errno)
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

// eventsOf says what an operation means to the lives of the datasets it
// touches. A make or an open is one event.
func (g *group) eventsOf(op catalog.Op, fresh scr.DatasetID) []lifecycle.Event {
	ev := lifecycle.Event{Now: op.Now, Node: op.Node, App: op.App, Fresh: fresh}
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
		return []lifecycle.Event{ev}
	case catalog.OpOpen, catalog.OpClose:
		return []lifecycle.Event{g.openEvent(op, ev)}
	case catalog.OpNodeDown:
		ev.Kind, ev.Kept = lifecycle.NodeDown, op.Kept
		return []lifecycle.Event{ev}
	}
	var list []lifecycle.Event
	for _, id := range g.changes(op) {
		change := ev
		change.Kind, change.Dataset = lifecycle.Change, id
		change.Removes = op.Kind == catalog.OpUnlink || op.Kind == catalog.OpRmdir
		if n := g.state.Lookup(op.Dir, op.Name); op.Kind == catalog.OpRename && n != nil && n.Dataset == id {
			change.Template, _ = g.template(op.NewName)
		}
		list = append(list, change)
	}
	return list
}

// openEvent says what an open for writing, or its end, means.
func (g *group) openEvent(op catalog.Op, ev lifecycle.Event) lifecycle.Event {
	n := g.state.Inode(op.Ino)
	ev.Kind, ev.Dataset = lifecycle.Open, n.Dataset
	if op.Kind == catalog.OpClose {
		ev.Kind = lifecycle.Close
		ev.Template, _ = g.template(n.Name)
		return ev
	}
	ev.Truncates, ev.Below = op.Flags&flagTruncates != 0, n.Parent.Ino != 0
	return ev
}

// changes lists the datasets whose files or names an operation changes,
// smallest id first. A directory may hold files of later datasets, and a file
// that is replaced is taken from its own.
func (g *group) changes(op catalog.Op) []scr.DatasetID {
	seen := map[scr.DatasetID]bool{}
	add := func(n *catalog.Inode) {
		if n != nil {
			g.state.Below(n, func(n *catalog.Inode) { seen[n.Dataset] = true })
		}
	}
	switch op.Kind {
	case catalog.OpSetAttr:
		if n := g.state.Inode(op.Ino); n != nil {
			seen[n.Dataset] = true
		}
	case catalog.OpUnlink, catalog.OpRmdir:
		add(g.state.Lookup(op.Dir, op.Name))
	case catalog.OpRename:
		add(g.state.Lookup(op.Dir, op.Name))
		add(g.state.Lookup(op.NewDir, op.NewName))
	case catalog.OpMoveDir:
		for _, n := range g.state.UnderPrefix(op.Dir.Path) {
			add(n)
		}
	}
	return slices.Sorted(maps.Keys(seen))
}

// flagTruncates in the Flags of an open: O_TRUNC.
const flagTruncates = 1

// flagOutput in the Flags of a make operation: a rule says it is output, not a
// checkpoint.
const flagOutput = 1

// linkBytes is the link, big endian, before the entries of a message.
const linkBytes = 8

// serveApply takes entries from the leader.
func (g *group) serveApply(_ context.Context, from peer.NodeID, req []byte) ([]byte, error) {
	if len(req) < linkBytes {
		return nil, fmt.Errorf("entries in %d bytes: %d at least", len(req), linkBytes)
	}
	link := binary.BigEndian.Uint64(req)
	frames, err := splitFrames(req[linkBytes:])
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
		at := fmt.Sprintf("entry %d of epoch %d from %s, this node is at %d of epoch %d", e.Seq, e.Epoch, from, g.seq, g.epoch)
		switch {
		case e.Epoch < max(g.epoch, g.promised):
			return nil, fmt.Errorf("%s: %w", at, errStale)
		case e.Epoch > g.epoch || from != g.leader || link != g.link || e.Seq > g.seq+1:
			return nil, fmt.Errorf("%s: %w", at, errGap)
		case e.Seq <= g.seq:
			continue // sent again
		}
		g.applyLocked(e, bytes.Clone(f))
	}
	return nil, nil
}
