package peer

import (
	"context"
	"fmt"
	"sync"
)

// Cut stops everything between two nodes, in both directions, without telling
// them: calls wait until their time is over, streams stand still. After Heal
// what was under way arrives, as TCP would have it.
func (net *Network) Cut(a, b NodeID) {
	net.gate(a, b).set(true)
	net.gate(b, a).set(true)
}

// Heal undoes Cut, Hold and what is left of Drop between two nodes.
func (net *Network) Heal(a, b NodeID) {
	for _, g := range []*gate{net.gate(a, b), net.gate(b, a)} {
		g.set(false)
		g.drop(0)
	}
}

// Hold delays what goes from one node to another until release is called:
// requests and answers of calls, and bytes of streams.
func (net *Network) Hold(from, to NodeID) (release func()) {
	g := net.gate(from, to)
	g.set(true)
	return func() { g.set(false) }
}

// Drop loses the next n messages of calls from one node to another: requests
// of calls made there, and answers to calls that came from there, whose
// handlers have then run. Their callers wait until their time is over.
// Heartbeats are calls too.
func (net *Network) Drop(from, to NodeID, n int) { net.gate(from, to).drop(n) }

// Freeze stops a node as the kernel's freezer does, seen from all others:
// everything to and from it stands still. Thaw undoes it.
func (net *Network) Freeze(name NodeID) { net.around(name, true) }

// Thaw undoes Freeze, and Cut and Hold of this node.
func (net *Network) Thaw(name NodeID) { net.around(name, false) }

func (net *Network) around(name NodeID, shut bool) {
	net.mu.Lock()
	others := map[NodeID]bool{}
	for _, w := range net.nodes {
		others[w.n.opt.Self] = true
		for _, m := range w.n.Members() {
			others[m.Name] = true
		}
	}
	net.mu.Unlock()
	delete(others, name)
	for o := range others {
		net.gate(name, o).set(shut)
		net.gate(o, name).set(shut)
	}
}

// Kill takes a node off the network as a death of its process does: its
// connections break, nobody listens at its address. The Transport itself is
// closed, so that it leaves nothing behind; a new one may take its name.
func (net *Network) Kill(name NodeID) {
	net.mu.Lock()
	var victim *memWire
	for addr, w := range net.nodes {
		if w.n.opt.Self == name {
			victim = w
			delete(net.nodes, addr)
		}
	}
	var broken []*link
	for l := range net.pipes {
		if l.from == name || l.to == name {
			broken = append(broken, l)
		}
	}
	net.mu.Unlock()
	for _, l := range broken {
		_ = l.near.Close()
		_ = l.far.Close()
	}
	if victim != nil {
		_ = victim.n.Close()
	}
}

func (net *Network) gate(from, to NodeID) *gate {
	net.mu.Lock()
	defer net.mu.Unlock()
	g := net.gates[pair{from, to}]
	if g == nil {
		g = &gate{changed: make(chan struct{})}
		net.gates[pair{from, to}] = g
	}
	return g
}

// gate is one direction between two nodes.
type gate struct {
	mu      sync.Mutex
	shut    bool
	losing  int
	changed chan struct{} // closed and replaced with every change
}

func (g *gate) set(shut bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.shut = shut
	close(g.changed)
	g.changed = make(chan struct{})
}

func (g *gate) drop(n int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.losing = n
}

// state says whether the gate is open, and how to hear of a change.
func (g *gate) state() (changed <-chan struct{}, open bool) {
	if g == nil {
		return nil, true
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.changed, !g.shut
}

// pass waits until the gate is open; a message that it loses waits for ever,
// which is until ctx ends.
func (g *gate) pass(ctx context.Context, message bool) error {
	lost := false
	if message {
		g.mu.Lock()
		if g.losing > 0 {
			g.losing--
			lost = true
		}
		g.mu.Unlock()
	}
	for {
		changed, open := g.state()
		if open && !lost {
			return nil
		}
		if lost {
			changed = nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", ErrUnreachable, ctx.Err())
		}
	}
}
