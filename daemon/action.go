package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/scrfs/scrfs/catalog"
	"github.com/scrfs/scrfs/lifecycle"
	"github.com/scrfs/scrfs/peer"
	"github.com/scrfs/scrfs/redset"
	"github.com/scrfs/scrfs/scr"
)

// Calls by which the leader asks the nodes for their part in an action.
const (
	callFreeze  = "dataset.freeze"  // datasetRequest → []cachedFile
	callProtect = "dataset.protect" // protectRequest → ()
	callFlush   = "dataset.flush"   // datasetRequest → ()
	callEvict   = "dataset.evict"   // datasetRequest → ()
	callHold    = "dataset.hold"    // datasetRequest → []xor.Header: what this node has of it
	callRebuild = "dataset.rebuild" // rebuildRequest → ()
	callBlock   = "dataset.block"   // blockRequest → block
)

// datasetRequest names a dataset and the generation the leader means.
type datasetRequest struct {
	ID  scr.DatasetID
	Gen int
}

// actionTimeout bounds one try of an action by a node that does not answer;
// copying to a slow prefix directory may rightly take long.
const actionTimeout = 24 * time.Hour

// act carries out an action and reports how it went. It returns at once.
func (n *Node) act(a lifecycle.Action) {
	n.wg.Add(1)
	go func() {
		defer n.wg.Done()
		ctx, cancel := context.WithTimeout(n.ctx, actionTimeout)
		defer cancel()
		ev := lifecycle.Event{Dataset: a.Dataset, Gen: a.Gen, Node: a.Node}
		var err error
		switch a.Kind {
		case lifecycle.DoSeal:
			ev.Kind = lifecycle.Sealed
			err = n.seal(ctx, a, &ev)
		case lifecycle.DoProtect:
			ev.Kind = lifecycle.Protected
			err = n.protect(ctx, a, &ev)
		case lifecycle.DoFlush:
			ev.Kind = lifecycle.Flushed
			err = n.flush(ctx, a)
		case lifecycle.DoPublish:
			ev.Kind = lifecycle.Published
			err = n.publish(ctx, a)
		case lifecycle.DoEvict, lifecycle.DoDrop:
			ev.Kind = lifecycle.Evicted
			err = n.evict(ctx, a)
		case lifecycle.DoRebuild:
			ev.Kind = lifecycle.Rebuilt
			err = n.rebuild(ctx, a, &ev)
			ev.Final = errors.Is(err, scr.ErrUnrecoverable)
		}
		if ctx.Err() != nil {
			return // the node stops; the next leader does it again
		}
		log := n.log.With(slog.String("action", string(a.Kind)), slog.Int64("dataset", int64(a.Dataset)))
		if err != nil {
			ev.Err = err.Error()
			log.Warn("action has not succeeded", slog.Any("err", err))
		} else {
			log.Info("action done")
		}
		n.group.report(ev)
	}()
}

// askAll calls several nodes at the same time and hands each answer to take,
// one at a time. It returns all errors, each naming its node.
func (n *Node) askAll(ctx context.Context, nodes []string, call string, req any, take func(node string, reply []byte) error) error {
	b, err := encodeGob(req)
	if err != nil {
		return err
	}
	var mu sync.Mutex
	var errs []error
	var wg sync.WaitGroup
	for _, node := range nodes {
		wg.Add(1)
		go func() {
			defer wg.Done()
			reply, err := n.ask(ctx, node, call, b)
			mu.Lock()
			defer mu.Unlock()
			if err == nil && take != nil {
				err = take(node, reply)
			}
			if err != nil {
				errs = append(errs, fmt.Errorf("node %s: %w", node, err))
			}
		}()
	}
	wg.Wait()
	return errors.Join(errs...)
}

// ask calls a node, itself without the network.
func (n *Node) ask(ctx context.Context, node, call string, req []byte) ([]byte, error) {
	if peer.NodeID(node) == n.group.self {
		return n.calls[call](ctx, n.group.self, req)
	}
	return n.transport.Call(ctx, peer.NodeID(node), call, req)
}

// liveNodes are the nodes that follow, and this one, which leads.
func (n *Node) liveNodes() []string {
	n.group.mu.Lock()
	defer n.group.mu.Unlock()
	nodes := []string{string(n.group.self)}
	for node := range n.group.followers {
		nodes = append(nodes, string(node))
	}
	return nodes
}

// inodesOf returns the inodes of a dataset and their paths.
func (n *Node) inodesOf(id scr.DatasetID) (inodes []*catalog.Inode, paths []string) {
	n.group.view(func(t *catalog.State, _ *lifecycle.Machine) {
		for _, i := range t.Dataset(id) {
			p, ok := t.Path(i)
			if !ok {
				continue
			}
			inodes, paths = append(inodes, i.Copy()), append(paths, p)
		}
	})
	return inodes, paths
}

// holders are the nodes that own files of a dataset.
func holders(inodes []*catalog.Inode) []string {
	seen := map[string]bool{}
	var nodes []string
	for _, i := range inodes {
		if i.IsRegular() && !seen[i.Owner] {
			seen[i.Owner] = true
			nodes = append(nodes, i.Owner)
		}
	}
	return nodes
}

// freeze asks the owners of a dataset's files for what they hold; it fails if
// any file is still open for writing.
func (n *Node) freeze(ctx context.Context, a lifecycle.Action) (planInput, error) {
	in := planInput{Held: map[catalog.Ino]cachedFile{}, Nodes: n.liveNodes(), PrefixDir: n.opts.Prefix, Sets: n.opts.Sets, Groups: n.opts.FailureGroups}
	in.Inodes, in.Paths = n.inodesOf(a.Dataset)
	err := n.askAll(ctx, holders(in.Inodes), callFreeze, datasetRequest{a.Dataset, a.Gen}, func(_ string, reply []byte) error {
		var held []cachedFile
		if err := decodeGob(reply, &held); err != nil {
			return err
		}
		for _, f := range held {
			in.Held[f.Ino] = f
		}
		return nil
	})
	return in, err
}

func (n *Node) seal(ctx context.Context, a lifecycle.Action, ev *lifecycle.Event) error {
	in, err := n.freeze(ctx, a)
	if err != nil {
		return fmt.Errorf("freeze: %w", err)
	}
	ev.Nodes, ev.Empty = holders(in.Inodes), len(in.Inodes) == 0
	for _, f := range in.Held {
		ev.Files++
		ev.SizeBytes += f.SizeBytes
		if f.Spilled {
			ev.Spilled++
			ev.SpilledBytes += f.SizeBytes
		}
	}
	return nil
}

func (n *Node) protect(ctx context.Context, a lifecycle.Action, ev *lifecycle.Event) error {
	p, err := n.plan(ctx, a)
	if err != nil {
		return err
	}
	sets, err := p.setPlans()
	if err != nil {
		return err
	}
	ranksOf := map[string][]scr.Rank{}
	for r, node := range p.NodeOf {
		ranksOf[node] = append(ranksOf[node], r)
	}
	var nodes []string
	for node := range ranksOf {
		nodes = append(nodes, node)
	}
	req := protectRequest{Gen: a.Gen, Plan: p, Sets: sets, PieceBytes: n.opts.EncodeBytes}
	if err := n.askAll(ctx, nodes, callProtect, req, nil); err != nil {
		return fmt.Errorf("protect: %w", err)
	}
	ev.Scheme = n.opts.Sets.Scheme.String()
	if len(sets) == 0 {
		ev.Scheme = scr.Single.String()
		if n.opts.Sets.Scheme != scr.Single {
			ev.Err = "no redundancy was possible"
			ev.Final = true
		}
	}
	layout := p.layout()
	return n.prefix.Do(func() error { return n.index.MarkCached(ctx, p.Dataset.ID, layout.Dir) })
}

func (n *Node) plan(ctx context.Context, a lifecycle.Action) (plan, error) {
	in, err := n.freeze(ctx, a)
	if err != nil {
		return plan{}, fmt.Errorf("freeze: %w", err)
	}
	d, ok := n.dataset(a.Dataset)
	if !ok {
		return plan{}, fmt.Errorf("dataset %d: %w", a.Dataset, scr.ErrNotFound)
	}
	in.Dataset = n.descriptorOf(d)
	if d.Spilled > 0 {
		// On its way to the prefix directory; redundancy needs room as well.
		in.Sets.Scheme = scr.Single
	}
	p, warnings, err := makePlan(in)
	for _, w := range warnings {
		n.warnSet(w)
	}
	return p, err
}

// warnSet tells once, not for every dataset, that ranks are not protected.
func (n *Node) warnSet(w redset.Warning) {
	if _, told := n.warned.LoadOrStore(w.String(), true); !told {
		n.log.Warn("redundancy is less than was asked for", slog.String("why", w.String()))
	}
}

func (n *Node) dataset(id scr.DatasetID) (lifecycle.Dataset, bool) {
	n.group.mu.Lock()
	defer n.group.mu.Unlock()
	return n.group.lives.Dataset(id)
}

func (n *Node) descriptorOf(d lifecycle.Dataset) scr.Dataset {
	return scr.Dataset{
		ID: d.ID, Name: scr.DatasetName(d.ID), CreatedMicros: d.LastWrite / 1000, User: n.opts.User, JobID: n.opts.JobID,
		JobName: n.opts.JobName, Cluster: n.opts.Cluster, Checkpoint: d.Checkpoint, Output: d.Checkpoint == 0,
	}
}
