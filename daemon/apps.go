package daemon

import (
	"context"
	"log/slog"
	"sync"

	"github.com/scrfs/scrfs/catalog"
	"github.com/scrfs/scrfs/fusefs"
	"github.com/scrfs/scrfs/lifecycle"
)

// apps remembers which applications, and which of their threads, were here
// before, so that a new one is told from those that go on when a writer was
// killed. Mu guards both sets.
type apps struct {
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
	if app == "" || !s.n.apps.enter(app, c.PID) {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), proposeTimeout)
	defer cancel()
	s.n.writers.settle(ctx)
	known, suspect := false, false
	s.n.group.view(func(_ *catalog.State, m *lifecycle.Machine) { known, suspect = m.AppSeen(app), m.HasSuspect() })
	ranked := s.n.ident.Of(c.PID).Rank >= 0
	if known || !ranked && !suspect {
		return // processes of no launcher are many, and known by this node alone
	}
	if err := s.n.group.announce(ctx, lifecycle.Event{Kind: lifecycle.App, App: app}); err != nil {
		s.n.log.Warn("a new application was not announced", slog.String("app", app), slog.Any("err", err))
	}
}
