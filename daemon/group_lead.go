package daemon

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"syscall"

	"github.com/scrfs/scrfs/catalog"
	"github.com/scrfs/scrfs/lifecycle"
	"github.com/scrfs/scrfs/peer"
	"github.com/scrfs/scrfs/scr"
)

// follower is one node that the leader keeps up to date. Entries wait in its
// queue, in order; a goroutine of its own sends all that wait in one call.
type follower struct {
	node peer.NodeID

	mu    sync.Mutex
	wake  *sync.Cond
	queue [][]byte
	acked uint64 // last entry it has applied
	sent  uint64 // last entry put into the queue
	gone  bool   // it is down, or the leadership has ended: nobody waits for it
}

func newFollower(node peer.NodeID, seq uint64) *follower {
	f := &follower{node: node, acked: seq, sent: seq}
	f.wake = sync.NewCond(&f.mu)
	return f
}

func (f *follower) push(seq uint64, b []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.queue = append(f.queue, b)
	f.sent = seq
	f.wake.Broadcast()
}

func (f *follower) leave() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.gone = true
	f.wake.Broadcast()
}

// await waits until the follower has applied entry seq, or is gone.
func (f *follower) await(seq uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for f.acked < seq && !f.gone {
		f.wake.Wait()
	}
}

// lead gives a change its place in the order, applies it here and on all live
// followers, and starts what follows from it.
func (g *group) lead(ctx context.Context, e entry) (outcome, error) {
	if err := g.keepFresh(ctx); err != nil {
		return outcome{}, err
	}
	g.mu.Lock()
	if g.leader != g.self {
		g.mu.Unlock()
		return outcome{}, errNotLeader
	}
	if e.Op != nil {
		e.Op.Now = g.now().UnixNano()
		if err := g.state.Check(*e.Op); err != nil && !g.state.Answered(*e.Op) {
			// Nothing changes: no entry.
			out := outcome{Seq: g.seq}
			out.Errno, _ = err.(syscall.Errno)
			g.mu.Unlock()
			return out, nil
		}
	} else {
		e.Event.Now = g.now().UnixNano()
	}
	e.Epoch, e.Seq, e.Fresh = g.epoch, g.seq+1, g.fresh
	b, err := e.encode()
	if err != nil {
		g.mu.Unlock()
		return outcome{}, err
	}
	out, acts := g.applyLocked(e)
	if _, used := g.lives.Dataset(g.fresh); used {
		g.fresh = 0
	}
	waits := make([]*follower, 0, len(g.followers))
	for _, f := range g.followers {
		f.push(e.Seq, b)
		waits = append(waits, f)
	}
	g.mu.Unlock()
	for _, f := range waits {
		f.await(e.Seq)
	}
	for _, a := range acts {
		g.act(a)
	}
	return out, nil
}

// keepFresh has an id in hand for the next dataset, so that none is asked for
// under the lock.
func (g *group) keepFresh(ctx context.Context) error {
	g.mu.Lock()
	have := g.fresh != 0
	g.mu.Unlock()
	if have {
		return nil
	}
	id, err := g.epochs.FreshID(ctx)
	if err != nil {
		return fmt.Errorf("reserve a dataset id: %w", err)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.fresh == 0 {
		g.fresh = id
	}
	return nil
}

// feed sends a follower its entries until it is gone.
func (g *group) feed(ctx context.Context, f *follower) {
	defer g.wg.Done()
	defer context.AfterFunc(ctx, f.leave)()
	for {
		f.mu.Lock()
		for len(f.queue) == 0 && !f.gone {
			f.wake.Wait()
		}
		frames, last, gone := f.queue, f.sent, f.gone
		f.queue = nil
		f.mu.Unlock()
		if gone {
			return
		}
		for {
			_, err := g.transport.Call(ctx, f.node, callApply, joinFrames(frames))
			if err == nil {
				break
			}
			if errors.Is(err, errNotYet) {
				g.awaitChange(ctx, g.epochNow())
				continue
			}
			if errors.Is(err, errStale) || ctx.Err() != nil || !g.transport.Alive(f.node) {
				g.log.Warn("node does not follow any more", slog.String("node", string(f.node)), slog.Any("err", err))
				f.leave()
				return
			}
		}
		f.mu.Lock()
		f.acked = last
		f.wake.Broadcast()
		f.mu.Unlock()
	}
}

func (g *group) servePropose(ctx context.Context, from peer.NodeID, req []byte) ([]byte, error) {
	e, err := decodeEntry(req)
	if err != nil {
		return nil, fmt.Errorf("proposal of %s: %w", from, err)
	}
	g.mu.Lock()
	member := g.leader != g.self || g.followers[from] != nil
	g.mu.Unlock()
	if !member {
		return nil, errNotMember
	}
	out, err := g.lead(ctx, e)
	if err != nil {
		return nil, err
	}
	return out.encode(), nil
}

func (o outcome) encode() []byte {
	b := make([]byte, 32)
	binary.BigEndian.PutUint64(b[0:], o.Seq)
	binary.BigEndian.PutUint64(b[8:], uint64(o.Errno))
	binary.BigEndian.PutUint64(b[16:], uint64(o.Ino))
	binary.BigEndian.PutUint64(b[24:], uint64(o.Dataset))
	return b
}

func decodeOutcome(b []byte) (outcome, error) {
	if len(b) != 32 {
		return outcome{}, fmt.Errorf("outcome of %d bytes, want 32", len(b))
	}
	return outcome{
		Seq:     binary.BigEndian.Uint64(b[0:]),
		Errno:   syscall.Errno(binary.BigEndian.Uint64(b[8:])),
		Ino:     catalog.Ino(binary.BigEndian.Uint64(b[16:])),
		Dataset: scr.DatasetID(binary.BigEndian.Uint64(b[24:])),
	}, nil
}

// report brings the result of an action into the order. It goes on trying
// until the change is accepted, this node no longer leads, or the group ends.
func (g *group) report(ev lifecycle.Event) {
	if _, err := g.lead(g.ctx, entry{Event: &ev}); err != nil && g.ctx.Err() == nil && !errors.Is(err, errNotLeader) {
		g.log.Error("result of an action is lost, the next leader repeats it", slog.String("event", string(ev.Kind)),
			slog.Int64("dataset", int64(ev.Dataset)), slog.Any("err", err))
	}
}
