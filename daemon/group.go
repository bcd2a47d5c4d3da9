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
	callApply   = "group.apply"   // entries → (), by a follower
	callJoin    = "group.join"    // joinRequest → groupSnapshot, by the leader
	callHello   = "group.hello"   // () → helloReply, by anyone
	callInstall = "group.install" // groupSnapshot → (), by a follower of a new leader
	callState   = "group.state"   // () → groupSnapshot, by anyone
)

// errNotLeader: the node that was asked does not lead (any more).
var errNotLeader = errors.New("this node is not the leader")

// errStale: the message is of an epoch that is over.
var errStale = errors.New("the epoch is over")

// errNotYet: the node has been sent the state this message follows, but has
// not taken it in.
var errNotYet = errors.New("the node has not joined yet")

// errNotMember: the leader has taken the node out; it has to join again.
var errNotMember = errors.New("the node was taken out of the job")

func init() {
	peer.RegisterError("group.notLeader", errNotLeader)
	peer.RegisterError("group.stale", errStale)
	peer.RegisterError("group.notYet", errNotYet)
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
	// FreshID returns a dataset id that was never used on this prefix.
	FreshID(ctx context.Context) (scr.DatasetID, error)
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
	request uint64 // last number given to an own proposal

	// While this node leads.
	fresh     scr.DatasetID // in hand for the next dataset
	followers map[peer.NodeID]*follower

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
		leader, epoch, err := g.awaitLeader(ctx)
		if err != nil {
			return outcome{}, err
		}
		var out outcome
		if leader == g.self {
			out, err = g.lead(ctx, e)
		} else {
			out, err = g.askLeader(ctx, leader, e)
		}
		switch {
		case err == nil && out.Errno != 0:
			return out, out.Errno
		case err == nil:
			return out, g.awaitSeq(ctx, out.Seq)
		case ctx.Err() != nil:
			return outcome{}, fmt.Errorf("leader %s does not answer: %w", leader, errors.Join(err, ctx.Err()))
		}
		if errors.Is(err, errNotMember) {
			if err := g.join(ctx, leader, g.kept()); err != nil {
				g.log.Warn("node does not get back into the job", slog.String("leader", string(leader)), slog.Any("err", err))
			}
		}
		g.log.Debug("proposal is repeated", slog.String("leader", string(leader)), slog.Any("err", err))
		g.awaitChange(ctx, epoch)
	}
}

func (g *group) askLeader(ctx context.Context, leader peer.NodeID, e entry) (outcome, error) {
	b, err := e.encode()
	if err != nil {
		return outcome{}, err
	}
	reply, err := g.transport.Call(ctx, leader, callPropose, b)
	if err != nil {
		return outcome{}, err
	}
	return decodeOutcome(reply)
}

// awaitLeader returns the leader and its epoch as soon as there is one.
func (g *group) awaitLeader(ctx context.Context) (peer.NodeID, int64, error) {
	defer g.wakeOn(ctx)()
	g.mu.Lock()
	defer g.mu.Unlock()
	for g.leader == "" && ctx.Err() == nil && g.ctx.Err() == nil {
		g.changed.Wait()
	}
	if g.leader == "" {
		return "", 0, fmt.Errorf("the job has no leader: %w", context.Cause(ctx))
	}
	return g.leader, g.epoch, nil
}

// awaitSeq waits until this node has applied a change; its own proposals are
// answered as soon as the others have.
func (g *group) awaitSeq(ctx context.Context, seq uint64) error {
	defer g.wakeOn(ctx)()
	g.mu.Lock()
	defer g.mu.Unlock()
	for g.seq < seq && ctx.Err() == nil && g.ctx.Err() == nil {
		g.changed.Wait()
	}
	if g.seq < seq {
		return fmt.Errorf("change %d has not reached this node: %w", seq, context.Cause(ctx))
	}
	return nil
}

// retryPause is how long a proposal waits for the leadership to change before
// it asks the same leader again.
const retryPause = 50 * time.Millisecond

func (g *group) awaitChange(ctx context.Context, epoch int64) {
	ctx, cancel := context.WithTimeout(ctx, retryPause)
	defer cancel()
	defer g.wakeOn(ctx)()
	g.mu.Lock()
	defer g.mu.Unlock()
	for g.epoch == epoch && ctx.Err() == nil && g.ctx.Err() == nil {
		g.changed.Wait()
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

func (g *group) epochNow() int64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.epoch
}

// announce tells the job of an event that touches no name.
func (g *group) announce(ctx context.Context, ev lifecycle.Event) error {
	_, err := g.propose(ctx, nil, &ev)
	return err
}

// drop takes every name of a dataset out of the catalogue.
func (g *group) drop(ctx context.Context, id scr.DatasetID) error {
	_, err := g.propose(ctx, &catalog.Op{Kind: catalog.OpDrop, Dataset: id}, nil)
	return err
}

// moved records that the bytes of a file lie on another node now.
func (g *group) moved(ctx context.Context, ino catalog.Ino, to string) error {
	_, err := g.propose(ctx, &catalog.Op{Kind: catalog.OpMoved, Ino: ino, Target: to}, nil)
	return err
}
