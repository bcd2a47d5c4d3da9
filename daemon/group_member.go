package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/scrfs/scrfs/catalog"
	"github.com/scrfs/scrfs/lifecycle"
	"github.com/scrfs/scrfs/peer"
	"github.com/scrfs/scrfs/router"
	"github.com/scrfs/scrfs/scr"
)

// joinRequest is what a node says of itself to the leader.
type joinRequest struct {
	Fresh bool            // it has started; else it was in the job before
	Kept  []scr.DatasetID // complete in its cache
}

// joinReply announces the installation that makes the node a follower.
type joinReply struct {
	Epoch int64
	Link  uint64
}

// helloReply says whom a node follows and how far it is; epoch 0 is a node that
// has not joined since it started.
type helloReply struct {
	Leader  peer.NodeID
	Content bool // the leader is not known to be down
	Epoch   int64
	Seq     uint64
}

func (g *group) register() {
	g.transport.Handle(callPropose, g.servePropose)
	g.transport.Handle(callApply, g.serveApply)
	g.transport.Handle(callInstall, g.serveInstall)
	g.transport.Handle(callJoin, g.serveJoin)
	g.transport.Handle(callInvite, g.serveInvite)
	g.transport.Handle(callHello, g.serveHello)
	g.transport.Handle(callPromise, g.servePromise)
	g.transport.Handle(callHistory, g.serveHistory)
}

// start finds the leader of the job and joins it, or becomes the leader. It
// returns when this node has the catalogue.
func (g *group) start(ctx context.Context) error {
	g.transport.OnChange(g.peerChanged)
	for {
		err := g.find(ctx)
		if err == nil {
			return nil
		}
		if errors.Is(err, errPrefix) {
			return err
		}
		g.log.Debug("leader is looked for", slog.Any("err", err))
		select {
		case <-ctx.Done():
			return fmt.Errorf("no leader was found and this node may not lead: %w", context.Cause(ctx))
		case <-time.After(retryPause):
		}
	}
}

// errNoLeader: nobody leads, and it is another node's turn to do so.
var errNoLeader = errors.New("nobody leads yet")

// find joins the leader or becomes it, in one try.
func (g *group) find(ctx context.Context) error {
	answers := map[peer.NodeID]helloReply{}
	g.askMembers(ctx, callHello, nil, helloTimeout, func(node peer.NodeID, h helloReply) { answers[node] = h })
	leader := g.leaderOf(answers)
	switch {
	case leader != "":
		return g.join(ctx, leader)
	case g.mayLead(answers):
		return g.takeOver(ctx, answers)
	}
	return errNoLeader
}

// leaderOf returns the node that says itself that it leads, "" if there is
// none; in an older epoch than this node's it only believes so.
func (g *group) leaderOf(answers map[peer.NodeID]helloReply) (leader peer.NodeID) {
	g.mu.Lock()
	epoch := g.epoch
	g.mu.Unlock()
	for node, h := range answers {
		if h.Leader == node && h.Epoch >= epoch {
			leader, epoch = node, h.Epoch
		}
	}
	return leader
}

// helloTimeout bounds the question who leads.
const helloTimeout = 300 * time.Millisecond

// askMembers calls all other members that are not known to be down, at the
// same time, and hands each answer to take, one at a time.
func (g *group) askMembers(ctx context.Context, call string, req []byte, timeout time.Duration, take func(peer.NodeID, helloReply)) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var mu sync.Mutex
	var wg sync.WaitGroup
	for _, m := range g.transport.Members() {
		if m.Name == g.self || !g.transport.Alive(m.Name) {
			continue
		}
		wg.Go(func() {
			h, err := g.ask(ctx, m.Name, call, req)
			if err != nil {
				g.log.Debug("member does not answer", slog.String("node", string(m.Name)), slog.String("call", call), slog.Any("err", err))
				return
			}
			mu.Lock()
			defer mu.Unlock()
			take(m.Name, h)
		})
	}
	wg.Wait()
}

func (g *group) ask(ctx context.Context, node peer.NodeID, call string, req []byte) (h helloReply, err error) {
	b, err := g.transport.Call(ctx, node, call, req)
	if err != nil {
		return h, err
	}
	return h, decodeGob(b, &h)
}

func (g *group) serveHello(context.Context, peer.NodeID, []byte) ([]byte, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	content := g.leader != "" && g.transport.Alive(g.leader)
	return encodeGob(helloReply{Leader: g.leader, Content: content, Epoch: g.epoch, Seq: g.seq})
}

// mayLead: the lowest node leads; another one only if all lower ones are down,
// or wait for it to lead. Nobody does while another reaches the leader: who
// does not is cut off from it, and waits.
func (g *group) mayLead(answers map[peer.NodeID]helloReply) bool {
	for _, h := range answers {
		if h.Content && h.Leader != g.self {
			return false
		}
	}
	for _, m := range g.transport.Members() {
		if m.Name < g.self && g.transport.Alive(m.Name) && answers[m.Name].Leader != g.self {
			return false
		}
	}
	return true
}

// joinTimeout bounds one try to join.
const joinTimeout = 10 * time.Second

// join makes this node a follower; it returns when it has the leader's state.
func (g *group) join(ctx context.Context, leader peer.NodeID) error {
	ctx, cancel := context.WithTimeout(ctx, joinTimeout)
	defer cancel()
	g.mu.Lock()
	fresh := g.epoch == 0
	g.mu.Unlock()
	req, err := encodeGob(joinRequest{Fresh: fresh, Kept: g.kept()})
	if err != nil {
		return err
	}
	b, err := g.transport.Call(ctx, leader, callJoin, req)
	if err != nil {
		return fmt.Errorf("join %s: %w", leader, err)
	}
	var r joinReply
	if err := decodeGob(b, &r); err != nil {
		return fmt.Errorf("join %s: %w", leader, err)
	}
	defer g.wakeOn(ctx)()
	g.mu.Lock()
	defer g.mu.Unlock()
	for g.epoch < r.Epoch || g.epoch == r.Epoch && g.link < r.Link {
		if err := g.over(ctx); err != nil {
			return fmt.Errorf("join %s: its state has not come: %w", leader, err)
		}
		g.changed.Wait()
	}
	return nil
}

// joinAgain joins the leader in the background, after it has taken this node
// out.
func (g *group) joinAgain(leader peer.NodeID) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.leader == leader {
		g.joinAgainLocked(leader)
	}
}

func (g *group) joinAgainLocked(leader peer.NodeID) {
	if g.joining {
		return
	}
	g.joining = true
	g.spawnLocked(func() {
		if err := g.join(g.ctx, leader); err != nil && g.ctx.Err() == nil {
			g.log.Warn("node does not get back into the job", slog.String("leader", string(leader)), slog.Any("err", err))
		}
		g.mu.Lock()
		defer g.mu.Unlock()
		g.joining = false
	})
}

// serveJoin lets a node follow. One that was here before has lost what it had
// open, and of its cache what it does not name.
func (g *group) serveJoin(_ context.Context, from peer.NodeID, req []byte) ([]byte, error) {
	var j joinRequest
	if err := decodeGob(req, &j); err != nil {
		return nil, err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.leader != g.self {
		return nil, errNotLeader
	}
	if f := g.followers[from]; f != nil && !j.Fresh {
		return encodeGob(joinReply{Epoch: f.epoch, Link: f.link}) // it is a follower
	}
	c := g.admitLocked(from, j.Kept)
	g.spawnLocked(func() { g.finishAlone(c) })
	base, err := g.wholeLocked()
	if err != nil {
		return nil, err
	}
	f := g.followerLocked(from, base)
	g.log.Info("node joins", slog.String("node", string(from)), slog.Int64("epoch", g.epoch))
	return encodeGob(joinReply{Epoch: f.epoch, Link: f.link})
}

// flagJoins in the Flags of OpNodeDown: the node is a member from then on. Of
// what it was before it has only what it kept.
const flagJoins = 1

// admitLocked makes a node a member, removeLocked takes it out: what it had
// open is closed, what it alone had, beside what it kept, is rebuilt or lost.
func (g *group) admitLocked(node peer.NodeID, kept []scr.DatasetID) change {
	return g.tellLocked(catalog.Op{Kind: catalog.OpNodeDown, Node: string(node), Kept: kept, Flags: flagJoins})
}

func (g *group) removeLocked(node peer.NodeID) change {
	return g.tellLocked(catalog.Op{Kind: catalog.OpNodeDown, Node: string(node)})
}

func (g *group) tellLocked(op catalog.Op) change {
	node := peer.NodeID(op.Node)
	if f := g.followers[node]; f != nil {
		f.stop()
		delete(g.followers, node)
	}
	c, err := g.orderLocked(entry{Op: &op})
	if err != nil {
		c.epoch = 0 // nothing is done: the next leader does it
	}
	return c
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
		followers: map[peer.NodeID]*follower{}, readmitted: map[peer.NodeID]bool{}, members: map[peer.NodeID]bool{},
		// Own numbers must not be those of an earlier life of this node.
		request: uint64(time.Now().UnixNano()),
	}
	g.changed = sync.NewCond(&g.mu)
	g.ctx, g.stop = context.WithCancel(context.Background())
	g.era, g.endEra = context.WithCancel(g.ctx)
	g.register()
	return g
}

// close ends the group's goroutines; the transport may be closed after it.
func (g *group) close() {
	g.mu.Lock()
	g.stop() // under the lock: nothing is spawned after it
	g.mu.Unlock()
	g.wg.Wait()
}

// family splits a name into what stays and the numbers that move.
func family(name string) (template, numbers string) {
	template, list := router.Family(name)
	return template, fmt.Sprint(list)
}
