package peer

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"time"

	"google.golang.org/grpc"
)

// New makes a Transport over TCP.
func New(o Options) (Transport, error) {
	w := &tcpWire{}
	n, err := newNode(o, w)
	if err != nil {
		return nil, err
	}
	w.n = n
	if err := w.keys(); err != nil {
		return nil, fmt.Errorf("peer secret: %w", err)
	}
	return n, nil
}

// maxGreeting bounds the connections that have not proven the secret yet;
// more are turned away, so that a stranger cannot use up the descriptors.
const maxGreeting = 1024

// tcpWire is one TCP port: TLS or plain, greeted, then calls or a stream.
type tcpWire struct {
	n              *node
	greet          greeter
	server, client *tls.Config // nil when plain

	listener net.Listener
	inbox    *inbox
	grpc     *grpc.Server
	pool     *pool
	wg       sync.WaitGroup

	mu     sync.Mutex
	young  map[net.Conn]struct{} // accepted, not greeted
	closed bool
}

func (w *tcpWire) keys() (err error) {
	if w.greet, err = newGreeter(w.n.opt.Secret, w.n.opt.Plain); err != nil || w.n.opt.Plain {
		return err
	}
	w.server, w.client, err = tlsConfigs(w.n.opt.Secret)
	return err
}

func (w *tcpWire) start(n *node) (string, error) {
	l, err := net.Listen("tcp", n.opt.Listen)
	if err != nil {
		return "", err
	}
	w.listener = l
	w.young = map[net.Conn]struct{}{}
	w.inbox = newInbox(l.Addr())
	w.grpc = newServer(n)
	w.pool = newPool(w)
	w.wg.Go(func() { _ = w.grpc.Serve(w.inbox) }) // ends with Stop, says nothing else
	w.wg.Go(w.accept)
	return l.Addr().String(), nil
}

func (w *tcpWire) accept() {
	pause := time.Millisecond
	for {
		c, err := w.listener.Accept()
		if err == nil {
			pause = time.Millisecond
			if w.raise(c) {
				w.wg.Go(func() { w.welcome(c) })
			}
			continue
		}
		if errors.Is(err, net.ErrClosed) {
			return
		}
		// Out of descriptors, most likely: it may pass, and says so each time.
		w.n.opt.Log.Warn("accept", slog.Any("error", err))
		select {
		case <-w.n.ctx.Done():
			return
		case <-time.After(pause):
			pause = min(2*pause, time.Second)
		}
	}
}

// raise takes a new connection in, if there is room for another stranger.
func (w *tcpWire) raise(c net.Conn) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed || len(w.young) >= maxGreeting {
		c.Close()
		return false
	}
	w.young[c] = struct{}{}
	return true
}

func (w *tcpWire) grown(c net.Conn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.young, c)
}

// welcome authenticates a connection and hands it to whom it is meant for.
func (w *tcpWire) welcome(raw net.Conn) {
	conn, proto, from, err := w.authenticate(raw)
	w.grown(raw)
	if err != nil {
		raw.Close()
		if w.n.ctx.Err() == nil {
			w.n.opt.Log.Warn("connection turned away",
				slog.String("from", raw.RemoteAddr().String()), slog.Any("error", err))
		}
		return
	}
	if proto == protoCalls {
		w.inbox.put(&namedConn{Conn: conn, peer: from})
		return
	}
	w.n.serveBulk(from, conn)
}

func (w *tcpWire) authenticate(raw net.Conn) (conn net.Conn, p protocol, from NodeID, err error) {
	if err := raw.SetDeadline(time.Now().Add(w.n.opt.CallTimeout)); err != nil {
		return nil, "", "", err
	}
	conn = raw
	var alpn string
	if w.server != nil {
		t := tls.Server(raw, w.server)
		if err := t.HandshakeContext(w.n.ctx); err != nil {
			return nil, "", "", err
		}
		alpn = t.ConnectionState().NegotiatedProtocol
		conn = t
	}
	p, from, err = w.greet.answer(conn, w.n.opt.Self)
	if err == nil && w.server != nil && alpn != string(p) {
		err = fmt.Errorf("%s asked for %q, then %q: %w", from, alpn, p, errALPN)
	}
	if err != nil {
		return nil, "", "", err
	}
	return conn, p, from, raw.SetDeadline(time.Time{})
}

// connect gives an authenticated connection to a member.
func (w *tcpWire) connect(ctx context.Context, to Member, p protocol) (net.Conn, error) {
	raw, err := (&net.Dialer{}).DialContext(ctx, "tcp", to.Addr)
	if err != nil {
		return nil, unreachable(ctx, err)
	}
	// Closing is what ends a greeting that hangs.
	release := context.AfterFunc(ctx, func() { raw.Close() })
	conn, err := w.introduce(ctx, raw, to, p)
	if !release() && err == nil {
		err = ctx.Err()
	}
	if err != nil {
		raw.Close()
		return nil, unreachable(ctx, err)
	}
	return conn, nil
}

func (w *tcpWire) introduce(ctx context.Context, raw net.Conn, to Member, p protocol) (net.Conn, error) {
	conn := raw
	if w.client != nil {
		c := w.client.Clone()
		c.NextProtos = []string{string(p)}
		t := tls.Client(raw, c)
		if err := t.HandshakeContext(ctx); err != nil {
			return nil, err
		}
		conn = t
	}
	return conn, w.greet.call(conn, p, w.n.opt.Self, to.Name)
}

// unreachable tells a peer that is away from a caller that gave up.
func unreachable(ctx context.Context, err error) error {
	if cause := ctx.Err(); cause != nil {
		return fmt.Errorf("%w: %w", ErrUnreachable, cause)
	}
	return fmt.Errorf("%w: %w", ErrUnreachable, err)
}

func (w *tcpWire) dial(ctx context.Context, to Member) (net.Conn, error) {
	return w.connect(ctx, to, protoBulk)
}

func (w *tcpWire) forget(to NodeID) {
	if w.pool != nil {
		w.pool.forget(to)
	}
}

func (w *tcpWire) close() {
	if w.listener == nil {
		return
	}
	w.listener.Close()
	w.mu.Lock()
	w.closed = true
	for c := range w.young {
		c.Close()
	}
	w.mu.Unlock()
	w.pool.close()
	_ = w.inbox.Close()
	w.grpc.Stop() // cancels the handlers' contexts and waits for them
	w.wg.Wait()
}
