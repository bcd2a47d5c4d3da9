package peer

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// health knows which peers answer. It asks each of them five times per
// DownAfter, unless a call was answered since; a peer that has not answered
// anything for DownAfter is down.
type health struct {
	log     *slog.Logger
	timeout time.Duration // of one question
	after   time.Duration
	ping    func(context.Context, NodeID) error
	lost    func(NodeID)

	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup
	news   chan struct{} // holds one token when changes is not empty

	mu        sync.Mutex
	peers     map[NodeID]*pulse
	changes   []change
	listeners []func(NodeID, bool)
}

type pulse struct {
	last  time.Time // of the last answer, or of the start
	alive bool
	wake  chan struct{}
}

type change struct {
	peer  NodeID
	alive bool
}

func newHealth(o Options, ping func(context.Context, NodeID) error, lost func(NodeID)) *health {
	h := &health{
		log:     o.Log,
		timeout: min(o.CallTimeout, o.DownAfter),
		after:   o.DownAfter,
		ping:    ping,
		lost:    lost,
		news:    make(chan struct{}, 1),
		peers:   map[NodeID]*pulse{},
	}
	h.ctx, h.cancel = context.WithCancel(context.Background())
	return h
}

// start begins to tell the listeners.
func (h *health) start() { h.wg.Go(h.tell) }

func (h *health) close() {
	h.cancel()
	h.wg.Wait()
}

// watch begins to ask a peer.
func (h *health) watch(peer NodeID) {
	p := &pulse{last: time.Now(), alive: true, wake: make(chan struct{}, 1)}
	h.mu.Lock()
	h.peers[peer] = p
	h.mu.Unlock()
	h.wg.Go(func() { h.beat(peer, p) })
}

// hurry asks a peer now: there is reason to think that it came back.
func (h *health) hurry(peer NodeID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if p := h.peers[peer]; p != nil {
		select {
		case p.wake <- struct{}{}:
		default:
		}
	}
}

func (h *health) alive(peer NodeID) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	p := h.peers[peer]
	return p != nil && p.alive
}

func (h *health) onChange(f func(NodeID, bool)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.listeners = append(h.listeners, f)
}

// seen records an answer of a peer.
func (h *health) seen(peer NodeID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if p := h.peers[peer]; p != nil {
		p.last = time.Now()
		h.turn(peer, p, true)
	}
}

// turn sets the state of a peer; h.mu is held.
func (h *health) turn(peer NodeID, p *pulse, alive bool) {
	if p.alive == alive {
		return
	}
	p.alive = alive
	h.changes = append(h.changes, change{peer, alive})
	select {
	case h.news <- struct{}{}:
	default:
	}
}

// beat asks one peer until the transport closes.
func (h *health) beat(peer NodeID, p *pulse) {
	every := h.after / 5
	timer := time.NewTimer(every)
	defer timer.Stop()
	for {
		select {
		case <-h.ctx.Done():
			return
		case <-p.wake:
		case <-timer.C:
			if wait := every - h.silence(p); wait > 0 {
				timer.Reset(wait)
				continue
			}
		}
		h.ask(peer, p)
		timer.Reset(every)
	}
}

func (h *health) ask(peer NodeID, p *pulse) {
	// A question that hangs must end when the peer's time is over, not later.
	patience := min(h.timeout, max(h.after/5, h.after-h.silence(p)))
	ctx, cancel := context.WithTimeout(h.ctx, patience)
	defer cancel()
	err := h.ping(ctx, peer) // an answer is recorded by the call itself
	if err == nil || h.ctx.Err() != nil {
		return
	}
	h.mu.Lock()
	fell := p.alive && time.Since(p.last) >= h.after
	if fell {
		h.turn(peer, p, false)
	}
	h.mu.Unlock()
	if fell {
		h.lost(peer)
	}
}

func (h *health) silence(p *pulse) time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	return time.Since(p.last)
}

// tell passes the changes on, in order, with no lock held.
func (h *health) tell() {
	for {
		select {
		case <-h.ctx.Done():
			return
		case <-h.news:
		}
		h.mu.Lock()
		changes, listeners := h.changes, h.listeners
		h.changes = nil
		h.mu.Unlock()
		for _, c := range changes {
			if c.alive {
				h.log.Info("peer is up", slog.String("peer", string(c.peer)))
			} else {
				h.log.Info("peer is down", slog.String("peer", string(c.peer)), slog.Duration("silent", h.after))
			}
			for _, f := range listeners {
				f(c.peer, c.alive)
			}
		}
	}
}
