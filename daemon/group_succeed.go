package daemon

import (
	"context"
	"errors"
	"log/slog"

	"github.com/scrfs/scrfs/peer"
)

// peerChanged is told when a node is down or answers again.
func (g *group) peerChanged(node peer.NodeID, alive bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	f, epoch := g.followers[node], g.epoch
	switch {
	case g.leader == g.self && alive && f == nil:
		g.readmitLocked(node)
	case alive:
	case g.leader == g.self:
		g.log.Warn("node is down", slog.String("node", string(node)))
		g.spawnLocked(func() { g.lose(node, f, epoch) })
	case g.leader == node:
		g.log.Warn("leader is down", slog.String("node", string(node)))
		g.seekLocked()
	}
}

// lose takes out a node that is down, unless it is rather this one that is cut
// off: whoever has lost half of the nodes or more leads no more, until it has
// an epoch anew.
func (g *group) lose(node peer.NodeID, f *follower, epoch int64) {
	near := map[peer.NodeID]bool{g.self: true}
	g.askMembers(g.ctx, callHello, nil, helloTimeout, func(node peer.NodeID, _ helloReply) { near[node] = true })
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.leader != g.self || g.epoch != epoch || g.followers[node] != f {
		return
	}
	if g.members[node] && 2*g.nearLocked(near) <= len(g.members) {
		g.deposeLocked(epoch)
		return
	}
	c := g.removeLocked(node)
	g.spawnLocked(func() { g.finishAlone(c) })
	if g.transport.Alive(node) {
		g.readmitLocked(node) // it was away for a moment only
	}
}

// nearLocked counts the members among some nodes.
func (g *group) nearLocked(nodes map[peer.NodeID]bool) int {
	n := 0
	for node := range g.members {
		if nodes[node] {
			n++
		}
	}
	return n
}

// deposeLocked: another node leads, or is about to. What was not acknowledged
// by then is asked again of the next leader.
func (g *group) deposeLocked(epoch int64) {
	if g.leader != g.self || g.epoch != epoch {
		return
	}
	g.log.Warn("this node leads no more", slog.Int64("epoch", epoch))
	g.followLocked("", epoch, 0)
	g.seekLocked()
}

// seekLocked looks for the next leader, in the background, until there is one.
func (g *group) seekLocked() {
	if g.seeking {
		return
	}
	g.seeking = true
	g.spawnLocked(g.seek)
}

func (g *group) seek() {
	for {
		g.mu.Lock()
		found := g.leader == g.self || g.leader != "" && g.transport.Alive(g.leader)
		if found || g.ctx.Err() != nil {
			g.seeking = false
			g.mu.Unlock()
			return
		}
		era := g.era
		g.mu.Unlock()
		if err := g.find(g.ctx); err != nil && !errors.Is(err, errNoLeader) && !errors.Is(err, errMinority) && g.ctx.Err() == nil {
			g.log.Warn("leader is looked for again", slog.Any("err", err))
		}
		g.pause(g.ctx, era)
	}
}

// readmitLocked asks a node that answers, but does not follow, to join again.
func (g *group) readmitLocked(node peer.NodeID) {
	if g.readmitted[node] {
		return
	}
	g.readmitted[node] = true
	g.spawnLocked(func() { g.readmit(node) })
}

func (g *group) readmit(node peer.NodeID) {
	for {
		g.mu.Lock()
		epoch, era := g.epoch, g.era
		if g.leader != g.self || g.followers[node] != nil || g.ctx.Err() != nil || !g.transport.Alive(node) {
			delete(g.readmitted, node)
			g.mu.Unlock()
			return
		}
		g.mu.Unlock()
		if err := g.invite(node, epoch); err != nil {
			g.log.Debug("node is asked again to join", slog.String("node", string(node)), slog.Any("err", err))
		}
		g.pause(g.ctx, era)
	}
}

func (g *group) invite(node peer.NodeID, epoch int64) error {
	ctx, cancel := context.WithTimeout(g.ctx, helloTimeout)
	defer cancel()
	h, err := g.ask(ctx, node, callHello, nil)
	switch {
	case err != nil:
		return err
	case h.Epoch > epoch:
		g.mu.Lock()
		defer g.mu.Unlock()
		g.deposeLocked(epoch)
		return nil
	case h.Epoch == 0:
		return nil // it has just started, and joins by itself
	}
	b, err := encodeGob(epoch)
	if err != nil {
		return err
	}
	_, err = g.transport.Call(ctx, node, callInvite, b)
	return err
}

func (g *group) serveInvite(_ context.Context, from peer.NodeID, req []byte) ([]byte, error) {
	var epoch int64
	if err := decodeGob(req, &epoch); err != nil {
		return nil, err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if epoch >= g.epoch && g.epoch > 0 {
		g.joinAgainLocked(from)
	}
	return nil, nil
}
