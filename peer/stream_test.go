package peer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

func TestStreamCarriesBytesBothWays(t *testing.T) {
	everywhere(t, func(t *testing.T, w world) {
		a, _ := w.two(t, func(n Transport) {
			n.HandleStream("double", func(_ context.Context, from NodeID, header []byte, s Stream) error {
				if string(header) != "head" || from != "node0" {
					return fmt.Errorf("header %q from %s", header, from)
				}
				buf := make([]byte, 70_001)
				for {
					n, err := s.Read(buf)
					if _, werr := s.Write(buf[:n]); werr != nil {
						return werr
					}
					if errors.Is(err, io.EOF) {
						return nil
					}
					if err != nil {
						return err
					}
				}
			})
		})
		data := make([]byte, 5<<20+17)
		rand.NewChaCha8([32]byte{1}).Read(data)
		for _, to := range []NodeID{"node1", "node0"} {
			s, err := a.Open(bg(t), to, "double", []byte("head"))
			if err != nil {
				t.Fatal(err)
			}
			var wg sync.WaitGroup
			wg.Go(func() {
				// Pieces below, at and above the size of a frame.
				for rest, n := data, 1; len(rest) > 0; n = n*3 + 1 {
					k := min(n, len(rest))
					if _, err := s.Write(rest[:k]); err != nil {
						t.Error(err)
						return
					}
					rest = rest[k:]
				}
				if err := s.CloseWrite(); err != nil {
					t.Error(err)
				}
				if _, err := s.Write([]byte("late")); err == nil {
					t.Error("a write after CloseWrite is taken")
				}
			})
			got, err := io.ReadAll(s)
			wg.Wait()
			if err != nil || !bytes.Equal(got, data) {
				t.Errorf("%s: got %d of %d bytes, %v", to, len(got), len(data), err)
			}
			s.Close()
			if _, err := s.Read(make([]byte, 1)); err == nil {
				t.Error("a closed stream can be read")
			}
		}
	})
}

func TestBrokenStreamNeverLooksEnded(t *testing.T) {
	everywhere(t, func(t *testing.T, w world) {
		got := make(chan error, 1)
		a, _ := w.two(t, func(n Transport) {
			n.HandleStream("sink", func(_ context.Context, _ NodeID, _ []byte, s Stream) error {
				_, err := io.Copy(io.Discard, s)
				got <- err
				return nil
			})
		})
		s, err := a.Open(bg(t), "node1", "sink", nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Write(make([]byte, 100)); err != nil {
			t.Fatal(err)
		}
		s.Close()
		if err := <-got; !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("reader of a stream closed without its end: %v", err)
		}
	})
}

func TestHandlersErrorEndsTheStream(t *testing.T) {
	everywhere(t, func(t *testing.T, w world) {
		a, _ := w.two(t, func(n Transport) {
			n.HandleStream("full", func(context.Context, NodeID, []byte, Stream) error {
				return fmt.Errorf("cache: %w", syscall.ENOSPC)
			})
		})
		s, err := a.Open(bg(t), "node1", "full", nil)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		if _, err := io.ReadAll(s); !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("read: %v", err)
		}
		s2, err := a.Open(bg(t), "node1", "full", nil)
		if err != nil {
			t.Fatal(err)
		}
		defer s2.Close()
		piece := make([]byte, 1<<20)
		for err == nil {
			_, err = s2.Write(piece) // ends: nobody reads
		}
		if !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("write: %v", err)
		}
		if _, err := a.Open(bg(t), "node1", "unknown", nil); !errors.Is(err, ErrNoHandler) {
			t.Errorf("unknown kind: %v", err)
		}
	})
}

// What one side does not read must not reach the next stream, nor hide its end.
func TestStreamsFollowEachOther(t *testing.T) {
	everywhere(t, func(t *testing.T, w world) {
		var hidden sync.WaitGroup
		a, b := w.two(t, func(n Transport) {
			n.HandleStream("ignore", func(_ context.Context, _ NodeID, _ []byte, s Stream) error {
				_, err := s.Write([]byte("ignored"))
				return err
			})
			n.HandleStream("talk", func(_ context.Context, _ NodeID, header []byte, s Stream) error {
				_, err := s.Write(append(bytes.Repeat([]byte("x"), 300_000), header...))
				return err
			})
			n.HandleStream("fail", func(_ context.Context, _ NodeID, _ []byte, s Stream) error {
				if _, err := s.Write(make([]byte, 5000)); err != nil {
					return err
				}
				return errOwn
			})
		})
		for round := range 12 {
			if round == 6 { // what waits is stale now, and nobody is told
				addr := b.Addr()
				b.Close()
				o := options(t, "node1")
				o.Listen = addr
				b = w.node(t, o, func(n Transport) {
					for _, kind := range []string{"ignore", "talk", "fail"} {
						n.HandleStream(kind, a.(*node).kinds[kind])
					}
				})
			}
			ctx, cancel := context.WithCancel(bg(t))
			for _, to := range []NodeID{"node1", "node0"} {
				s, err := a.Open(ctx, to, "ignore", nil)
				if err != nil {
					t.Fatal(err)
				}
				hidden.Go(func() {
					defer s.Close()
					_, _ = s.Write(bytes.Repeat([]byte("y"), 200_000))
					if got, err := io.ReadAll(s); err != nil || string(got) != "ignored" {
						t.Errorf("%q, %v", got, err)
					}
				})
				s2, err := a.Open(ctx, to, "talk", fmt.Append(nil, round))
				if err != nil {
					t.Fatal(err)
				}
				if got, err := io.ReadAll(s2); err != nil || !strings.HasSuffix(string(got), "x"+fmt.Sprint(round)) || len(got) > 300_002 {
					t.Errorf("round %d: %d bytes, %v", round, len(got), err)
				}
				s2.Close()
				if _, err := s2.Write([]byte("late")); !errors.Is(err, ErrClosed) {
					t.Errorf("write on a closed stream: %v", err)
				}
				if err := s2.SetDeadline(time.Unix(1, 0)); err == nil {
					t.Error("a closed stream takes a deadline")
				}
				s3, err := a.Open(ctx, to, "fail", nil)
				if err != nil {
					t.Fatal(err)
				}
				if got, err := io.ReadAll(s3); len(got) != 5000 || !errors.Is(err, errOwn) {
					t.Errorf("round %d: %d bytes, %v", round, len(got), err)
				}
				s3.Close()
			}
			hidden.Wait()
			cancel() // after Close: harms no later stream
		}
	})
}

func TestStreamIsBoundedByContextAndDeadline(t *testing.T) {
	everywhere(t, func(t *testing.T, w world) {
		a, _ := w.two(t, func(n Transport) {
			n.HandleStream("mute", func(ctx context.Context, _ NodeID, _ []byte, s Stream) error {
				_, err := s.Read(make([]byte, 1))
				return err
			})
		})
		ctx, cancel := context.WithCancel(context.Background())
		s, err := a.Open(ctx, "node1", "mute", nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.SetDeadline(time.Now().Add(10 * time.Millisecond)); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Read(make([]byte, 1)); !isTimeout(err) {
			t.Errorf("read past the deadline: %v", err)
		}
		if err := s.SetDeadline(time.Time{}); err != nil {
			t.Fatal(err)
		}
		go cancel()
		if _, err := s.Read(make([]byte, 1)); !errors.Is(err, context.Canceled) {
			t.Errorf("read with a cancelled context: %v", err)
		}
	})
}

func isTimeout(err error) bool {
	t, ok := errors.AsType[interface {
		error
		Timeout() bool
	}](err)
	return ok && t.Timeout()
}
