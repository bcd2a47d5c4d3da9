package peer

import (
	"sync"
	"time"
)

// A connection whose stream ended well on both sides waits for the next one: a
// new one costs two handshakes, and a daemon that reads its neighbours' files
// opens many streams.
const (
	idlePerPeer = 4
	// The opener lets go first, so that it rarely meets a closed connection.
	idleKept   = 15 * time.Second
	idleServed = 60 * time.Second
)

// idlePool holds the connections that wait.
type idlePool struct {
	mu     sync.Mutex
	closed bool
	conns  map[NodeID][]*idleConn
}

type idleConn struct {
	c     *bulkConn
	timer *time.Timer
}

// take returns a connection to a peer, or nil.
func (p *idlePool) take(to NodeID) *bulkConn {
	p.mu.Lock()
	defer p.mu.Unlock()
	list := p.conns[to]
	if len(list) == 0 {
		return nil
	}
	last := list[len(list)-1]
	p.conns[to] = list[:len(list)-1]
	last.timer.Stop() // if it fires all the same, drop finds nothing
	return last.c
}

// put keeps a connection, or closes it if there are enough.
func (p *idlePool) put(to NodeID, c *bulkConn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || len(p.conns[to]) >= idlePerPeer {
		c.raw.Close()
		return
	}
	if p.conns == nil {
		p.conns = map[NodeID][]*idleConn{}
	}
	i := &idleConn{c: c}
	i.timer = time.AfterFunc(idleKept, func() { p.drop(to, i) })
	p.conns[to] = append(p.conns[to], i)
}

// drop closes one that has waited for long.
func (p *idlePool) drop(to NodeID, i *idleConn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for k, other := range p.conns[to] {
		if other == i {
			p.conns[to] = append(p.conns[to][:k:k], p.conns[to][k+1:]...)
			i.c.raw.Close()
			return
		}
	}
}

// forget closes those to a peer.
func (p *idlePool) forget(to NodeID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, i := range p.conns[to] {
		i.timer.Stop()
		i.c.raw.Close()
	}
	delete(p.conns, to)
}

func (p *idlePool) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for _, list := range p.conns {
		for _, i := range list {
			i.timer.Stop()
			i.c.raw.Close()
		}
	}
	p.conns = nil
}
