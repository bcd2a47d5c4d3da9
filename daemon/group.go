package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"syscall"
	"time"

	"github.com/scrfs/scrfs/catalog"
	"github.com/scrfs/scrfs/lifecycle"
	"github.com/scrfs/scrfs/peer"
	"github.com/scrfs/scrfs/scr"
)

// Calls between the groups of the nodes.
const (
	callPropose = "group.propose" // entry → outcome, by the leader
	callApply   = "group.apply"   // link and entries → (), by a follower
	callInstall = "group.install" // groupState → (), by a follower, before the first entry
	callJoin    = "group.join"    // joinRequest → joinReply, by the leader
	callInvite  = "group.invite"  // epoch → (), by a node that the leader has taken out
	callHello   = "group.hello"   // () → helloReply, by anyone
	callPromise = "group.promise" // epoch → helloReply, by anyone: it takes nothing of an older epoch from now on
	callHistory = "group.history" // helloReply of who asks → groupState, by anyone
)

// errNotLeader: the node that was asked does not lead (any more).
var errNotLeader = errors.New("this node is not the leader")

// errStale: the message is of an epoch that is over.
var errStale = errors.New("the epoch is over")

// errGap: the node does not stand where the message continues; it has to join
// (again).
var errGap = errors.New("the node does not follow")

// errNotMember: the leader has taken the node out; it has to join again.
var errNotMember = errors.New("the node was taken out of the job")

func init() {
	peer.RegisterError("group.notLeader", errNotLeader)
	peer.RegisterError("group.stale", errStale)
	peer.RegisterError("group.gap", errGap)
	peer.RegisterError("group.notMember", errNotMember)
}

// effects is what a change does on this node, beside the tree. It is called in
// order, under the group's lock, on every node. It must not wait for anything
// but the node's own cache directory.
type effects interface {
	apply(op catalog.Op, res catalog.Result, oldPath, newPath string)
}

// epochs gives out leadership: each epoch once, to one node, over the prefix
// directory.
type epochs interface {
	// Claim takes the epoch; false if another node has it.
	Claim(ctx context.Context, epoch int64, node string) (bool, error)
	// Last returns the highest epoch that was claimed, 0 if none.
	Last(ctx context.Context) (int64, error)
	// FreshID returns a dataset id that was never used on this prefix and is
	// greater than after.
	FreshID(ctx context.Context, after scr.DatasetID) (scr.DatasetID, error)
}

// group is this node's part in the catalogue that the nodes keep together.
type group struct {
	self      peer.NodeID
	transport peer.Transport
	epochs    epochs
	effects   effects
	act       func(lifecycle.Action) // starts an action; only the leader's group calls it
	kept      func() []scr.DatasetID // complete in this node's cache
	template  func(name string) (template, numbers string)
	now       func() time.Time
	policy    lifecycle.Config
	log       *slog.Logger

	mu      sync.Mutex
	changed *sync.Cond // leader, epoch or seq have changed
	epoch   int64
	seq     uint64
	leader  peer.NodeID // "" while there is none
	state   *catalog.State
	lives   *lifecycle.Machine
	members map[peer.NodeID]bool // that joined and are not known to be lost
	history history              // the latest entries, for nodes that are a little behind
	request uint64               // last number given to an own proposal

	// era ends when the leader or the epoch changes.
	era    context.Context
	endEra context.CancelFunc

	// promised is the epoch whose claimant was told how far this node is:
	// nothing of an older one is taken from then on.
	promised   int64
	promisedTo peer.NodeID
	// link is the number that the leader gave to its latest installation here.
	link    uint64
	seeking bool // a goroutine looks for a leader
	joining bool // a goroutine joins the leader again

	// While this node leads.
	fresh      scr.DatasetID // in hand for the next dataset
	links      uint64        // last number given to a follower
	followers  map[peer.NodeID]*follower
	readmitted map[peer.NodeID]bool // a goroutine asks it to join again

	ctx  context.Context
	stop context.CancelFunc
	wg   sync.WaitGroup
}

// outcome is the answer to a proposal.
type outcome struct {
	Seq     uint64
	Errno   syscall.Errno
	Ino     catalog.Ino
	Dataset scr.DatasetID
}

// propose brings a change into the group's order and returns when every live
// node has applied it. The error is a syscall.Errno the change itself gave, or
// says that the group gave no answer until ctx ended.
func (g *group) propose(ctx context.Context, op *catalog.Op, ev *lifecycle.Event) (outcome, error) {
	if op != nil {
		g.mu.Lock()
		g.request++
		op.Node, op.Request = string(g.self), g.request
		g.mu.Unlock()
	}
	e := entry{Op: op, Event: ev}
	for {
		leader, era, err := g.awaitLeader(ctx)
		if err != nil {
			return outcome{}, err
		}
		var out outcome
		if leader == g.self {
			out, err = g.lead(ctx, e)
		} else {
			out, err = g.askLeader(ctx, era, leader, e)
		}
		switch {
		case err == nil && out.Errno != 0:
			// What made it fail must be seen here, too, before the program asks.
			if err := g.awaitSeq(ctx, out.Seq); err != nil {
				return out, err
			}
			return out, out.Errno
		case err == nil:
			return out, g.awaitSeq(ctx, out.Seq)
		case g.over(ctx) != nil:
			return outcome{}, fmt.Errorf("leader %s does not answer: %w", leader, errors.Join(err, g.over(ctx)))
		}
		if errors.Is(err, errNotMember) {
			g.joinAgain(leader)
		}
		g.log.Debug("proposal is repeated", slog.String("leader", string(leader)), slog.Any("err", err))
		g.pause(ctx, era)
	}
}

// over is the reason not to wait any longer, nil if there is none.
func (g *group) over(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return g.ctx.Err()
}

// askLeader gives up when the leader has changed: one that is frozen would
// answer much later, or never.
func (g *group) askLeader(ctx, era context.Context, leader peer.NodeID, e entry) (outcome, error) {
	b, err := e.encode()
	if err != nil {
		return outcome{}, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(era, cancel)()
	reply, err := g.transport.Call(ctx, leader, callPropose, b)
	if err != nil {
		return outcome{}, err
	}
	return decodeOutcome(reply)
}

// awaitLeader returns the leader and its era as soon as there is one.
func (g *group) awaitLeader(ctx context.Context) (peer.NodeID, context.Context, error) {
	defer g.wakeOn(ctx)()
	g.mu.Lock()
	defer g.mu.Unlock()
	for g.leader == "" && g.over(ctx) == nil {
		g.changed.Wait()
	}
	if g.leader == "" {
		return "", nil, fmt.Errorf("the job has no leader: %w", g.over(ctx))
	}
	return g.leader, g.era, nil
}

// followLocked makes a node, maybe this one, or nobody, the leader.
func (g *group) followLocked(leader peer.NodeID, epoch int64, link uint64) {
	if g.leader == g.self {
		g.retireLocked()
	}
	g.leader, g.epoch, g.link = leader, epoch, link
	g.promised = max(g.promised, epoch)
	g.endEra()
	g.era, g.endEra = context.WithCancel(g.ctx)
	g.changed.Broadcast()
}

// awaitSeq waits until this node has applied a change; its own proposals are
// answered as soon as the others have.
func (g *group) awaitSeq(ctx context.Context, seq uint64) error {
	defer g.wakeOn(ctx)()
	g.mu.Lock()
	defer g.mu.Unlock()
	for g.seq < seq && g.over(ctx) == nil {
		g.changed.Wait()
	}
	if g.seq < seq {
		return fmt.Errorf("change %d has not reached this node: %w", seq, g.over(ctx))
	}
	return nil
}

// retryPause is how long a proposal waits for the leadership to change before
// it asks the same leader again.
const retryPause = 50 * time.Millisecond

// pause waits a little, or until the era ends.
func (g *group) pause(ctx, era context.Context) {
	t := time.NewTimer(retryPause)
	defer t.Stop()
	select {
	case <-t.C:
	case <-era.Done():
	case <-ctx.Done():
	case <-g.ctx.Done():
	}
}

// spawnLocked runs f on a goroutine of the group, which close waits for.
func (g *group) spawnLocked(f func()) {
	if g.ctx.Err() == nil {
		g.wg.Go(f)
	}
}

// wakeOn lets waiters look again when ctx or the group ends.
func (g *group) wakeOn(ctx context.Context) func() {
	wake := func() {
		g.mu.Lock()
		g.changed.Broadcast()
		g.mu.Unlock()
	}
	a, b := context.AfterFunc(ctx, wake), context.AfterFunc(g.ctx, wake)
	return func() { a(); b() }
}

// view runs f with the tree and the lives, which must not be changed or kept.
func (g *group) view(f func(*catalog.State, *lifecycle.Machine)) {
	g.mu.Lock()
	defer g.mu.Unlock()
	f(g.state, g.lives)
}

// leads tells whether this node leads.
func (g *group) leads() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.leader == g.self
}

// announce tells the job of an event that touches no name.
func (g *group) announce(ctx context.Context, ev lifecycle.Event) error {
	_, err := g.propose(ctx, nil, &ev)
	return err
}

// drop takes every name of a dataset out of the catalogue.
func (g *group) drop(ctx context.Context, id scr.DatasetID) error {
	op := &catalog.Op{Kind: catalog.OpDrop, Dataset: id}
	g.view(func(_ *catalog.State, m *lifecycle.Machine) {
		if d, _ := m.Dataset(id); d.Published {
			op.Flags = catalog.DropPublished
		}
	})
	_, err := g.propose(ctx, op, nil)
	return err
}

// moved records that the bytes of a file lie on another node now.
func (g *group) moved(ctx context.Context, ino catalog.Ino, to string) error {
	_, err := g.propose(ctx, &catalog.Op{Kind: catalog.OpMoved, Ino: ino, Target: to}, nil)
	return err
}
