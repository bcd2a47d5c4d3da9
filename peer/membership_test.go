package peer

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestPeerThatComesBackIsReachedAtOnce(t *testing.T) {
	everywhere(t, func(t *testing.T, w world) {
		hello := func(n Transport) { n.Handle("echo", echo) }
		a, b := w.two(t, hello)
		if _, err := a.Call(bg(t), "node1", "echo", nil); err != nil {
			t.Fatal(err)
		}
		for round := range 3 {
			addr := b.Addr()
			b.Close()
			for range 3 {
				if _, err := a.Call(bg(t), "node1", "echo", nil); !errors.Is(err, ErrUnreachable) {
					t.Fatalf("call to a closed peer: %v", err)
				}
			}
			o := options(t, "node1")
			if round == 0 {
				o.Listen = addr // the same port, nobody is told
			}
			b = w.node(t, o, hello)
			if round > 0 {
				a.SetMember(Member{"node1", b.Addr()})
			}
			if _, err := a.Call(bg(t), "node1", "echo", nil); err != nil {
				t.Fatalf("first call after the return: %v", err)
			}
		}
	})
}

func TestCloseEndsEverything(t *testing.T) {
	everywhere(t, func(t *testing.T, w world) {
		entered := make(chan struct{}, 2)
		a, b := w.two(t, func(n Transport) {
			n.Handle("wait", func(ctx context.Context, _ NodeID, _ []byte) ([]byte, error) {
				entered <- struct{}{}
				<-ctx.Done()
				return nil, ctx.Err()
			})
			n.HandleStream("wait", func(ctx context.Context, _ NodeID, _ []byte, s Stream) error {
				entered <- struct{}{}
				_, err := s.Read(make([]byte, 1))
				return err
			})
		})
		s, err := a.Open(bg(t), "node1", "wait", nil)
		if err != nil {
			t.Fatal(err)
		}
		failed := make(chan error, 2)
		go func() { _, err := a.Call(bg(t), "node1", "wait", nil); failed <- err }()
		go func() { _, err := s.Read(make([]byte, 1)); failed <- err }()
		<-entered
		<-entered
		b.Close()
		b.Close()
		for range 2 {
			if err := <-failed; err == nil {
				t.Error("no error from a peer that closed")
			}
		}
		a.Close()
		if _, err := a.Call(bg(t), "node1", "wait", nil); !errors.Is(err, ErrClosed) {
			t.Errorf("call on a closed transport: %v", err)
		}
		if err := a.Start(); err == nil {
			t.Error("a closed transport starts again")
		}
	})
}

func TestSilentPeerIsDownUntilItAnswers(t *testing.T) {
	everywhere(t, func(t *testing.T, w world) {
		a, b := w.two(t, nil) // a minute of patience
		if !a.Alive("node0") || !a.Alive("node1") || a.Alive("node9") {
			t.Error("wrong at the start")
		}
		a.Close()
		o := options(t, "node0")
		o.DownAfter = 100 * time.Millisecond
		news := make(chan bool, 1000)
		a = w.node(t, o, func(n Transport) {
			n.OnChange(func(p NodeID, alive bool) {
				if p == "node1" {
					news <- alive
				}
			})
		})
		acquaint(a, b)
		b.Close()
		// On a slow machine it may have seemed down, and up, before.
		for a.Alive("node1") {
			<-news
		}
		b = w.node(t, options(t, "node1"), nil)
		a.SetMember(Member{"node1", b.Addr()})
		for !a.Alive("node1") {
			<-news
		}
	})
}

func TestStrangersGetNowhere(t *testing.T) {
	everywhere(t, func(t *testing.T, w world) {
		called := func(context.Context, NodeID, []byte) ([]byte, error) {
			t.Error("a stranger was served")
			return nil, nil
		}
		o := options(t, "node1")
		o.Log = nil // it warns, rightly
		b := w.node(t, o, func(n Transport) { n.Handle("x", called) })
		o = options(t, "node0")
		o.Secret = bytes.Repeat([]byte("another!"), 4)
		a := w.node(t, o, nil)
		a.SetMember(Member{"node1", b.Addr()})
		if _, err := a.Call(bg(t), "node1", "x", nil); !errors.Is(err, ErrUnreachable) {
			t.Errorf("call with another secret: %v", err)
		}
		if _, err := a.Open(bg(t), "node1", "x", nil); !errors.Is(err, ErrUnreachable) {
			t.Errorf("open with another secret: %v", err)
		}
		// The right secret, but another node's address.
		a = w.node(t, options(t, "node0"), nil)
		a.SetMember(Member{"node2", b.Addr()})
		if _, err := a.Call(bg(t), "node2", "x", nil); !errors.Is(err, ErrRefused) {
			t.Errorf("call of node2 at the address of node1: %v", err)
		}
	})
}

func TestOptionsAreChecked(t *testing.T) {
	for name, spoil := range map[string]func(*Options){
		"no name":      func(o *Options) { o.Self = "" },
		"long name":    func(o *Options) { o.Self = NodeID(strings.Repeat("x", 256)) },
		"short secret": func(o *Options) { o.Secret = secret[:15] },
		"twice":        func(o *Options) { o.Members = []Member{{"a", "x:1"}, {"a", "y:1"}} },
		"time":         func(o *Options) { o.CallTimeout = -1 },
	} {
		o := options(t, "node0")
		spoil(&o)
		if _, err := New(o); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	o := options(t, "node0")
	o.Listen = "256.1.1.1:0"
	n, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	if err := n.Start(); err == nil {
		t.Error("listens on an impossible address")
	}
}

// In a bubble a minute of silence takes no time.
func TestFaultsOfTheNetworkInMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := NewNetwork()
		w := world{"memory", network.New}
		ran := 0
		a, b := w.two(t, func(n Transport) {
			n.Handle("count", func(context.Context, NodeID, []byte) ([]byte, error) { ran++; return nil, nil })
			n.HandleStream("sink", func(_ context.Context, _ NodeID, _ []byte, s Stream) error {
				_, err := io.Copy(io.Discard, s)
				return err
			})
		})
		call := func() error { _, err := a.Call(context.Background(), "node1", "count", nil); return err }
		s, err := a.Open(context.Background(), "node1", "sink", nil)
		if err != nil {
			t.Fatal(err)
		}

		network.Drop("node0", "node1", 1)
		if err := call(); !errors.Is(err, context.DeadlineExceeded) || ran != 0 {
			t.Errorf("lost request: %v, ran %d", err, ran)
		}
		network.Drop("node1", "node0", 1)
		if err := call(); !errors.Is(err, context.DeadlineExceeded) || ran != 1 {
			t.Errorf("lost answer: %v, ran %d", err, ran)
		}
		release := network.Hold("node0", "node1")
		done := make(chan error, 1)
		go func() { done <- call() }()
		synctest.Wait()
		if ran != 1 {
			t.Error("a held request arrived")
		}
		release()
		if err := <-done; err != nil || ran != 2 {
			t.Errorf("released request: %v, ran %d", err, ran)
		}

		network.Cut("node0", "node1")
		if err := call(); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("cut: %v", err)
		}
		time.Sleep(2 * time.Minute) // of the bubble
		if a.Alive("node1") || b.Alive("node0") {
			t.Error("cut peers still count as alive")
		}
		if _, err := s.Write(make([]byte, 1)); !errors.Is(err, ErrDown) {
			t.Errorf("stream to a peer that is down: %v", err)
		}
		network.Heal("node0", "node1")
		if err := call(); err != nil || !a.Alive("node1") {
			t.Errorf("healed: %v", err)
		}

		network.Freeze("node1")
		if err := call(); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("frozen: %v", err)
		}
		network.Thaw("node1")

		s, err = a.Open(context.Background(), "node1", "sink", nil)
		if err != nil {
			t.Fatal(err)
		}
		network.Kill("node1")
		if err := call(); !errors.Is(err, ErrUnreachable) || errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("killed: %v", err)
		}
		if _, err := s.Read(make([]byte, 1)); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("stream to a killed peer: %v", err)
		}
		a.Close()
		b.Close()
	})
}
