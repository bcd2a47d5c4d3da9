package daemon

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"syscall"

	"github.com/scrfs/scrfs/catalog"
	"github.com/scrfs/scrfs/lifecycle"
	"github.com/scrfs/scrfs/peer"
	"github.com/scrfs/scrfs/scr"
)

// follower is one node that the leader keeps up to date. Entries wait in its
// queue, in order; a goroutine of its own first brings the node to the state
// they follow, then sends all that wait in one call.
type follower struct {
	node  peer.NodeID
	epoch int64
	link  uint64
	base  groupState
	ctx   context.Context // ends when it is gone
	stop  context.CancelFunc

	mu    sync.Mutex
	wake  *sync.Cond
	queue [][]byte
	acked uint64 // last entry it has applied, 0 before it has the base
	sent  uint64 // last entry put into the queue
}

// followerLocked makes a node a follower from base on. Who calls it starts
// feed.
func (g *group) followerLocked(node peer.NodeID, base groupState) *follower {
	g.links++
	base.Leader, base.Epoch, base.Link, base.Seq = g.self, g.epoch, g.links, g.seq
	f := &follower{node: node, epoch: g.epoch, link: g.links, base: base, sent: g.seq}
	f.wake = sync.NewCond(&f.mu)
	f.ctx, f.stop = context.WithCancel(g.ctx)
	context.AfterFunc(f.ctx, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.wake.Broadcast()
	})
	g.followers[node] = f
	g.spawnLocked(func() { g.feed(f) })
	return f
}

func (f *follower) push(seq uint64, b []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.queue = append(f.queue, b)
	f.sent = seq
	f.wake.Broadcast()
}

// take waits for entries; false once the follower is gone.
func (f *follower) take() (frames [][]byte, last uint64, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for len(f.queue) == 0 && f.ctx.Err() == nil {
		f.wake.Wait()
	}
	frames, f.queue = f.queue, nil
	return frames, f.sent, f.ctx.Err() == nil
}

func (f *follower) ack(seq uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.acked = seq
	f.wake.Broadcast()
}

// await waits until the follower has applied entry seq, or is gone: down, taken
// out, or the leadership has ended.
func (f *follower) await(seq uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for f.acked < seq && f.ctx.Err() == nil {
		f.wake.Wait()
	}
}

// feed brings a follower to the base and sends it its entries until it is gone.
func (g *group) feed(f *follower) {
	defer f.stop()
	b, err := encodeGob(f.base)
	last := f.base.Seq
	f.base = groupState{}
	if err == nil {
		err = g.send(f, callInstall, b)
	}
	for err == nil {
		f.ack(last)
		frames, upTo, ok := f.take()
		if !ok {
			return
		}
		last = upTo
		err = g.send(f, callApply, append(binary.BigEndian.AppendUint64(nil, f.link), joinFrames(frames)...))
	}
	g.refused(f, err)
}

// send repeats a call until it is answered, one way or the other, or the
// follower is gone.
func (g *group) send(f *follower, call string, b []byte) error {
	for {
		_, err := g.transport.Call(f.ctx, f.node, call, b)
		var refusal *peer.RemoteError
		if err == nil || f.ctx.Err() != nil || errors.As(err, &refusal) || errors.Is(err, peer.ErrTooLarge) {
			return err
		}
		g.pause(f.ctx, f.ctx)
	}
}

// refused takes out a follower that does not follow. If that is because of a
// later epoch, this node leads no more; and it must know that before anybody
// who waits for the follower goes on, and takes its change for accepted.
func (g *group) refused(f *follower, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.followers[f.node] != f || f.ctx.Err() != nil {
		return
	}
	g.log.Warn("node does not follow any more", slog.String("node", string(f.node)), slog.Any("err", err))
	if errors.Is(err, errStale) {
		g.deposeLocked(f.epoch)
		return
	}
	delete(g.followers, f.node)
	g.readmitLocked(f.node)
}

// retireLocked lets go of all followers: this node leads no more.
func (g *group) retireLocked() {
	g.leader = ""
	for _, f := range g.followers {
		f.stop()
	}
	g.followers = map[peer.NodeID]*follower{}
}

// change is an entry on its way to the followers.
type change struct {
	out   outcome
	acts  []lifecycle.Action
	epoch int64
	waits []*follower
}

// lead gives a change its place in the order, applies it here and on all live
// followers, and starts what follows from it. With errNotLeader the change may
// have been made or not; asked again, the same request is not made twice.
func (g *group) lead(ctx context.Context, e entry) (outcome, error) {
	g.mu.Lock()
	for e.mayBegin() && g.leader == g.self && g.fresh <= g.lives.Newest() {
		after := g.lives.Newest()
		g.mu.Unlock()
		id, err := g.epochs.FreshID(ctx, after) // not under the lock
		if err != nil {
			return outcome{}, fmt.Errorf("reserve a dataset id: %w", err)
		}
		g.mu.Lock()
		g.fresh = max(g.fresh, id)
	}
	c, err := g.orderLocked(e)
	g.mu.Unlock()
	if err != nil {
		return outcome{}, err
	}
	return g.finish(c)
}

// mayBegin tells whether a dataset may begin with this entry.
func (e entry) mayBegin() bool {
	if e.Op == nil {
		return false
	}
	switch e.Op.Kind {
	case catalog.OpMkdir, catalog.OpCreate, catalog.OpSymlink:
		return true
	case catalog.OpOpen:
		return e.Op.Flags&flagTruncates != 0
	}
	return false
}

// orderLocked gives a change its place in the order and applies it here.
func (g *group) orderLocked(e entry) (change, error) {
	if g.leader != g.self || g.ctx.Err() != nil {
		return change{}, errNotLeader
	}
	c := change{epoch: g.epoch, out: outcome{Seq: g.seq}, waits: slices.Collect(maps.Values(g.followers))}
	now := g.now().UnixNano()
	if e.Op != nil {
		op := *e.Op
		op.Now = now
		e.Op = &op
		if errno := g.refusal(op); errno != 0 {
			// Nothing changes: no entry. But what makes it fail must be as sure
			// as the answer, so the followers are waited for all the same.
			c.out.Errno = errno
			return c, nil
		}
	} else {
		ev := *e.Event
		ev.Now = now
		e.Event = &ev
	}
	e.Epoch, e.Seq = g.epoch, g.seq+1
	if e.mayBegin() {
		e.Fresh = g.fresh
	}
	b, err := e.encode()
	if err != nil {
		return change{}, err
	}
	c.out, c.acts = g.applyLocked(e, b)
	for _, f := range c.waits {
		f.push(e.Seq, b)
	}
	return c, nil
}

// refusal is the errno of an operation that cannot be carried out, 0 if it can.
func (g *group) refusal(op catalog.Op) syscall.Errno {
	if g.state.Answered(op) {
		return 0
	}
	if err := g.state.Check(op); err != nil {
		var errno syscall.Errno
		errors.As(err, &errno)
		return errno
	}
	var touched []*catalog.Inode
	switch op.Kind {
	case catalog.OpSetAttr:
		touched = append(touched, g.state.Inode(op.Ino))
	case catalog.OpUnlink, catalog.OpRmdir:
		touched = append(touched, g.state.Lookup(op.Dir, op.Name))
	case catalog.OpRename:
		touched = append(touched, g.state.Lookup(op.Dir, op.Name), g.state.Lookup(op.NewDir, op.NewName))
	}
	for _, n := range touched {
		// It became visible on the prefix directory since the node that asks
		// has looked: ESTALE lets the kernel look the name up again.
		if n != nil && g.lives.Visible(n.Dataset) {
			return syscall.ESTALE
		}
	}
	return 0
}

// finish waits for the followers and starts what follows from a change. If
// this node leads no more by then, the change may be lost.
func (g *group) finish(c change) (outcome, error) {
	for _, f := range c.waits {
		f.await(c.out.Seq)
	}
	g.mu.Lock()
	leads := g.leader == g.self && g.epoch == c.epoch && g.ctx.Err() == nil
	g.mu.Unlock()
	if !leads {
		return outcome{}, errNotLeader
	}
	for _, a := range c.acts {
		g.act(a)
	}
	return c.out, nil
}

// finishAlone is finish for a change that nobody waits for. If this node leads
// no more, the next leader does what follows.
func (g *group) finishAlone(c change) {
	if _, err := g.finish(c); err != nil && g.ctx.Err() == nil {
		g.log.Debug("what follows from a change is left to the next leader", slog.Any("err", err))
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

// report brings the result of an action into the order. A node that leads no
// more says nothing: the next leader does the action again.
func (g *group) report(ev lifecycle.Event) {
	if _, err := g.lead(g.ctx, entry{Event: &ev}); err != nil && g.ctx.Err() == nil && !errors.Is(err, errNotLeader) {
		g.log.Error("result of an action is lost, the next leader repeats it", slog.String("event", string(ev.Kind)),
			slog.Int64("dataset", int64(ev.Dataset)), slog.Any("err", err))
	}
}
