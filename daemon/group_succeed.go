package daemon

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"

	"github.com/scrfs/scrfs/peer"
)

// peerChanged is told when a node is down or answers again.
func (g *group) peerChanged(node peer.NodeID, alive bool) {
	if alive {
		return // it joins by itself
	}
	g.mu.Lock()
	leader, f := g.leader, g.followers[node]
	delete(g.followers, node)
	g.mu.Unlock()
	if f != nil {
		f.leave()
	}
	switch {
	case leader == g.self:
		g.log.Warn("node is down", slog.String("node", string(node)))
		if err := g.nodeLost(g.ctx, node, nil); err != nil && g.ctx.Err() == nil {
			g.log.Error("loss of a node is not recorded", slog.String("node", string(node)), slog.Any("err", err))
		}
	case leader == node:
		g.log.Warn("leader is down", slog.String("node", string(node)))
		g.wg.Add(1)
		go g.succeed(node)
	}
}

// succeed finds a new leader after the old one is down, or becomes it.
func (g *group) succeed(old peer.NodeID) {
	defer g.wg.Done()
	for g.ctx.Err() == nil {
		g.mu.Lock()
		leader, epoch := g.leader, g.epoch
		g.mu.Unlock()
		if leader != old {
			return
		}
		if _, answered := g.findLeader(g.ctx); g.mayLead(answered) {
			err := g.takeOver(g.ctx, epoch+1)
			if err == nil {
				return
			}
			g.log.Warn("leadership was not taken", slog.Int64("epoch", epoch+1), slog.Any("err", err))
		}
		g.awaitChange(g.ctx, epoch)
	}
}

// takeOver claims an epoch and leads it, with the newest state that any live
// node has.
func (g *group) takeOver(ctx context.Context, epoch int64) error {
	ok, err := g.epochs.Claim(ctx, epoch, string(g.self))
	if err != nil {
		return fmt.Errorf("claim epoch %d: %w", epoch, err)
	}
	if !ok {
		return fmt.Errorf("claim epoch %d: another node has it: %w", epoch, errStale)
	}
	newest, followers := g.survey(ctx)
	g.mu.Lock()
	if newest.Seq > g.seq {
		if err := g.installLocked(newest); err != nil {
			g.mu.Unlock()
			return fmt.Errorf("take the state of %s: %w", newest.Leader, err)
		}
	}
	old := g.leader
	g.epoch, g.leader = epoch, g.self
	g.followers = map[peer.NodeID]*follower{}
	s, err := g.snapshotLocked()
	for _, node := range followers {
		g.followLocked(node) // what is decided from now on waits in its queue
	}
	acts := g.lives.Pending()
	g.changed.Broadcast()
	g.mu.Unlock()
	if err != nil {
		return err
	}
	b, err := encodeGob(s)
	if err != nil {
		return err
	}
	for _, node := range followers {
		g.mu.Lock()
		f := g.followers[node]
		g.mu.Unlock()
		if f == nil {
			continue // down again
		}
		if _, err := g.transport.Call(ctx, node, callInstall, b); err != nil {
			g.log.Warn("node does not follow the new leader", slog.String("node", string(node)), slog.Any("err", err))
			f.leave()
		}
		g.wg.Add(1)
		go g.feed(g.ctx, f)
	}
	g.log.Info("this node leads", slog.Int64("epoch", epoch), slog.Int("followers", len(followers)))
	if old != "" && old != g.self {
		if err := g.nodeLost(ctx, old, nil); err != nil {
			return err
		}
	}
	for _, a := range acts {
		g.act(a)
	}
	return nil
}

// survey asks the live nodes how far they are and fetches the newest state if
// it is newer than this node's.
func (g *group) survey(ctx context.Context) (newest groupSnapshot, followers []peer.NodeID) {
	type answer struct {
		node peer.NodeID
		helloReply
	}
	var all []answer
	for _, m := range g.transport.Members() {
		if m.Name == g.self {
			continue
		}
		if h, err := g.hello(ctx, m.Name); err == nil && h.Epoch > 0 {
			all = append(all, answer{m.Name, h})
			followers = append(followers, m.Name)
		}
	}
	slices.SortFunc(all, func(a, b answer) int {
		return cmp.Or(cmp.Compare(b.Epoch, a.Epoch), cmp.Compare(b.Seq, a.Seq))
	})
	g.mu.Lock()
	seq := g.seq
	g.mu.Unlock()
	for _, a := range all {
		if a.Seq <= seq {
			break
		}
		b, err := g.transport.Call(ctx, a.node, callState, nil)
		if err == nil && decodeGob(b, &newest) == nil {
			return newest, followers
		}
		newest = groupSnapshot{}
	}
	return newest, followers
}
