package peer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"time"
)

func (n *node) Open(ctx context.Context, to NodeID, kind string, header []byte) (Stream, error) {
	s, err := n.open(ctx, to, kind, header)
	if err != nil {
		return nil, fmt.Errorf("open %s on %s: %w", kind, to, err)
	}
	return s, nil
}

func (n *node) open(ctx context.Context, to NodeID, kind string, header []byte) (*stream, error) {
	if err := checkName("stream", kind); err != nil {
		return nil, err
	}
	if len(header) > MaxHeaderBytes {
		return nil, fmt.Errorf("header of %d bytes: %w", len(header), ErrTooLarge)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m, err := n.member(to)
	if err != nil {
		return nil, err
	}
	setUp, cancel := context.WithTimeout(ctx, n.opt.CallTimeout)
	defer cancel()
	if c := n.idle.take(to); c != nil {
		s, err := n.openOver(ctx, setUp, c, to, kind, header)
		if !lostConnection(err) {
			return s, err
		}
		// The peer has closed it meanwhile, most likely by starting anew.
	}
	conn, err := n.dialBulk(setUp, m)
	if err != nil {
		return nil, err
	}
	return n.openOver(ctx, setUp, newBulkConn(conn), to, kind, header)
}

// openOver opens a stream over a connection; setUp bounds the opening.
func (n *node) openOver(ctx, setUp context.Context, c *bulkConn, to NodeID, kind string, header []byte) (*stream, error) {
	s, err := n.adopt(ctx, to, c)
	if err != nil {
		return nil, err
	}
	s.keep = func(c *bulkConn) { n.idle.put(to, c) }
	if err := n.ask(setUp, s, kind, header); err != nil {
		s.abort(err)
		return nil, err
	}
	return s, nil
}

func lostConnection(err error) bool {
	_, said := errors.AsType[*RemoteError](err)
	return !said && errors.Is(err, io.ErrUnexpectedEOF)
}

// dialBulk connects to a member, or to this node itself without a network.
func (n *node) dialBulk(ctx context.Context, m Member) (net.Conn, error) {
	if m.Name != n.opt.Self && m.Name != "" {
		return n.wire.dial(ctx, m)
	}
	near, far := newPipe(nil, nil)
	n.mu.RLock()
	defer n.mu.RUnlock()
	if n.state != started {
		return nil, ErrClosed
	}
	n.wg.Go(func() { n.serveBulk(n.opt.Self, far) })
	return near, nil
}

// ask sends the opening frame and waits until the other side takes it.
func (n *node) ask(ctx context.Context, s *stream, kind string, header []byte) error {
	release := s.under(ctx)
	defer release()
	payload := append(appendString(make([]byte, 0, 2+len(kind)+len(header)), kind), header...)
	s.wmu.Lock()
	err := s.writeFrame(frameOpen, payload)
	s.wmu.Unlock()
	if err != nil {
		return err
	}
	s.rmu.Lock()
	defer s.rmu.Unlock()
	t, data, err := s.readFrame(nil)
	switch {
	case err != nil:
		return err
	case t == frameError:
		return decodeError(s.peer, data)
	case t != frameAccept:
		return fmt.Errorf("stream with %s: frame of type %d for an answer: %w", s.peer, t, ErrFrame)
	}
	return nil
}

// adopt makes a connection a stream that ends with ctx, the node or the peer.
func (n *node) adopt(ctx context.Context, peer NodeID, c *bulkConn) (*stream, error) {
	s := newStream(peer, c)
	var release func() bool // set before n.mu is let go
	s.after = func() {
		n.mu.Lock()
		delete(n.streams, s)
		n.mu.Unlock()
		release()
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.state != started {
		s.raw.Close()
		return nil, ErrClosed
	}
	n.streams[s] = struct{}{}
	release = s.under(ctx)
	return s, nil
}

// serveBulk serves a connection that a peer opened for streams, one by one.
func (n *node) serveBulk(from NodeID, conn net.Conn) {
	c := newBulkConn(conn)
	patience := n.opt.CallTimeout
	for n.serveStream(from, c, patience) {
		patience = idleServed
	}
}

// serveStream serves one stream, and says whether the connection is good for
// another; if not, it is closed.
func (n *node) serveStream(from NodeID, c *bulkConn, patience time.Duration) bool {
	s, err := n.adopt(n.ctx, from, c)
	if err != nil {
		return false
	}
	defer s.Close()
	_ = s.SetDeadline(time.Now().Add(patience))
	kind, header, err := s.readOpening()
	if err != nil {
		if !lostConnection(err) && patience != idleServed && n.ctx.Err() == nil {
			n.opt.Log.Info("stream was not opened", slog.String("peer", string(from)), slog.Any("error", err))
		}
		return false
	}
	n.mu.RLock()
	h := n.kinds[kind]
	n.mu.RUnlock()
	if h == nil {
		n.refuse(s, fmt.Errorf("stream %q: %w", kind, ErrNoHandler))
		return false
	}
	_ = s.SetDeadline(time.Time{})
	if err := s.accept(); err != nil {
		return false
	}
	ctx, cancel := context.WithCancel(n.ctx)
	defer cancel()
	if err := h(ctx, from, header, s); err != nil {
		n.refuse(s, err)
		return false
	}
	_ = s.SetDeadline(time.Now().Add(n.opt.CallTimeout))
	_ = s.CloseWrite() // if it did not work, the connection is not clean
	s.drain()
	if !s.clean() {
		return false
	}
	s.retire()
	return true
}

func (s *stream) accept() error {
	s.wmu.Lock()
	defer s.wmu.Unlock()
	return s.writeFrame(frameAccept, nil)
}

// drain reads what the handler left, up to the opener's end.
func (s *stream) drain() {
	s.rmu.Lock()
	defer s.rmu.Unlock()
	for taken := 0; s.rerr == nil && taken < lingerBytes; taken += len(s.rest) {
		_, s.rerr = s.next(nil)
	}
	s.rest = nil
}

// refuse tells the opener why its stream ends.
func (n *node) refuse(s *stream, why error) {
	_ = s.SetDeadline(time.Now().Add(n.opt.CallTimeout))
	if s.finish(frameError, encodeError(why)) == nil {
		s.linger()
	}
}

// lingerBytes is how much of what nobody will read is taken in before the
// connection is cut: some socket buffers' worth.
const lingerBytes = 16 << 20

// linger waits until the opener has closed: closing a TCP connection that
// holds unread bytes resets it, and the opener may then lose the last frame.
func (s *stream) linger() {
	s.rmu.Lock()
	defer s.rmu.Unlock()
	_, _ = io.CopyN(io.Discard, s.in, lingerBytes)
}

// readOpening reads the first frame of a stream.
func (s *stream) readOpening() (kind string, header []byte, err error) {
	s.rmu.Lock()
	defer s.rmu.Unlock()
	t, data, err := s.readFrame(nil)
	if err != nil {
		return "", nil, err
	}
	kind, rest, ok := cutString(data)
	if t != frameOpen || !ok || checkName("stream", kind) != nil {
		return "", nil, fmt.Errorf("stream with %s: no opening: %w", s.peer, ErrFrame)
	}
	return kind, append([]byte(nil), rest...), nil
}
