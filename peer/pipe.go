package peer

import (
	"io"
	"net"
	"os"
	"sync"
	"time"
)

// pipeBytes is what one direction of a pipe holds before its writer waits.
const pipeBytes = 256 << 10

// newPipe gives both ends of a connection in memory. What near writes can be
// read at far while the gate there is open, and the other way round; a nil gate
// is always open.
func newPipe(there, back *gate) (near, far *pipeEnd) {
	a, b := newHalf(there), newHalf(back)
	return &pipeEnd{in: b, out: a}, &pipeEnd{in: a, out: b}
}

// half is one direction.
type half struct {
	gate *gate

	mu      sync.Mutex
	buf     []byte
	over    bool          // no writer: EOF once the buffer is empty
	gone    bool          // no reader
	changed chan struct{} // closed and replaced with every change
}

func newHalf(g *gate) *half { return &half{gate: g, changed: make(chan struct{})} }

// touch wakes who waits; mu is held.
func (h *half) touch() {
	close(h.changed)
	h.changed = make(chan struct{})
}

// pipeEnd is a net.Conn.
type pipeEnd struct {
	in, out     *half
	read, write deadline
}

func (e *pipeEnd) Read(p []byte) (int, error) {
	for {
		opened, isOpen := e.in.gate.state()
		expired := e.read.wait()
		select {
		case <-expired:
			return 0, os.ErrDeadlineExceeded
		default:
		}
		e.in.mu.Lock()
		if e.in.gone {
			e.in.mu.Unlock()
			return 0, net.ErrClosed
		}
		if isOpen && len(e.in.buf) > 0 {
			n := copy(p, e.in.buf)
			e.in.buf = e.in.buf[:copy(e.in.buf, e.in.buf[n:])]
			e.in.touch()
			e.in.mu.Unlock()
			return n, nil
		}
		if isOpen && e.in.over {
			e.in.mu.Unlock()
			return 0, io.EOF
		}
		changed := e.in.changed
		e.in.mu.Unlock()
		select {
		case <-changed:
		case <-opened:
		case <-expired:
		}
	}
}

func (e *pipeEnd) Write(p []byte) (sent int, err error) {
	for sent < len(p) {
		expired := e.write.wait()
		select {
		case <-expired:
			return sent, os.ErrDeadlineExceeded
		default:
		}
		e.out.mu.Lock()
		if e.out.gone || e.out.over {
			e.out.mu.Unlock()
			return sent, io.ErrClosedPipe
		}
		if n := min(pipeBytes-len(e.out.buf), len(p)-sent); n > 0 {
			e.out.buf = append(e.out.buf, p[sent:sent+n]...)
			sent += n
			e.out.touch()
			e.out.mu.Unlock()
			continue
		}
		changed := e.out.changed
		e.out.mu.Unlock()
		select {
		case <-changed:
		case <-expired:
		}
	}
	return sent, nil
}

// Close ends both directions, as that of a socket does.
func (e *pipeEnd) Close() error {
	e.out.mu.Lock()
	e.out.over = true
	e.out.touch()
	e.out.mu.Unlock()
	e.in.mu.Lock()
	e.in.gone = true
	e.in.touch()
	e.in.mu.Unlock()
	return nil
}

func (e *pipeEnd) SetDeadline(t time.Time) error {
	e.read.set(t)
	e.write.set(t)
	e.wake()
	return nil
}

func (e *pipeEnd) SetReadDeadline(t time.Time) error {
	e.read.set(t)
	e.wake()
	return nil
}

func (e *pipeEnd) SetWriteDeadline(t time.Time) error {
	e.write.set(t)
	e.wake()
	return nil
}

// wake lets those who wait for an old deadline look at the new one.
func (e *pipeEnd) wake() {
	for _, h := range []*half{e.in, e.out} {
		h.mu.Lock()
		h.touch()
		h.mu.Unlock()
	}
}

func (e *pipeEnd) LocalAddr() net.Addr  { return pipeAddr{} }
func (e *pipeEnd) RemoteAddr() net.Addr { return pipeAddr{} }

type pipeAddr struct{}

func (pipeAddr) Network() string { return "memory" }
func (pipeAddr) String() string  { return "memory" }

// deadline is a channel that is closed at a moment that can be moved.
type deadline struct {
	mu    sync.Mutex
	timer *time.Timer
	ch    chan struct{}
}

func (d *deadline) set(t time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.timer != nil {
		d.timer.Stop()
		d.timer = nil
	}
	ch := make(chan struct{})
	d.ch = ch
	switch left := time.Until(t); {
	case t.IsZero():
	case left <= 0:
		close(ch)
	default:
		d.timer = time.AfterFunc(left, func() { close(ch) })
	}
}

// wait returns the channel of now; nil, which never fires, if none was set.
func (d *deadline) wait() <-chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.ch
}
