package daemon

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/scrfs/scrfs/catalog"
	"github.com/scrfs/scrfs/fusefs"
	"github.com/scrfs/scrfs/lifecycle"
	"github.com/scrfs/scrfs/peer"
)

// apps remembers which applications, and which of their threads, were here
// before, so that a new one is told from those that go on when a writer was
// killed.
//
// Locks: announcing before mu, which guards both sets and is held for no call.
type apps struct {
	announcing sync.Mutex // held while an application is announced: its other processes wait

	mu      sync.Mutex
	known   map[string]struct{}
	threads map[uint32]struct{} // of known applications
}

// maxThreads bounds the threads remembered; those forgotten are asked again.
const maxThreads = 1 << 16

func newApps() *apps { return &apps{known: map[string]struct{}{}, threads: map[uint32]struct{}{}} }

func (a *apps) knowsThread(tid uint32) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	_, ok := a.threads[tid]
	return ok
}

// enter notes a thread and tells whether its application is new.
func (a *apps) enter(app string, tid uint32) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.threads) >= maxThreads {
		clear(a.threads)
	}
	a.threads[tid] = struct{}{}
	_, known := a.known[app]
	a.known[app] = struct{}{}
	return !known
}

// comes notes a thread; if its application is new, announce is called before
// any other thread of it gets on.
func (a *apps) comes(app string, tid uint32, announce func()) {
	a.announcing.Lock()
	defer a.announcing.Unlock()
	if a.enter(app, tid) {
		announce()
	}
}

// forgetThreads is for when a process has ended: its number may be given again.
func (a *apps) forgetThreads() {
	a.mu.Lock()
	defer a.mu.Unlock()
	clear(a.threads)
}

// Visit is told of a caller before it looks anything up. The first time an
// application does, what a killed one left half done leaves the catalogue
// before the answer is given.
func (s namespace) Visit(ctx context.Context, c fusefs.Caller) {
	if c.PID != 0 && !s.n.apps.knowsThread(c.PID) {
		s.seen(ctx, c)
	}
}

// seen tells the job of an application that is new.
func (s namespace) seen(ctx context.Context, c fusefs.Caller) {
	app := s.n.app(c)
	if app == "" || s.n.apps.knowsThread(c.PID) {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), proposeTimeout)
	defer cancel()
	s.n.apps.comes(app, c.PID, func() { s.n.newApp(ctx, app, s.n.ident.Of(c.PID).Rank >= 0) })
	s.n.awaitVanished(ctx, app)
}

// newApp announces an application that this node has not seen before, when all
// that died before it came are known to be dead. Those of no launcher are many,
// and run on this node alone: they are announced when it matters.
func (n *Node) newApp(ctx context.Context, app string, ranked bool) {
	known := false
	n.group.view(func(_ *catalog.State, m *lifecycle.Machine) { known = m.AppSeen(app) })
	if known {
		return
	}
	n.writers.settle(ctx)
	if ranked {
		n.settleOthers(ctx)
	}
	suspect := false
	n.group.view(func(_ *catalog.State, m *lifecycle.Machine) { suspect = m.HasSuspect() })
	if !ranked && !suspect {
		return
	}
	if err := n.group.announce(ctx, lifecycle.Event{Kind: lifecycle.App, App: app}); err != nil {
		n.log.Warn("a new application was not announced", slog.String("app", app), slog.Any("err", err))
	}
}

// callSettle asks a node to tell of all its writers that have ended.
const callSettle = "writers.settle" // datasetRequest → ()

// settleTimeout bounds how long a new application waits for a node that does
// not answer.
const settleTimeout = 2 * time.Second

func (n *Node) settleOthers(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, settleTimeout)
	defer cancel()
	var others []string
	for _, m := range n.transport.Members() {
		if m.Name != n.group.self && n.transport.Alive(m.Name) {
			others = append(others, string(m.Name))
		}
	}
	if err := n.askAll(ctx, others, callSettle, datasetRequest{}, nil); err != nil {
		n.log.Info("not every node has told of writers that were killed", slog.Any("err", err))
	}
}

func (n *Node) serveSettle(ctx context.Context, _ peer.NodeID, _ []byte) ([]byte, error) {
	n.writers.settle(ctx)
	return nil, nil
}

// awaitVanished returns when nothing that another application left half done
// is on its way out of the catalogue.
func (n *Node) awaitVanished(ctx context.Context, app string) {
	defer n.group.wakeOn(ctx)()
	n.group.mu.Lock()
	defer n.group.mu.Unlock()
	for ctx.Err() == nil && n.ctx.Err() == nil && n.group.lives.Vanishing(app) {
		n.group.changed.Wait()
	}
}
