package daemon

import (
	"context"
	"log/slog"
	"sync"

	"github.com/scrfs/scrfs/catalog"
	"github.com/scrfs/scrfs/fusefs"
	"github.com/scrfs/scrfs/lifecycle"
	"github.com/scrfs/scrfs/resource"
	"github.com/scrfs/scrfs/scr"
)

// writers watches the processes on this node that have written, until they
// end: one that is killed between two files closes nothing that would tell.
//
// Locks: mu guards the map and the writers' datasets; it is not held while the
// job is told.
type writers struct {
	n *Node

	mu    sync.Mutex
	byPID map[int]*writer
}

type writer struct {
	watch    *resource.Watch
	app      string // set for a rank: its end is that of its application
	datasets map[scr.DatasetID]struct{}
	told     chan struct{} // closed when it has ended and the job knows how
}

func newWriters(n *Node) *writers { return &writers{n: n, byPID: map[int]*writer{}} }

// wrote notes that a caller has a file of a dataset open for writing.
func (w *writers) wrote(c fusefs.Caller, id scr.DatasetID) {
	who := w.n.ident.Of(c.PID)
	if who.PID == 0 {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.byPID == nil {
		return // the daemon stops
	}
	p := w.byPID[who.PID]
	if p == nil || p.watch.Ended() {
		watch, err := w.n.ident.Watch(who.PID)
		if err != nil {
			return // it has ended: its files were closed, and Flush has seen how
		}
		p = &writer{watch: watch, datasets: map[scr.DatasetID]struct{}{}, told: make(chan struct{})}
		if who.Top && who.Rank >= 0 {
			p.app = w.n.app(c)
		}
		w.byPID[who.PID] = p
		w.n.wg.Add(1)
		go w.await(who.PID, p)
	}
	if _, known := p.datasets[id]; !known {
		w.prune(p)
		p.datasets[id] = struct{}{}
	}
}

// prune forgets the datasets that have ended and are gone.
func (w *writers) prune(p *writer) {
	w.n.group.view(func(_ *catalog.State, m *lifecycle.Machine) {
		for id := range p.datasets {
			if d, ok := m.Dataset(id); !ok || d.Finished() || d.Published {
				delete(p.datasets, id)
			}
		}
	})
}

// await tells the job if a process was killed.
func (w *writers) await(pid int, p *writer) {
	defer w.n.wg.Done()
	defer close(p.told)
	status, err := p.watch.Wait()
	w.mu.Lock()
	if w.byPID[pid] == p {
		delete(w.byPID, pid)
	}
	w.n.apps.forgetThreads()
	datasets := p.datasets
	p.datasets = nil
	w.mu.Unlock()
	_ = p.watch.Close() // it may be closed already, by stop
	if w.n.ctx.Err() != nil {
		return
	}
	if err != nil {
		w.n.log.Info("how a writer ended is not known", slog.Int("process", pid), slog.Any("err", err))
		return
	}
	if !status.Signaled() {
		return
	}
	w.n.log.Warn("a process that writes datasets was killed", slog.Int("process", pid), slog.String("signal", status.Signal().String()))
	app := p.app
	if len(datasets) == 0 && app != "" {
		datasets = map[scr.DatasetID]struct{}{0: {}}
	}
	for id := range datasets {
		w.n.announceUntilHeard(lifecycle.Event{Kind: lifecycle.Killed, Dataset: id, App: app})
	}
}

// settle returns when the job knows of all that have ended by now.
func (w *writers) settle(ctx context.Context) {
	w.mu.Lock()
	var ended []*writer
	for _, p := range w.byPID {
		if p.watch.Ended() {
			ended = append(ended, p)
		}
	}
	w.mu.Unlock()
	for _, p := range ended {
		select {
		case <-p.told:
		case <-ctx.Done():
		}
	}
}

// stop ends all watches.
func (w *writers) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, p := range w.byPID {
		_ = p.watch.Close() // only waited on
	}
	w.byPID = nil
}
