package daemon

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/scrfs/scrfs/catalog"
	"github.com/scrfs/scrfs/control"
	"github.com/scrfs/scrfs/lifecycle"
	"github.com/scrfs/scrfs/peer"
	"github.com/scrfs/scrfs/scr"
)

// SourcePrefix stands before the control directory in the source of a mount,
// as mount(8) and /proc/self/mountinfo show it: commands find the daemon so.
const SourcePrefix = "scrfs:"

// Status is what a daemon tells of itself and its job.
type Status struct {
	Job               string          `json:"job"`
	Node              string          `json:"node"`
	PID               int             `json:"pid"`
	Leader            string          `json:"leader"`
	Epoch             int64           `json:"epoch"`
	Prefix            string          `json:"prefix"`
	Mountpoint        string          `json:"mountpoint"`
	Cache             string          `json:"cache"`
	Road              string          `json:"road"` // how data gets to the cache
	OpenFiles         int             `json:"open_files"`
	PrefixHungSeconds float64         `json:"prefix_hung_seconds"` // oldest call that has not come back
	Space             SpaceStatus     `json:"space"`
	Members           []MemberStatus  `json:"members"`
	Datasets          []DatasetStatus `json:"datasets"`
}

// MemberStatus is one node of the job.
type MemberStatus struct {
	Name  string `json:"name"`
	Addr  string `json:"addr"`
	Alive bool   `json:"alive"`
}

// DatasetStatus is one dataset; those that are finished are kept for a while.
type DatasetStatus struct {
	ID         scr.DatasetID    `json:"id"`
	Checkpoint scr.CheckpointID `json:"checkpoint"` // 0: output
	State      string           `json:"state"`
	Ended      bool             `json:"ended"` // no new name joins it
	Safe       bool             `json:"safe"`  // the loss of one node cannot lose it
	Published  bool             `json:"published"`
	Scheme     string           `json:"scheme"`
	Files      int64            `json:"files"`
	SizeBytes  int64            `json:"bytes"`
	Name       string           `json:"name"`
	Note       string           `json:"note"`
}

// Status tells how things stand.
func (n *Node) Status() Status {
	s := Status{
		Job: n.opts.JobID, Node: n.opts.Node, PID: os.Getpid(), Prefix: n.opts.Prefix, Mountpoint: n.opts.Mountpoint, Cache: n.opts.CacheDir,
		OpenFiles: n.files.count(), PrefixHungSeconds: n.prefix.Hung().Seconds(), Road: "passthrough",
	}
	s.Space = n.room.status()
	if ok, why := n.mount.Passthrough(); !ok {
		s.Road = "through the daemon: " + why
	}
	for _, m := range n.transport.Members() {
		s.Members = append(s.Members, MemberStatus{string(m.Name), m.Addr, n.transport.Alive(m.Name)})
	}
	n.group.view(func(t *catalog.State, lives *lifecycle.Machine) {
		s.Leader, s.Epoch = string(n.group.leader), n.group.epoch
		for _, d := range lives.Datasets() {
			st := datasetStatus(d, t.Dataset(d.ID))
			st.Ended = lives.Ended(d, n.group.now().UnixNano())
			// Until then the death of a writer can still undo it.
			st.Safe = st.Safe && st.Ended
			s.Datasets = append(s.Datasets, st)
		}
	})
	return s
}

func datasetStatus(d lifecycle.Dataset, inodes []*catalog.Inode) DatasetStatus {
	st := DatasetStatus{
		ID: d.ID, Checkpoint: d.Checkpoint, State: d.Status(), Safe: d.Safe(), Published: d.Published,
		Scheme: d.Scheme, Files: d.Files, SizeBytes: d.SizeBytes, Note: d.Err,
	}
	if st.Note == "" && d.Spilled > 0 {
		st.Note = fmt.Sprintf("cache too small: %d files of %d bytes went to the prefix directory", d.Spilled, d.SpilledBytes)
	}
	var names []string
	for _, r := range d.Roots {
		names = append(names, r.Path)
	}
	if d.Loose {
		for _, i := range inodes {
			if i.Parent.Ino == 0 && !i.IsDir() {
				names = append(names, i.Name)
				break
			}
		}
	}
	st.Name = strings.Join(names, " ")
	return st
}

// What WaitFor waits for.
const (
	WaitSealed    = "sealed"    // nothing is being written
	WaitProtected = "protected" // the loss of one node loses nothing
	WaitFlushed   = "flushed"   // all is on the prefix directory
)

// WaitFor returns when every dataset that can get there has reached a state.
// With WaitFlushed all complete datasets are flushed, whatever the interval.
func (n *Node) WaitFor(ctx context.Context, state string) error {
	reached := map[string]func(lifecycle.Dataset) bool{
		WaitSealed:    func(d lifecycle.Dataset) bool { return d.Complete() },
		WaitProtected: func(d lifecycle.Dataset) bool { return d.Complete() && d.Safe() },
		WaitFlushed:   func(d lifecycle.Dataset) bool { return d.Published },
	}[state]
	if reached == nil {
		return fmt.Errorf("state %q: want %s, %s or %s", state, WaitSealed, WaitProtected, WaitFlushed)
	}
	if state == WaitFlushed {
		if err := n.group.announce(ctx, lifecycle.Event{Kind: lifecycle.Want}); err != nil {
			return err
		}
	}
	defer n.group.wakeOn(ctx)()
	n.group.mu.Lock()
	defer n.group.mu.Unlock()
	for {
		left := slices.DeleteFunc(n.group.lives.Datasets(), func(d lifecycle.Dataset) bool {
			return d.Finished() || reached(d)
		})
		switch {
		case len(left) == 0:
			return nil
		case ctx.Err() != nil:
			return fmt.Errorf("%d datasets are not %s, the first is %d (%s): %w", len(left), state, left[0].ID, left[0].Status(), context.Cause(ctx))
		case n.ctx.Err() != nil:
			return fmt.Errorf("the daemon ends: %w", peer.ErrClosed)
		}
		n.group.changed.Wait()
	}
}

// serveControl answers the commands of this machine.
func (n *Node) serveControl() error {
	var err error
	n.control, err = control.Listen(n.opts.ControlDir, map[string]control.Handler{
		"status": func(context.Context, json.RawMessage) (any, error) { return n.Status(), nil },
		"wait": func(ctx context.Context, args json.RawMessage) (any, error) {
			var state string
			if err := json.Unmarshal(args, &state); err != nil {
				return nil, err
			}
			return nil, n.WaitFor(ctx, state)
		},
		"flush": func(ctx context.Context, _ json.RawMessage) (any, error) {
			return nil, n.group.announce(ctx, lifecycle.Event{Kind: lifecycle.Want})
		},
	})
	return err
}
