package scavenger

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"syscall"
	"time"

	"github.com/scrfs/scrfs/indexer"
	"github.com/scrfs/scrfs/scr"
)

// rescueAll carries out a plan, oldest dataset first. If a checkpoint was
// skipped for want of time and nothing newer came through, it is tried after
// all.
func (r *run) rescueAll(ctx context.Context, in Input, p Plan) {
	var late []Rescue // skipped for want of time, oldest first
	for _, s := range p.Skipped {
		if s.Why == NoTime {
			late = append(late, s.Rescue)
		}
	}
	for todo := p.Rescue; len(todo) > 0 && ctx.Err() == nil; todo = todo[1:] {
		if n := r.tooMany(todo); n > 0 {
			late, todo = append(late, todo[:n]...), todo[n:]
		}
		r.try(ctx, in, todo[0])
	}
	for len(late) > 0 && len(r.out.Published) == 0 && ctx.Err() == nil {
		last := len(late) - 1
		r.try(ctx, in, late[last])
		late = late[:last]
	}
}

// tooMany is how many of the oldest datasets there is no time for, by what has
// been measured so far.
func (r *run) tooMany(todo []Rescue) int {
	if r.TimeLeft <= 0 || r.rate == 0 {
		return 0
	}
	left := r.TimeLeft - r.Now().Sub(r.began)
	n := Fit(todo, left, r.rate)
	for _, d := range todo[:n] {
		r.Report(Step{
			Kind: StepSkipped, Dataset: d.Dataset.ID, Name: d.Dir, Why: NoTime,
			Text: fmt.Sprintf("is left where it is: copying it leaves no time for newer datasets, %v are left", left.Round(time.Second)),
		})
	}
	return n
}

// try rescues one dataset and reports how that ended.
func (r *run) try(ctx context.Context, in Input, d Rescue) {
	id := d.Dataset.ID
	err := r.rescue(ctx, in, d)
	if err == nil {
		r.out.Published = append(r.out.Published, id)
		r.Report(Step{Kind: StepPublish, Dataset: id, Name: d.Dir, Text: "is published as " + d.Dir})
		return
	}
	err = fmt.Errorf("dataset %d: %w", id, err)
	r.out.Failed = append(r.out.Failed, Failure{id, err})
	text := "is not rescued: " + errors.Unwrap(err).Error()
	if ctx.Err() != nil {
		text += "; what was copied stays for the next run"
	} else if len(d.Staged) > 0 {
		text += fmt.Sprintf("; what was copied of it stays in %s, which alone has %s", r.x.StageDir(id), rankList(d.Staged))
	} else if derr := r.x.DropStage(id); derr != nil {
		text += "; " + derr.Error()
	}
	r.Report(Step{Kind: StepFailed, Dataset: id, Name: d.Dir, Warning: true, Text: text})
}

// rescue copies, rebuilds and publishes one dataset.
func (r *run) rescue(ctx context.Context, in Input, d Rescue) error {
	id := d.Dataset.ID
	if d.DropStage {
		if err := r.x.DropStage(id); err != nil {
			return err
		}
	}
	d, err := r.copyAll(ctx, in, d)
	if err != nil {
		return err
	}
	if len(d.Rebuild) > 0 {
		if err := r.rebuild(ctx, d); err != nil {
			return err
		}
		r.Report(Step{Kind: StepRebuilt, Dataset: id, Ranks: d.Rebuild, Text: "has " + rankList(d.Rebuild) + " again, rebuilt from the others"})
	}
	if err := r.complete(ctx, d); err != nil {
		return err
	}
	// Files that this run has copied or rebuilt were compared on the way. What
	// a daemon copied before it ended was not seen by anybody since.
	if err := r.x.PublishStage(ctx, id, indexer.PublishOptions{VerifyCRC: len(d.Staged) > 0}); err != nil {
		return err
	}
	// The cache keeps it. A daemon that was killed may not have said so yet.
	if err := r.x.MarkCached(ctx, id, d.Dir); err != nil {
		return err
	}
	return r.x.MarkFlushed(ctx, id)
}

// copyAll lets all nodes copy what they have. When a node or a rank fails, it
// decides anew with what is left, until nothing more fails. It returns the
// rescue as it came to be.
func (r *run) copyAll(ctx context.Context, in Input, d Rescue) (Rescue, error) {
	c := newCopying(in, d.Dataset.ID)
	var errs []error
	for {
		if _, err := r.x.OpenStage(d.Dataset.ID); err != nil {
			return d, err
		}
		failed := c.round(ctx, r, d)
		if ctx.Err() != nil {
			return d, context.Cause(ctx)
		}
		errs = append(errs, failed...)
		if i := slices.IndexFunc(failed, noRoom); i >= 0 {
			return d, failed[i] // a rebuild needs room as well
		}
		if len(failed) == 0 && c.done(d) {
			return d, nil
		}
		staged, err := r.staged(ctx, d.Dataset.ID, d.Dir)
		if err != nil {
			return d, err
		}
		next, why, reason := c.decide(staged)
		if why != "" {
			return d, errors.Join(append([]error{fmt.Errorf("%s: %w", reason, scr.ErrUnrecoverable)}, errs...)...)
		}
		d = next
	}
}

func noRoom(err error) bool { return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) }

// verdict is the error of a run; see Run.
func (r *run) verdict(p Plan) error {
	var lost, other []error
	for _, s := range p.Skipped {
		err := fmt.Errorf("dataset %d %s", s.ID, s.Reason)
		switch {
		case s.Why == Lost:
			lost = append(lost, fmt.Errorf("%w: %w", err, scr.ErrUnrecoverable))
		case r.Only != s.ID:
		case s.Why == NotInCache:
			other = append(other, fmt.Errorf("%w: %w", err, scr.ErrNotFound))
		case s.Why == Suspect:
			other = append(other, fmt.Errorf("%w: %w", err, scr.ErrIncomplete))
		case s.Why == Older:
			other = append(other, err)
		}
	}
	for _, f := range r.out.Failed {
		if errors.Is(f.Err, scr.ErrUnrecoverable) {
			lost = append(lost, f.Err)
		} else {
			other = append(other, f.Err)
		}
	}
	if len(other) > 0 {
		return errors.Join(other...)
	}
	if len(r.out.Published) == 0 {
		return errors.Join(lost...)
	}
	return nil
}
