package daemon

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/scrfs/scrfs/catalog"
	"github.com/scrfs/scrfs/kvtree"
	"github.com/scrfs/scrfs/lifecycle"
	"github.com/scrfs/scrfs/peer"
)

// groupState brings a node to what the nodes keep together, as it is after
// entry Seq: the whole of it, or the entries that the node has not seen.
//
// A node that was in the job all the time gets entries, so that what each means
// for its cache is done, in order. The whole is for nodes that join.
type groupState struct {
	Leader  peer.NodeID
	Epoch   int64
	Link    uint64
	Seq     uint64
	Entries [][]byte
	Whole   bool
	Tree    []byte
	Lives   []byte
	Members []peer.NodeID
}

// wholeLocked is everything this node knows.
func (g *group) wholeLocked() (groupState, error) {
	lives, err := g.lives.Snapshot()
	s := groupState{Leader: g.leader, Epoch: g.epoch, Seq: g.seq, Whole: true, Lives: lives}
	s.Tree = kvtree.Pack(g.state.Snapshot())
	s.Members = slices.Sorted(maps.Keys(g.members))
	return s, err
}

// sinceLocked is what a node lacks that has applied entry seq of the same
// epoch.
func (g *group) sinceLocked(seq uint64) (groupState, bool) {
	entries, ok := g.history.between(seq, g.seq)
	return groupState{Leader: g.leader, Epoch: g.epoch, Seq: g.seq, Entries: entries}, ok
}

// serveHistory tells another node, which takes over, what it lacks.
func (g *group) serveHistory(_ context.Context, _ peer.NodeID, req []byte) ([]byte, error) {
	var at helloReply
	if err := decodeGob(req, &at); err != nil {
		return nil, err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	s, ok := g.sinceLocked(at.Seq)
	if !ok || at.Epoch != g.epoch {
		var err error
		if s, err = g.wholeLocked(); err != nil {
			return nil, err
		}
	}
	return encodeGob(s)
}

// serveInstall makes this node a follower of who calls.
func (g *group) serveInstall(_ context.Context, from peer.NodeID, req []byte) ([]byte, error) {
	var s groupState
	if err := decodeGob(req, &s); err != nil {
		return nil, err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	at := fmt.Sprintf("state %d of epoch %d from %s, this node is at %d of epoch %d", s.Seq, s.Epoch, from, g.seq, g.epoch)
	switch {
	case s.Epoch < max(g.epoch, g.promised):
		return nil, fmt.Errorf("%s: %w", at, errStale)
	case s.Leader != from || s.Epoch == g.epoch && (from != g.leader || s.Link < g.link):
		return nil, fmt.Errorf("%s: %w", at, errGap)
	case s.Epoch == g.epoch && s.Link == g.link:
		return nil, nil // sent again
	}
	if err := g.installLocked(s); err != nil {
		return nil, fmt.Errorf("%s: %w", at, err)
	}
	g.followLocked(s.Leader, s.Epoch, s.Link)
	return nil, nil
}

// installLocked takes the state in, not the leadership.
func (g *group) installLocked(s groupState) error {
	if !s.Whole {
		return g.catchUpLocked(s)
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
	g.state, g.lives, g.seq, g.history = state, lives, s.Seq, history{}
	g.members = map[peer.NodeID]bool{}
	for _, node := range s.Members {
		g.members[node] = true
	}
	g.changed.Broadcast()
	return nil
}

func (g *group) catchUpLocked(s groupState) error {
	for _, b := range s.Entries {
		e, err := decodeEntry(b)
		switch {
		case err != nil:
			return err
		case e.Seq > g.seq+1:
			return fmt.Errorf("entry %d after %d: %w", e.Seq, g.seq, errGap)
		case e.Seq == g.seq+1:
			g.applyLocked(e, bytes.Clone(b))
		}
	}
	if g.seq != s.Seq {
		return fmt.Errorf("entries up to %d: %w", s.Seq, errGap)
	}
	return nil
}
