package peer

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"

	"google.golang.org/grpc"
)

// pool keeps one connection for calls per peer. gRPC's own reconnecting is not
// used: its growing pauses would keep a peer away that has come back. A broken
// connection is dropped the moment it breaks, and the next call dials anew, at
// once; calls that come together share the dial.
type pool struct {
	w *tcpWire

	mu     sync.Mutex
	closed bool
	lines  map[NodeID]*line
	wg     sync.WaitGroup
}

// line is a connection to a peer: being dialled until ready is closed, then
// usable until dead, or failed for ever with err.
type line struct {
	ready  chan struct{}
	cancel context.CancelFunc // of the dial
	cc     *grpc.ClientConn
	conn   *watchedConn
	err    error
}

func newPool(w *tcpWire) *pool { return &pool{w: w, lines: map[NodeID]*line{}} }

func (w *tcpWire) call(ctx context.Context, to Member, method string, req []byte) (answer, error) {
	l, err := w.pool.line(ctx, to)
	if err != nil {
		return answer{}, err
	}
	a, err := invoke(ctx, l.cc, method, req)
	if err != nil && l.conn.dead.Load() {
		w.pool.drop(to.Name, l)
	}
	return a, err
}

// line returns a connection that is not known to be dead.
func (p *pool) line(ctx context.Context, to Member) (*line, error) {
	l, err := p.find(to)
	if err != nil {
		return nil, err
	}
	select {
	case <-l.ready:
	case <-ctx.Done():
		return nil, fmt.Errorf("%w: %w", ErrUnreachable, ctx.Err())
	}
	if l.err != nil {
		return nil, l.err
	}
	return l, nil
}

func (p *pool) find(to Member) (*line, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, ErrClosed
	}
	if l := p.lines[to.Name]; l != nil {
		if !l.over() {
			return l, nil
		}
		p.hangUp(l)
	}
	// The dial belongs to all who wait for it, so it has a time of its own.
	ctx, cancel := context.WithTimeout(context.Background(), p.w.n.opt.CallTimeout)
	l := &line{ready: make(chan struct{}), cancel: cancel}
	p.lines[to.Name] = l
	p.wg.Go(func() {
		defer cancel()
		p.dial(ctx, to, l)
	})
	return l, nil
}

// over is true for a line that is of no more use.
func (l *line) over() bool {
	select {
	case <-l.ready:
		return l.err != nil || l.conn.dead.Load()
	default:
		return false
	}
}

func (p *pool) dial(ctx context.Context, to Member, l *line) {
	defer close(l.ready)
	conn, err := p.w.connect(ctx, to, protoCalls)
	if err != nil {
		l.err = err
		return
	}
	l.conn = &watchedConn{Conn: conn, raw: newBulkConn(conn).raw}
	l.cc, l.err = grpc.NewClient("passthrough:///"+string(to.Name), dialOptions(l.conn.once)...)
	if l.err != nil {
		conn.Close()
	}
}

// drop forgets a line, if it is still the peer's.
func (p *pool) drop(to NodeID, l *line) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.lines[to] == l {
		delete(p.lines, to)
		p.hangUp(l)
	}
}

func (p *pool) forget(to NodeID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if l := p.lines[to]; l != nil {
		delete(p.lines, to)
		p.hangUp(l)
	}
}

// hangUp ends a line in the background: calls that use it fail now.
func (p *pool) hangUp(l *line) {
	p.wg.Go(func() {
		l.cancel()
		<-l.ready
		if l.cc != nil {
			l.conn.raw.Close() // first, or gRPC waits to say goodbye to a frozen peer
			l.cc.Close()
		}
	})
}

func (p *pool) close() {
	p.mu.Lock()
	p.closed = true
	for to, l := range p.lines {
		delete(p.lines, to)
		p.hangUp(l)
	}
	p.mu.Unlock()
	p.wg.Wait()
}

// watchedConn notes the moment it breaks.
type watchedConn struct {
	net.Conn
	raw  net.Conn
	used atomic.Bool
	dead atomic.Bool
}

var errUsed = errors.New("connection was lost")

// once is the dialer of a gRPC client that lives as long as one connection.
func (c *watchedConn) once(context.Context, string) (net.Conn, error) {
	if c.used.Swap(true) {
		c.dead.Store(true)
		return nil, errUsed
	}
	return c, nil
}

func (c *watchedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if err != nil {
		c.dead.Store(true)
	}
	return n, err
}

func (c *watchedConn) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	if err != nil {
		c.dead.Store(true)
	}
	return n, err
}

func (c *watchedConn) Close() error {
	c.dead.Store(true)
	return c.raw.Close()
}
