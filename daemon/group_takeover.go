package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/scrfs/scrfs/peer"
)

// errPrefix: the prefix directory, which gives out the epochs, has failed.
var errPrefix = errors.New("no epoch can be had from the prefix directory")

// errMinority: too few of the nodes can be reached for the others to be the
// ones that are lost.
var errMinority = errors.New("more than half of the nodes are out of reach")

// promiseTimeout bounds how long a node that takes over waits for one that is
// not known to be down.
const promiseTimeout = 5 * time.Second

// servePromise tells a node that claimed an epoch how far this one is. From
// then on the older leader gets nothing acknowledged here, so what the new one
// hears is all that was acknowledged.
func (g *group) servePromise(_ context.Context, from peer.NodeID, req []byte) ([]byte, error) {
	var epoch int64
	if err := decodeGob(req, &epoch); err != nil {
		return nil, err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if epoch <= g.epoch || epoch < g.promised || epoch == g.promised && from != g.promisedTo {
		return nil, fmt.Errorf("epoch %d of %s, this node is in %d: %w", epoch, from, max(g.epoch, g.promised), errStale)
	}
	g.promised, g.promisedTo = epoch, from
	g.deposeLocked(g.epoch)
	return encodeGob(helloReply{Epoch: g.epoch, Seq: g.seq})
}

// takeOver claims an epoch and leads it, with the newest state that any live
// node has. What the others answered of late says whether to try at all: an
// epoch that is claimed is used up.
func (g *group) takeOver(ctx context.Context, answers map[peer.NodeID]helloReply) error {
	epoch, at, err := g.claim(ctx, answers)
	if err != nil {
		return err
	}
	req, err := encodeGob(epoch)
	if err != nil {
		return err
	}
	others := map[peer.NodeID]helloReply{}
	g.askMembers(ctx, callPromise, req, promiseTimeout, func(node peer.NodeID, h helloReply) { others[node] = h })
	lacking, err := g.fetchNewest(ctx, at, others)
	if err == nil {
		err = g.leadEpoch(epoch, at, others, lacking)
	}
	if err != nil {
		return fmt.Errorf("lead epoch %d: %w", epoch, err)
	}
	return nil
}

// claim takes the next epoch. It returns where this node stands; it will take
// nothing of an older epoch.
func (g *group) claim(ctx context.Context, answers map[peer.NodeID]helloReply) (epoch int64, at helloReply, err error) {
	last, err := g.epochs.Last(ctx)
	if err != nil {
		return 0, at, fmt.Errorf("read the epochs: %w: %w", errPrefix, err)
	}
	g.mu.Lock()
	epoch = max(last, g.epoch, g.promised) + 1
	err = g.mayLeadLocked(epoch, g.epoch, answers)
	g.mu.Unlock()
	if err != nil {
		return 0, at, err
	}
	ok, err := g.epochs.Claim(ctx, epoch, string(g.self))
	if err != nil {
		return 0, at, fmt.Errorf("claim epoch %d: %w: %w", epoch, errPrefix, err)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if !ok || epoch <= max(g.epoch, g.promised) {
		return 0, at, fmt.Errorf("claim epoch %d: another node was faster: %w", epoch, errStale)
	}
	g.promised, g.promisedTo = epoch, g.self
	return epoch, helloReply{Epoch: g.epoch, Seq: g.seq}, nil
}

func (a helloReply) compare(b helloReply) int {
	return cmp.Or(cmp.Compare(a.Epoch, b.Epoch), cmp.Compare(a.Seq, b.Seq))
}

// fetchNewest returns what this node lacks, nil if nobody is ahead of it.
func (g *group) fetchNewest(ctx context.Context, at helloReply, others map[peer.NodeID]helloReply) (*groupState, error) {
	newest, best := peer.NodeID(""), at
	for node, h := range others {
		if h.compare(best) > 0 {
			newest, best = node, h
		}
	}
	if newest == "" {
		return nil, nil
	}
	req, err := encodeGob(at)
	if err != nil {
		return nil, err
	}
	b, err := g.transport.Call(ctx, newest, callHistory, req)
	if err != nil {
		return nil, fmt.Errorf("state of %s: %w", newest, err)
	}
	s := &groupState{}
	return s, decodeGob(b, s)
}

// leadEpoch begins the epoch. Those who stand in the same epoch as this node
// did follow at once; who started since joins; who is behind joins again; who
// is silent is lost.
func (g *group) leadEpoch(epoch int64, at helloReply, others map[peer.NodeID]helloReply, lacking *groupState) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.promised != epoch || g.epoch != at.Epoch {
		return errStale
	}
	base := at.Epoch // of the state that the epoch begins with
	if lacking != nil {
		base = lacking.Epoch
		if err := g.installLocked(*lacking); err != nil {
			return err
		}
		if base != g.epoch {
			g.followLocked("", base, 0)
		}
	}
	if err := g.mayLeadLocked(epoch, base, others); err != nil {
		return err
	}
	bases := map[peer.NodeID]groupState{}
	for node, h := range others {
		if s, ok := g.sinceLocked(h.Seq); ok && h.Epoch == base && g.members[node] {
			bases[node] = s
		}
	}
	g.followLocked(g.self, epoch, 0)
	g.links = 0
	for node, s := range bases {
		g.followerLocked(node, s)
	}
	for node, h := range others {
		if g.followers[node] == nil && h.Epoch > 0 {
			g.readmitLocked(node)
		}
	}
	g.removeSilentLocked(others)
	if base == 0 || lacking != nil && lacking.Whole {
		g.admitLocked(g.self, g.kept()) // as every node that joins
	}
	g.log.Info("this node leads", slog.Int64("epoch", epoch), slog.Int("followers", len(g.followers)))
	g.resumeLocked()
	return nil
}

// mayLeadLocked refuses to go on without more than half of the nodes of the
// state that the epoch begins with: they may go on by themselves. With exactly
// half of them, as when one of two is left, the next epoch decides: it can be
// had only once, and a later one is not for either half.
func (g *group) mayLeadLocked(epoch, base int64, others map[peer.NodeID]helloReply) error {
	near := map[peer.NodeID]bool{g.self: true}
	for node := range others {
		near[node] = true
	}
	n, all := g.nearLocked(near), len(g.members)
	if 2*n < all || 2*n == all && all > 0 && epoch != base+1 {
		return fmt.Errorf("%d of %d nodes: %w", n, all, errMinority)
	}
	return nil
}

// removeSilentLocked takes out the members that have not answered.
func (g *group) removeSilentLocked(others map[peer.NodeID]helloReply) {
	for _, m := range g.transport.Members() {
		if _, answered := others[m.Name]; !answered && m.Name != g.self && g.members[m.Name] {
			g.removeLocked(m.Name) // what follows from it is pending
		}
	}
}

// resumeLocked does again what the leader before had under way, once the
// followers have the state it follows from.
func (g *group) resumeLocked() {
	c := change{epoch: g.epoch, acts: g.lives.Pending(), out: outcome{Seq: g.seq}}
	for _, f := range g.followers {
		c.waits = append(c.waits, f)
	}
	g.spawnLocked(func() { g.finishAlone(c) })
}
