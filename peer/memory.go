package peer

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"sync"
)

// Network is a network in memory whose Transports behave as those over TCP,
// and that breaks on demand. It carries no secret's weight: a Transport whose
// secret is another's is turned away by comparison.
//
// In a synctest bubble its timeouts take no time.
type Network struct {
	mu    sync.Mutex
	ports int
	nodes map[string]*memWire // by address
	pipes map[*link]struct{}
	gates map[pair]*gate
}

type pair struct{ from, to NodeID }

// link is a stream's connection and whom it joins.
type link struct {
	pair
	near, far *pipeEnd
}

// NewNetwork makes a network without nodes and faults.
func NewNetwork() *Network {
	return &Network{nodes: map[string]*memWire{}, pipes: map[*link]struct{}{}, gates: map[pair]*gate{}}
}

// New makes a Transport on this network. Options.Listen may be empty, or end in
// ":0" for a new address each time.
func (net *Network) New(o Options) (Transport, error) {
	w := &memWire{net: net}
	n, err := newNode(o, w)
	if err != nil {
		return nil, err
	}
	w.n = n
	return n, nil
}

// memWire is a node's place on the network.
type memWire struct {
	net  *Network
	n    *node
	addr string
	wg   sync.WaitGroup

	mu     sync.Mutex
	closed bool
}

func (w *memWire) start(n *node) (string, error) {
	w.net.mu.Lock()
	defer w.net.mu.Unlock()
	w.addr = n.opt.Listen
	if host, port, err := net.SplitHostPort(w.addr); w.addr == "" || err == nil && port == "0" {
		w.net.ports++
		if host == "" {
			host = string(n.opt.Self)
		}
		w.addr = net.JoinHostPort(host, fmt.Sprint(w.net.ports))
	}
	if w.net.nodes[w.addr] != nil {
		addr := w.addr
		w.addr = ""
		return "", fmt.Errorf("address %s is taken", addr)
	}
	w.net.nodes[w.addr] = w
	return w.addr, nil
}

// admit finds the node at a member's address and counts the caller in; done
// counts it out. What is refused is refused as TCP and the greeting would.
func (w *memWire) admit(to Member) (there *memWire, done func(), err error) {
	w.net.mu.Lock()
	there = w.net.nodes[to.Addr]
	w.net.mu.Unlock()
	if there == nil {
		return nil, nil, fmt.Errorf("%w: nobody listens on %q", ErrUnreachable, to.Addr)
	}
	o, mine := there.n.opt, w.n.opt
	if o.Self != to.Name || o.Plain != mine.Plain || !bytes.Equal(o.Secret, mine.Secret) {
		return nil, nil, fmt.Errorf("%w: %w", ErrUnreachable, ErrRefused)
	}
	there.mu.Lock()
	defer there.mu.Unlock()
	if there.closed {
		return nil, nil, fmt.Errorf("%w: %s is closing", ErrUnreachable, to.Name)
	}
	there.wg.Add(1)
	return there, there.wg.Done, nil
}

func (w *memWire) call(ctx context.Context, to Member, method string, req []byte) (answer, error) {
	there, back := w.net.gate(w.n.opt.Self, to.Name), w.net.gate(to.Name, w.n.opt.Self)
	if err := there.pass(ctx, true); err != nil {
		return answer{}, err
	}
	target, done, err := w.admit(to)
	if err != nil {
		return answer{}, err
	}
	// The handler may outlive the caller, not its node.
	hctx, cancel := context.WithCancelCause(ctx)
	release := context.AfterFunc(target.n.ctx, func() { cancel(ErrClosed) })
	result := make(chan answer, 1)
	req = bytes.Clone(req)
	go func() {
		defer done()
		defer cancel(nil)
		defer release()
		a := target.n.serveCall(hctx, w.n.opt.Self, method, req)
		a.body = bytes.Clone(a.body)
		result <- a
	}()
	select {
	case a := <-result:
		if target.n.ctx.Err() != nil {
			return answer{}, fmt.Errorf("%w: connection was lost", ErrUnreachable)
		}
		return a, back.pass(ctx, true)
	case <-ctx.Done():
		return answer{}, fmt.Errorf("%w: %w", ErrUnreachable, ctx.Err())
	case <-target.n.ctx.Done():
		return answer{}, fmt.Errorf("%w: connection was lost", ErrUnreachable)
	}
}

func (w *memWire) dial(ctx context.Context, to Member) (net.Conn, error) {
	there, back := w.net.gate(w.n.opt.Self, to.Name), w.net.gate(to.Name, w.n.opt.Self)
	if err := there.pass(ctx, false); err != nil {
		return nil, err
	}
	if err := back.pass(ctx, false); err != nil {
		return nil, err
	}
	target, done, err := w.admit(to)
	if err != nil {
		return nil, err
	}
	l := &link{pair: pair{w.n.opt.Self, to.Name}}
	l.near, l.far = newPipe(there, back)
	w.net.mu.Lock()
	w.net.pipes[l] = struct{}{}
	w.net.mu.Unlock()
	go func() {
		defer done()
		target.n.serveBulk(w.n.opt.Self, l.far)
		w.net.mu.Lock()
		delete(w.net.pipes, l)
		w.net.mu.Unlock()
	}()
	return l.near, nil
}

func (w *memWire) forget(NodeID) {}

func (w *memWire) close() {
	w.net.mu.Lock()
	delete(w.net.nodes, w.addr)
	w.net.mu.Unlock()
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	w.wg.Wait()
}
