package daemon

import (
	"context"
	"fmt"
	"io"
	"sync"

	"github.com/scrfs/scrfs/peer"
)

// rings brings a stream from a left neighbour together with the member here
// that waits for it. Whichever comes first waits.
type rings struct {
	mu   sync.Mutex
	meet map[ringKey]*meeting
}

// meeting is where the two halves of a link find each other.
type meeting struct {
	stream chan *leftStream
	users  int
}

func newRings() *rings { return &rings{meet: map[ringKey]*meeting{}} }

func (r *rings) enter(key ringKey) *meeting {
	r.mu.Lock()
	defer r.mu.Unlock()
	m := r.meet[key]
	if m == nil {
		m = &meeting{stream: make(chan *leftStream)}
		r.meet[key] = m
	}
	m.users++
	return m
}

func (r *rings) leave(key ringKey, m *meeting) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if m.users--; m.users == 0 {
		delete(r.meet, key)
	}
}

func (r *rings) await(ctx context.Context, key ringKey) (io.ReadCloser, error) {
	m := r.enter(key)
	defer r.leave(key, m)
	select {
	case s := <-m.stream:
		return s, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("left neighbour has not begun: %w", context.Cause(ctx))
	}
}

// serve takes a stream from a left neighbour and lives until the member that
// reads it has closed it.
func (r *rings) serve(ctx context.Context, _ peer.NodeID, header []byte, s peer.Stream) error {
	var key ringKey
	if err := decodeGob(header, &key); err != nil {
		return err
	}
	m := r.enter(key)
	defer r.leave(key, m)
	ctx, cancel := context.WithTimeout(ctx, ringWait)
	defer cancel()
	left := &leftStream{Stream: s, done: make(chan struct{})}
	select {
	case m.stream <- left:
		<-left.done
		return nil
	case <-ctx.Done():
		return fmt.Errorf("right neighbour has not begun: %w", context.Cause(ctx))
	}
}

// leftStream is read by a member; closing it ends the handler of the stream.
type leftStream struct {
	peer.Stream
	once sync.Once
	done chan struct{}
}

func (s *leftStream) Close() error {
	s.once.Do(func() { close(s.done) })
	return nil
}
