package peer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"sync"
	"syscall"
	"testing"
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

func (q quiet) WithGroup(string) slog.Handler { return q }

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
