package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/scrfs/scrfs/catalog"
	"github.com/scrfs/scrfs/kvtree"
	"github.com/scrfs/scrfs/lifecycle"
	"github.com/scrfs/scrfs/peer"
	"github.com/scrfs/scrfs/router"
	"github.com/scrfs/scrfs/scr"
)

// joinRequest is what a node says of itself to the leader.
type joinRequest struct {
	Addr string
	Kept []scr.DatasetID // complete in its cache
}

// helloReply says whom a node follows.
type helloReply struct {
	Leader peer.NodeID
	Epoch  int64
	Seq    uint64
}

// groupSnapshot is the whole of what the nodes keep together.
type groupSnapshot struct {
	Leader peer.NodeID
	Epoch  int64
	Seq    uint64
	Tree   []byte
	Lives  []byte
}

func (g *group) register() {
	g.transport.Handle(callPropose, g.servePropose)
	g.transport.Handle(callApply, g.serveApply)
	g.transport.Handle(callJoin, g.serveJoin)
	g.transport.Handle(callHello, g.serveHello)
	g.transport.Handle(callInstall, g.serveInstall)
	g.transport.Handle(callState, g.serveState)
}

// start finds the leader of the job and joins it, or becomes the leader. It
// returns when this node has the catalogue.
func (g *group) start(ctx context.Context) error {
	g.transport.OnChange(g.peerChanged)
	for {
		leader, anyone := g.findLeader(ctx)
		switch {
		case leader != "":
			err := g.join(ctx, leader, g.kept())
			if err == nil {
				return nil
			}
			g.log.Warn("join is repeated", slog.String("leader", string(leader)), slog.Any("err", err))
		case g.mayLead(anyone):
			last, err := g.epochs.Last(ctx)
			if err != nil {
				return fmt.Errorf("read the epochs: %w", err)
			}
			if err := g.takeOver(ctx, last+1); err == nil {
				return nil
			} else if !errors.Is(err, errStale) {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("no leader was found and this node may not lead: %w", context.Cause(ctx))
		case <-time.After(retryPause):
		}
	}
}

// findLeader asks the other nodes; the second result are those that answered.
func (g *group) findLeader(ctx context.Context) (leader peer.NodeID, answered []peer.NodeID) {
	var epoch int64
	for _, m := range g.transport.Members() {
		if m.Name == g.self {
			continue
		}
		h, err := g.hello(ctx, m.Name)
		if err != nil {
			continue
		}
		answered = append(answered, m.Name)
		if h.Leader != "" && h.Leader != g.self && h.Epoch > epoch && g.transport.Alive(h.Leader) {
			leader, epoch = h.Leader, h.Epoch
		}
	}
	return leader, answered
}

// helloTimeout bounds the question who leads.
const helloTimeout = 300 * time.Millisecond

func (g *group) hello(ctx context.Context, node peer.NodeID) (helloReply, error) {
	ctx, cancel := context.WithTimeout(ctx, helloTimeout)
	defer cancel()
	var h helloReply
	b, err := g.transport.Call(ctx, node, callHello, nil)
	if err != nil {
		return h, err
	}
	return h, decodeGob(b, &h)
}

// mayLead: the lowest node leads; another one only if all lower ones are down.
func (g *group) mayLead(answered []peer.NodeID) bool {
	for _, m := range g.transport.Members() {
		if m.Name < g.self && (slices.Contains(answered, m.Name) || g.transport.Alive(m.Name)) {
			return false
		}
	}
	return true
}

func (g *group) join(ctx context.Context, leader peer.NodeID, kept []scr.DatasetID) error {
	req, err := encodeGob(joinRequest{Addr: g.transport.Addr(), Kept: kept})
	if err != nil {
		return err
	}
	b, err := g.transport.Call(ctx, leader, callJoin, req)
	if err != nil {
		return fmt.Errorf("join %s: %w", leader, err)
	}
	var s groupSnapshot
	if err := decodeGob(b, &s); err != nil {
		return fmt.Errorf("join %s: %w", leader, err)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.installLocked(s)
}

func (g *group) installLocked(s groupSnapshot) error {
	if s.Epoch < g.epoch {
		return errStale
	}
	t, err := kvtree.Unpack(s.Tree)
	if err != nil {
		return err
	}
	state, err := catalog.Restore(t)
	if err != nil {
		return err
	}
	lives, err := lifecycle.Restore(g.policy, s.Lives)
	if err != nil {
		return err
	}
	g.state, g.lives, g.seq, g.epoch, g.leader = state, lives, s.Seq, s.Epoch, s.Leader
	g.changed.Broadcast()
	return nil
}

func (g *group) snapshotLocked() (groupSnapshot, error) {
	lives, err := g.lives.Snapshot()
	return groupSnapshot{Leader: g.leader, Epoch: g.epoch, Seq: g.seq, Tree: kvtree.Pack(g.state.Snapshot()), Lives: lives}, err
}

// serveJoin lets a node follow. One that was here before has lost what it had
// open, and of its cache what it does not name.
func (g *group) serveJoin(ctx context.Context, from peer.NodeID, req []byte) ([]byte, error) {
	var j joinRequest
	if err := decodeGob(req, &j); err != nil {
		return nil, err
	}
	g.mu.Lock()
	if g.leader != g.self {
		g.mu.Unlock()
		return nil, errNotLeader
	}
	if old := g.followers[from]; old != nil {
		old.leave()
		delete(g.followers, from)
	}
	g.mu.Unlock()
	if err := g.nodeLost(ctx, from, j.Kept); err != nil {
		return nil, err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	s, err := g.snapshotLocked()
	if err != nil {
		return nil, err
	}
	b, err := encodeGob(s)
	if err != nil {
		return nil, err
	}
	g.wg.Add(1)
	go g.feed(g.ctx, g.followLocked(from))
	g.log.Info("node has joined", slog.String("node", string(from)), slog.Int64("epoch", g.epoch))
	return b, nil
}

// followLocked lets a node's queue begin at the present state; who calls it
// starts feed once the node has that state.
func (g *group) followLocked(node peer.NodeID) *follower {
	f := newFollower(node, g.seq)
	g.followers[node] = f
	return f
}

// nodeLost takes a node out: what it had open is closed, what it alone had is
// rebuilt or lost.
func (g *group) nodeLost(ctx context.Context, node peer.NodeID, kept []scr.DatasetID) error {
	op := catalog.Op{Kind: catalog.OpNodeDown, Node: string(node), Kept: kept}
	_, err := g.lead(ctx, entry{Op: &op})
	return err
}

func (g *group) serveHello(context.Context, peer.NodeID, []byte) ([]byte, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return encodeGob(helloReply{Leader: g.leader, Epoch: g.epoch, Seq: g.seq})
}

func (g *group) serveState(context.Context, peer.NodeID, []byte) ([]byte, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	s, err := g.snapshotLocked()
	if err != nil {
		return nil, err
	}
	return encodeGob(s)
}

func (g *group) serveInstall(_ context.Context, from peer.NodeID, req []byte) ([]byte, error) {
	var s groupSnapshot
	if err := decodeGob(req, &s); err != nil {
		return nil, err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if s.Epoch <= g.epoch {
		return nil, fmt.Errorf("epoch %d of %s, this node is in epoch %d: %w", s.Epoch, from, g.epoch, errStale)
	}
	return nil, g.installLocked(s)
}

// groupOptions is what a group needs of the node it serves.
type groupOptions struct {
	effects effects
	act     func(lifecycle.Action)
	kept    func() []scr.DatasetID
	policy  lifecycle.Config
	log     *slog.Logger
}

func newGroup(t peer.Transport, e epochs, o groupOptions) *group {
	g := &group{
		self: t.Self(), transport: t, epochs: e, effects: o.effects, act: o.act, kept: o.kept, policy: o.policy, log: o.log,
		template: family, now: time.Now, state: catalog.New(), lives: lifecycle.New(o.policy),
		followers: map[peer.NodeID]*follower{},
		// Own numbers must not be those of an earlier life of this node.
		request: uint64(time.Now().UnixNano()),
	}
	g.changed = sync.NewCond(&g.mu)
	g.ctx, g.stop = context.WithCancel(context.Background())
	g.register()
	return g
}

// close ends the group's goroutines; the transport may be closed after it.
func (g *group) close() {
	g.stop()
	g.wg.Wait()
}

// family splits a name into what stays and the numbers that move.
func family(name string) (template, numbers string) {
	template, list := router.Family(name)
	return template, fmt.Sprint(list)
}
