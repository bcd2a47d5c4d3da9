package peer

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"sort"
	"sync"
)

// wire is what differs between the real network and the one in memory: how a
// request and a connection get to a member. The node above it is the same.
type wire interface {
	// start listens and serves n until close; it returns the address.
	start(n *node) (string, error)
	// call returns the peer's answer, or an error when there is none.
	call(ctx context.Context, to Member, method string, req []byte) (answer, error)
	// dial gives an authenticated connection for one bulk stream.
	dial(ctx context.Context, to Member) (net.Conn, error)
	// forget drops what is kept for a member: its address changed, or it died.
	forget(to NodeID)
	// close ends all connections and waits for what start began.
	close()
}

// node is a Transport over a wire.
type node struct {
	opt    Options
	wire   wire
	health *health
	idle   idlePool

	ctx    context.Context // ends with Close
	cancel context.CancelCauseFunc
	wg     sync.WaitGroup

	mu       sync.RWMutex
	state    state
	addr     string
	members  map[NodeID]Member
	calls    map[string]CallHandler
	kinds    map[string]StreamHandler
	streams  map[*stream]struct{}
	closedCh chan struct{}
}

type state int

const (
	fresh state = iota
	started
	closed
)

func newNode(o Options, w wire) (*node, error) {
	if err := o.validate(); err != nil {
		return nil, fmt.Errorf("peer options: %w", err)
	}
	n := &node{
		opt:      o,
		wire:     w,
		members:  map[NodeID]Member{},
		calls:    map[string]CallHandler{},
		kinds:    map[string]StreamHandler{},
		streams:  map[*stream]struct{}{},
		closedCh: make(chan struct{}),
	}
	n.ctx, n.cancel = context.WithCancelCause(context.Background())
	n.health = newHealth(o, n.ping, n.lost)
	n.calls[pingMethod] = func(context.Context, NodeID, []byte) ([]byte, error) { return nil, nil }
	for _, m := range o.Members {
		n.members[m.Name] = m
	}
	return n, nil
}

func (n *node) Self() NodeID { return n.opt.Self }

func (n *node) Members() []Member {
	n.mu.RLock()
	defer n.mu.RUnlock()
	list := make([]Member, 0, len(n.members))
	for _, m := range n.members {
		list = append(list, m)
	}
	sort.Slice(list, func(i, j int) bool { return list[i].Name < list[j].Name })
	return list
}

func (n *node) Addr() string {
	n.mu.RLock()
	defer n.mu.RUnlock()
	return n.addr
}

func (n *node) Handle(method string, h CallHandler) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.state != fresh || n.calls[method] != nil || checkName("method", method) != nil {
		panic(fmt.Sprintf("BUG: handler for call %q registered twice or after Start", method))
	}
	n.calls[method] = h
}

func (n *node) HandleStream(kind string, h StreamHandler) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.state != fresh || n.kinds[kind] != nil || checkName("stream", kind) != nil {
		panic(fmt.Sprintf("BUG: handler for stream %q registered twice or after Start", kind))
	}
	n.kinds[kind] = h
}

func (n *node) Start() error {
	n.mu.Lock()
	if n.state != fresh {
		n.mu.Unlock()
		return fmt.Errorf("start %s: %w", n.opt.Self, ErrClosed)
	}
	n.state = started
	n.mu.Unlock()

	addr, err := n.wire.start(n)
	if err != nil {
		n.Close()
		return fmt.Errorf("listen on %s: %w", n.opt.Listen, err)
	}
	n.mu.Lock()
	n.addr = addr
	if n.state == started {
		n.health.start()
		for name := range n.members {
			if name != n.opt.Self {
				n.health.watch(name)
			}
		}
	}
	n.mu.Unlock()
	return nil
}

func (n *node) Close() error {
	n.mu.Lock()
	if n.state == closed {
		n.mu.Unlock()
		<-n.closedCh
		return nil
	}
	n.state = closed
	open := n.openStreams("")
	n.mu.Unlock()
	defer close(n.closedCh)

	n.cancel(ErrClosed)
	for _, s := range open {
		s.abort(ErrClosed)
	}
	n.health.close()
	n.idle.close()
	n.wire.close()
	n.wg.Wait()
	return nil
}

func (n *node) Alive(to NodeID) bool { return to == n.opt.Self || n.health.alive(to) }

func (n *node) OnChange(f func(to NodeID, alive bool)) { n.health.onChange(f) }

func (n *node) SetMember(m Member) {
	n.mu.Lock()
	old, known := n.members[m.Name]
	n.members[m.Name] = m
	running := n.state == started
	if !known && running && m.Name != n.opt.Self {
		n.health.watch(m.Name)
	}
	n.mu.Unlock()
	if running && known && old.Addr != m.Addr {
		n.wire.forget(m.Name)
		n.idle.forget(m.Name)
		n.health.hurry(m.Name)
	}
}

func (n *node) Call(ctx context.Context, to NodeID, method string, req []byte) ([]byte, error) {
	rep, err := n.call(ctx, to, method, req)
	if err != nil {
		return nil, fmt.Errorf("call %s on %s: %w", method, to, err)
	}
	return rep, nil
}

func (n *node) call(ctx context.Context, to NodeID, method string, req []byte) ([]byte, error) {
	if len(req) > MaxCallBytes {
		return nil, fmt.Errorf("request of %d bytes: %w", len(req), ErrTooLarge)
	}
	if err := checkName("method", method); err != nil {
		return nil, err
	}
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, n.opt.CallTimeout)
		defer cancel()
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m, err := n.member(to)
	if err != nil {
		return nil, err
	}
	if to == n.opt.Self {
		return n.callSelf(ctx, method, req)
	}
	a, err := n.wire.call(ctx, m, method, req)
	if err != nil {
		return nil, err
	}
	n.health.seen(to)
	return a.open(to)
}

// callSelf is a call without a network, but with its manners.
func (n *node) callSelf(ctx context.Context, method string, req []byte) ([]byte, error) {
	n.mu.RLock()
	if n.state != started {
		n.mu.RUnlock()
		return nil, ErrClosed
	}
	n.wg.Add(1)
	n.mu.RUnlock()
	defer n.wg.Done()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(n.ctx, func() { cancel(ErrClosed) })()
	a := n.serveCall(ctx, n.opt.Self, method, bytes.Clone(req))
	a.body = bytes.Clone(a.body)
	return a.open(n.opt.Self)
}

func (n *node) member(name NodeID) (Member, error) {
	n.mu.RLock()
	defer n.mu.RUnlock()
	if n.state != started {
		return Member{}, ErrClosed
	}
	if m, ok := n.members[name]; ok || name == n.opt.Self {
		return m, nil
	}
	return Member{}, ErrUnknownMember
}

// serveCall carries out a call that reached this node.
func (n *node) serveCall(ctx context.Context, from NodeID, method string, req []byte) answer {
	n.mu.RLock()
	h := n.calls[method]
	n.mu.RUnlock()
	if h == nil {
		return answer{answerError, encodeError(fmt.Errorf("call %q: %w", method, ErrNoHandler))}
	}
	rep, err := h(ctx, from, req)
	if err == nil && len(rep) > MaxCallBytes {
		err = fmt.Errorf("answer of %d bytes: %w", len(rep), ErrTooLarge)
	}
	if err != nil {
		return answer{answerError, encodeError(err)}
	}
	return answer{answerOK, rep}
}

// pingMethod is the heartbeat; its answer is empty.
const pingMethod = "peer.ping"

func (n *node) ping(ctx context.Context, to NodeID) error {
	_, err := n.call(ctx, to, pingMethod, nil)
	return err
}

// lost breaks all that is open to a peer that was found to be down: whoever
// waits there would wait for a timeout of its own, or for ever.
func (n *node) lost(to NodeID) {
	n.wire.forget(to)
	n.idle.forget(to)
	n.mu.RLock()
	open := n.openStreams(to)
	n.mu.RUnlock()
	for _, s := range open {
		s.abort(ErrDown)
	}
}

// openStreams lists the streams with a peer, or all; n.mu is held.
func (n *node) openStreams(with NodeID) []*stream {
	var list []*stream
	for s := range n.streams {
		if with == "" || s.peer == with {
			list = append(list, s)
		}
	}
	return list
}
