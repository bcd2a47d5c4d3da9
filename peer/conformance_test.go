package peer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var secret = bytes.Repeat([]byte("secret!!"), 4)

// world makes Transports that can reach each other.
type world struct {
	name string
	make func(Options) (Transport, error)
}

func worlds() []world {
	memory := NewNetwork()
	return []world{
		{"tls", New},
		{"plain", func(o Options) (Transport, error) { o.Plain = true; return New(o) }},
		{"memory", memory.New},
	}
}

// everywhere runs one promise over each kind of network.
func everywhere(t *testing.T, promise func(t *testing.T, w world)) {
	for _, w := range worlds() {
		t.Run(w.name, func(t *testing.T) { promise(t, w) })
	}
}

// quiet makes a warning fail the test.
type quiet struct{ t testing.TB }

func (q quiet) Enabled(_ context.Context, l slog.Level) bool { return l >= slog.LevelWarn }
func (q quiet) Handle(_ context.Context, r slog.Record) error {
	q.t.Errorf("log: %s", r.Message)
	return nil
}
func (q quiet) WithAttrs([]slog.Attr) slog.Handler { return q }
func (q quiet) WithGroup(string) slog.Handler      { return q }

func options(t testing.TB, self NodeID) Options {
	return Options{
		Self: self, Listen: "127.0.0.1:0", Secret: secret,
		CallTimeout: 20 * time.Second, DownAfter: time.Minute,
		Log: slog.New(quiet{t}),
	}
}

func (w world) node(t testing.TB, o Options, prepare func(Transport)) Transport {
	t.Helper()
	n, err := w.make(o)
	if err != nil {
		t.Fatal(err)
	}
	if prepare != nil {
		prepare(n)
	}
	if err := n.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { n.Close() })
	return n
}

func acquaint(nodes ...Transport) {
	for _, a := range nodes {
		for _, b := range nodes {
			a.SetMember(Member{b.Self(), b.Addr()})
		}
	}
}

// two makes node1, as prepared, and node0 that knows it.
func (w world) two(t testing.TB, prepare func(Transport)) (node0, node1 Transport) {
	node1 = w.node(t, options(t, "node1"), prepare)
	node0 = w.node(t, options(t, "node0"), prepare)
	acquaint(node0, node1)
	return node0, node1
}

func bg(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func echo(_ context.Context, from NodeID, req []byte) ([]byte, error) {
	return append([]byte(from+":"), req...), nil
}

func TestCallReachesTheHandlerAndComesBack(t *testing.T) {
	everywhere(t, func(t *testing.T, w world) {
		a, b := w.two(t, func(n Transport) { n.Handle("echo", echo) })
		for _, to := range []NodeID{"node1", "node0"} {
			for _, size := range []int{0, 1, 4 << 20, 9 << 20} {
				req := bytes.Repeat([]byte{'x'}, size)
				got, err := a.Call(bg(t), to, "echo", req)
				if err != nil || string(got) != "node0:"+string(req) {
					t.Fatalf("call %s with %d bytes: got %d bytes, %v", to, size, len(got), err)
				}
			}
		}
		if got, err := b.Call(bg(t), "node0", "echo", nil); err != nil || string(got) != "node1:" {
			t.Fatalf("call back: %q, %v", got, err)
		}
	})
}

func TestCallsRunSideBySide(t *testing.T) {
	everywhere(t, func(t *testing.T, w world) {
		const n = 300
		var gate sync.WaitGroup
		gate.Add(n)
		a, _ := w.two(t, func(tr Transport) {
			tr.Handle("meet", func(ctx context.Context, _ NodeID, req []byte) ([]byte, error) {
				gate.Done()
				gate.Wait() // all are here at once, or none gets out
				return req, ctx.Err()
			})
		})
		var wg sync.WaitGroup
		for i := range n {
			wg.Go(func() {
				req := fmt.Append(nil, i)
				if got, err := a.Call(bg(t), "node1", "meet", req); err != nil || !bytes.Equal(got, req) {
					t.Errorf("call %d: %q, %v", i, got, err)
				}
			})
		}
		wg.Wait()
	})
}

var errOwn = errors.New("dataset is not whole")

func init() { RegisterError("peer_test.own", errOwn) }

func TestErrorsKeepTheirMeaningOverTheWire(t *testing.T) {
	everywhere(t, func(t *testing.T, w world) {
		cause := map[string]error{
			"own":   fmt.Errorf("dataset 18: rank 3: %w", errOwn),
			"path":  &fs.PathError{Op: "open", Path: "/p/x", Err: syscall.ENOSPC},
			"exist": fmt.Errorf("epoch 3: %w", fs.ErrExist),
			"plain": errors.New("just words"),
		}
		a, _ := w.two(t, func(n Transport) {
			n.Handle("bad", func(_ context.Context, _ NodeID, req []byte) ([]byte, error) {
				return []byte("never seen"), cause[string(req)]
			})
		})
		for _, to := range []NodeID{"node1", "node0"} {
			for name, want := range map[string]error{"own": errOwn, "path": syscall.ENOSPC, "exist": fs.ErrExist, "plain": nil} {
				got, err := a.Call(bg(t), to, "bad", []byte(name))
				remote, ok := errors.AsType[*RemoteError](err)
				if got != nil || !ok || remote.From != to || remote.Message != cause[name].Error() {
					t.Errorf("%s on %s: %q, %v", name, to, got, err)
				}
				if want != nil && !errors.Is(err, want) {
					t.Errorf("%s on %s: %v is no longer %v", name, to, err, want)
				}
				if errors.Is(err, ErrUnreachable) || name != "own" && errors.Is(err, errOwn) {
					t.Errorf("%s on %s: %v means too much", name, to, err)
				}
			}
			if _, err := a.Call(bg(t), to, "nothing", nil); !errors.Is(err, ErrNoHandler) {
				t.Errorf("unknown method on %s: %v", to, err)
			}
		}
		if _, err := a.Call(bg(t), "node9", "bad", nil); !errors.Is(err, ErrUnknownMember) {
			t.Errorf("unknown member: %v", err)
		}
		if _, err := a.Call(bg(t), "node1", "bad", make([]byte, MaxCallBytes+1)); !errors.Is(err, ErrTooLarge) {
			t.Errorf("too large: %v", err)
		}
	})
}

func TestCallIsBoundedByItsContext(t *testing.T) {
	everywhere(t, func(t *testing.T, w world) {
		entered, ended := make(chan struct{}, 2), make(chan error, 2)
		a, _ := w.two(t, func(n Transport) {
			n.Handle("wait", func(ctx context.Context, _ NodeID, _ []byte) ([]byte, error) {
				entered <- struct{}{}
				<-ctx.Done()
				ended <- ctx.Err()
				return nil, ctx.Err()
			})
		})
		ctx, cancel := context.WithCancel(context.Background())
		go func() { <-entered; cancel() }()
		if _, err := a.Call(ctx, "node1", "wait", nil); !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled call: %v", err)
		}
		<-ended // the handler hears of it
		ctx, cancel = context.WithTimeout(context.Background(), 30*time.Millisecond)
		defer cancel()
		if _, err := a.Call(ctx, "node1", "wait", nil); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("call out of time: %v", err)
		}
	})
}

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
					if err == io.EOF {
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
