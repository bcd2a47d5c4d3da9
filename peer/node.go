package peer

import (
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
		_ = n.Close()
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
