package scavenger

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/scrfs/scrfs/indexer"
	"github.com/scrfs/scrfs/internal/disk"
	"github.com/scrfs/scrfs/scr"
)

// Options is what Run works on and with.
type Options struct {
	Prefix    disk.FS
	PrefixDir string // absolute
	// Nodes are all nodes of the job, Down those of them that are lost.
	Nodes, Down []string
	// Only, TimeLeft and Rate are as in Input.
	Only     scr.DatasetID
	TimeLeft time.Duration
	Rate     int64
	// Width is how many nodes are worked on at a time, at least 1.
	Width int
	// DryRun ends after the plan; nothing is changed anywhere.
	DryRun bool
	// List and Copy run Holdings and Copy on a node. They are called from
	// several goroutines at once. An error that is scr.ErrNotFound means that
	// the node has no control directory, one that is syscall.ENOSPC that the
	// prefix directory is full.
	List func(ctx context.Context, node string) (NodeCache, error)
	Copy func(ctx context.Context, node string, o CopyOrder) (Copied, error)
	// Report is told each step, one at a time.
	Report func(Step)
	// Now is the clock for TimeLeft.
	Now func() time.Time
}

// CopyOrder says what a node shall copy.
type CopyOrder struct {
	Dataset scr.DatasetID
	// Ranks are those to be copied; nil is all that the node has.
	Ranks []scr.Rank
	// Sets are the redundancy sets of which the redundancy files are copied as
	// well; AllSets is all of them.
	Sets    []scr.Rank
	AllSets bool
	// Failed are the nodes whose files are copied from a partner's copy.
	Failed []string
}

// Outcome is what came of a run.
type Outcome struct {
	Up        int // nodes that answered
	Published []scr.DatasetID
	Failed    []Failure
}

// Failure is a dataset that could have been expected and is not there.
type Failure struct {
	ID  scr.DatasetID
	Err error
}

// ErrNoNode: not one node answers.
var ErrNoNode = errors.New("no node answers")

// Run rescues what can be rescued. The error says what could not:
//
//   - none, if every dataset of the plan is published, or nothing was to be
//     done. A dataset of which more is lost than can be mended is only reported
//     if another was published in this run: the prefix directory then has a
//     newer one than before.
//   - scr.ErrUnrecoverable, if one is lost and none was published.
//   - any other, if a dataset that is whole could not be brought over: the
//     first such error, joined with the others.
//   - ErrNoNode if no node answers, scr.ErrNotFound if none of them has a
//     control directory.
//
// A dataset that was still being written when the job ended is no loss.
func Run(ctx context.Context, o Options) (Outcome, error) {
	r := run{Options: o, x: indexer.New(o.Prefix, o.PrefixDir, indexer.Options{}), began: o.Now()}
	if err := r.rollForward(ctx); err != nil {
		return r.out, err
	}
	caches, err := r.listAll(ctx)
	if err != nil {
		return r.out, err
	}
	in, err := r.input(ctx, caches)
	if err != nil {
		return r.out, err
	}
	p := Decide(in)
	r.tell(p)
	if o.DryRun {
		return r.out, nil
	}
	r.rescueAll(ctx, in, p)
	r.tellCurrent()
	if err := ctx.Err(); err != nil {
		return r.out, context.Cause(ctx)
	}
	return r.out, r.verdict(p)
}

// run is the state of Run.
type run struct {
	Options
	x     *indexer.Indexer
	began time.Time
	down  []string // lost nodes, those of the options first
	out   Outcome
	rate  int64 // bytes per second and node, as measured; 0 not yet
}

// rollForward ends what a publication that was cut short has begun.
func (r *run) rollForward(ctx context.Context) error {
	if r.DryRun {
		return nil
	}
	done, err := r.x.RollForward(ctx)
	for _, id := range done {
		if err == nil {
			err = r.x.MarkFlushed(ctx, id)
		}
		r.out.Published = append(r.out.Published, id)
		r.Report(Step{Kind: StepRolled, Dataset: id, Text: "was just being published: done"})
	}
	return err
}

// listAll asks the live nodes what they have. Nodes that do not answer are lost
// as those are that the caller named.
func (r *run) listAll(ctx context.Context) ([]NodeCache, error) {
	r.down = append([]string(nil), r.Down...)
	asked := without(r.Nodes, r.Down)
	caches := make([]NodeCache, len(asked))
	errs := make([]error, len(asked))
	each(r.Width, len(asked), func(i int) {
		if caches[i], errs[i] = r.List(ctx, asked[i]); errs[i] == nil {
			errs[i] = caches[i].Validate()
		}
	})
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	var have []NodeCache
	var missing error
	for i, node := range asked {
		switch {
		case errors.Is(errs[i], scr.ErrNotFound):
			r.out.Up++
			missing = &NodeError{node, errs[i]}
			r.Report(Step{Kind: StepListed, Node: node, Text: "has no control directory of the job"})
		case errs[i] != nil:
			r.down = append(r.down, node)
			r.Report(Step{Kind: StepDown, Node: node, Warning: true, Text: "counts as lost: " + errs[i].Error()})
		default:
			r.out.Up++
			caches[i].Node = node
			have = append(have, caches[i])
			r.Report(Step{Kind: StepListed, Node: node, Text: "has " + count(len(caches[i].Datasets), "dataset") + " in cache"})
		}
	}
	if r.out.Up == 0 {
		for i, err := range errs {
			var answer remoteError
			if errors.As(err, &answer) { // it can be reached: the error is its own
				return nil, &NodeError{asked[i], err}
			}
		}
		return nil, fmt.Errorf("%d of %d nodes are lost: %w", len(r.down), len(r.Nodes), ErrNoNode)
	}
	if len(have) == 0 {
		return nil, missing
	}
	return have, nil
}

// tell reports the plan.
func (r *run) tell(p Plan) {
	for _, s := range p.Skipped {
		r.Report(Step{
			Kind: StepSkipped, Dataset: s.ID, Name: s.Name, Why: s.Why, Warning: s.Why == Lost || s.Why == NotInCache,
			Text: "is left where it is: it " + s.Reason,
		})
	}
	for _, d := range p.Rescue {
		text := fmt.Sprintf("(%s) will be copied from %s", d.Dir, count(len(d.Sources), "node"))
		if len(d.Staged) > 0 {
			text += fmt.Sprintf(", %s had been copied by the job", rankList(d.Staged))
		}
		if len(d.Rebuild) > 0 {
			text += fmt.Sprintf(", %s will be rebuilt", rankList(d.Rebuild))
		}
		r.Report(Step{Kind: StepPlanned, Dataset: d.Dataset.ID, Name: d.Dir, Ranks: d.Rebuild, Text: text})
	}
	if len(p.Skipped)+len(p.Rescue) == 0 {
		r.Report(Step{Kind: StepPlanned, Text: "no cache holds a dataset: nothing to do"})
	}
}

// tellCurrent says where a restart begins after this run.
func (r *run) tellCurrent() {
	if len(r.out.Published) == 0 {
		return
	}
	index, err := scr.ReadIndex(r.Prefix, own)
	if err != nil {
		return // it was read and written a moment ago; the datasets are there
	}
	if name, ok := index.Current(); ok {
		r.Report(Step{Kind: StepCurrent, Name: name, Text: "a restart begins from " + name})
	}
}

// each calls f for 0 to n-1, at most width of them at a time.
func each(width, n int, f func(i int)) {
	var wg sync.WaitGroup
	slots := make(chan struct{}, max(width, 1))
	for i := range n {
		slots <- struct{}{}
		wg.Add(1)
		go func() {
			defer wg.Done()
			f(i)
			<-slots
		}()
	}
	wg.Wait()
}

func without(all, some []string) []string {
	skip := map[string]bool{}
	for _, s := range some {
		skip[s] = true
	}
	var rest []string
	for _, a := range all {
		if !skip[a] {
			rest = append(rest, a)
		}
	}
	return rest
}
