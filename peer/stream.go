package peer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// errEnded is the caller's mistake and leaves the connection as it is.
var errEnded = fmt.Errorf("write after end: %w", ErrClosed)

// stream frames one authenticated connection, from an opening to two ends.
type stream struct {
	*bulkConn
	peer NodeID

	done  atomic.Bool // closed or aborted
	once  sync.Once
	cause atomic.Pointer[error] // why it was aborted
	after func()                // tells the owner
	keep  func(*bulkConn)       // takes the connection after a clean end; may be nil

	rmu  sync.Mutex
	rest []byte // of the last frame, not read yet
	buf  []byte
	rerr error // sticky

	wmu   sync.Mutex
	out   []byte // one frame, where the connection has no gathering write
	ended bool
	werr  error // sticky
}

func newStream(peer NodeID, c *bulkConn) *stream {
	return &stream{bulkConn: c, peer: peer, after: func() {}}
}

func (s *stream) Read(p []byte) (int, error) {
	s.rmu.Lock()
	defer s.rmu.Unlock()
	if len(p) == 0 {
		return 0, nil
	}
	for len(s.rest) == 0 {
		if s.rerr != nil {
			return 0, s.rerr
		}
		n, err := s.next(p)
		if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
			s.rerr = err
		}
		if n > 0 || err != nil {
			return n, err
		}
	}
	n := copy(p, s.rest)
	s.rest = s.rest[n:]
	return n, nil
}

// next reads one frame. A data frame that fits goes straight into p, its length
// is returned; of one that does not, s.rest is set. rmu is held.
func (s *stream) next(p []byte) (int, error) {
	t, data, err := s.readFrame(p)
	if err != nil {
		return 0, err
	}
	switch t {
	case frameData:
		if len(data) <= len(p) {
			return len(data), nil
		}
		s.rest = data
		return 0, nil
	case frameEnd:
		return 0, io.EOF
	case frameError:
		return 0, decodeError(s.peer, data)
	}
	return 0, fmt.Errorf("stream with %s: frame of type %d: %w", s.peer, t, ErrFrame)
}

func (s *stream) Write(p []byte) (int, error) {
	s.wmu.Lock()
	defer s.wmu.Unlock()
	sent := 0
	for sent < len(p) {
		if s.werr == nil && s.ended {
			s.werr = fmt.Errorf("stream with %s: %w", s.peer, errEnded)
		}
		if s.werr != nil {
			return sent, s.werr
		}
		n := min(len(p)-sent, MaxFrameBytes)
		if err := s.writeFrame(frameData, p[sent:sent+n]); err != nil {
			s.werr = s.remoteReason(err)
			return sent, s.werr
		}
		sent += n
	}
	return sent, nil
}

func (s *stream) CloseWrite() error {
	return s.finish(frameEnd, nil)
}

// finish ends the own half with a frame, once.
func (s *stream) finish(t frameType, payload []byte) error {
	s.wmu.Lock()
	defer s.wmu.Unlock()
	if s.werr != nil {
		return s.werr
	}
	if s.ended {
		return nil
	}
	s.ended = true
	return s.writeFrame(t, payload)
}

func (s *stream) SetDeadline(t time.Time) error {
	if s.done.Load() {
		return ErrClosed // the connection may be another stream's by now
	}
	return s.conn.SetDeadline(t)
}

func (s *stream) Close() error {
	if s.keep != nil && s.clean() {
		s.retire()
		return nil
	}
	// The connection below TLS: our frames say how a stream ended, and a
	// closing alert would be waited for when the other side is frozen.
	s.shut(func() { s.raw.Close() })
	return nil
}

// clean is true when both halves have ended well, so that the next frame on
// the connection is a new stream's. A half that nobody will read is ended here.
func (s *stream) clean() bool {
	if !s.rmu.TryLock() {
		return false
	}
	defer s.rmu.Unlock()
	if !errors.Is(s.rerr, io.EOF) || !s.wmu.TryLock() {
		return false
	}
	defer s.wmu.Unlock()
	if s.conn.SetDeadline(time.Now().Add(time.Second)) != nil {
		return false
	}
	if !s.ended && s.werr == nil {
		s.ended = true
		s.werr = s.writeFrame(frameEnd, nil)
	}
	return (s.werr == nil || errors.Is(s.werr, errEnded)) && s.conn.SetDeadline(time.Time{}) == nil
}

// retire gives the connection back instead of closing it.
func (s *stream) retire() {
	kept := false
	s.shut(func() { kept = true })
	if kept && s.keep != nil {
		s.keep(s.bulkConn)
	}
}

// abort breaks the stream; who reads or writes it is told why.
func (s *stream) abort(why error) {
	s.shut(func() {
		s.cause.Store(&why)
		s.raw.Close()
	})
}

func (s *stream) shut(how func()) {
	s.once.Do(func() {
		s.done.Store(true)
		how()
		s.after()
	})
}

// broken names what befell the connection.
func (s *stream) broken(doing string, err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return fmt.Errorf("%s stream with %s: %w", doing, s.peer, err)
	}
	why := io.ErrUnexpectedEOF
	if c := s.cause.Load(); c != nil {
		why = *c
	} else if s.done.Load() {
		why = ErrClosed
	} else if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%s stream with %s: %w: %w", doing, s.peer, why, err)
	}
	return fmt.Errorf("%s stream with %s: %w", doing, s.peer, why)
}

// remoteReason looks whether a write failed because the other side's handler
// did: then its error is what lies in the receive buffer. wmu is held.
func (s *stream) remoteReason(err error) error {
	if s.done.Load() || errors.Is(err, os.ErrDeadlineExceeded) || !s.rmu.TryLock() {
		return err // who reads at this moment will find it
	}
	defer s.rmu.Unlock()
	// The connection is broken, so nothing is waited for but what is on its way.
	if s.conn.SetReadDeadline(time.Now().Add(time.Second)) != nil {
		return err
	}
	for s.rerr == nil {
		if _, s.rerr = s.next(nil); s.rerr == nil {
			s.rest = nil
		}
	}
	if remote, ok := errors.AsType[*RemoteError](s.rerr); ok {
		return remote
	}
	return err
}

// under ties the stream to a context; the result unties it.
func (s *stream) under(ctx context.Context) (release func() bool) {
	return context.AfterFunc(ctx, func() { s.abort(context.Cause(ctx)) })
}
