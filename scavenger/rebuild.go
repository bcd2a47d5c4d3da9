package scavenger

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/scrfs/scrfs/scr"
)

// rebuild brings the lost ranks back in the stage, one set after the other;
// within a set the rebuild is as parallel as the machine.
func (r *run) rebuild(ctx context.Context, d Rescue) error {
	id := d.Dataset.ID
	stage, err := r.Prefix.Sub(r.x.StageDir(id))
	if err != nil {
		return err
	}
	x, err := r.stage(id)
	if err != nil {
		return err
	}
	for _, set := range d.Sets {
		const whicheverIsLost = scr.Rank(-1)
		done, err := x.Rebuild(ctx, own.Family, d.Dir, set, whicheverIsLost)
		if err != nil {
			return fmt.Errorf("rebuild %s: %w", rankList(d.Rebuild), err)
		}
		for _, b := range done {
			// What was in the way is half a copy of a node that failed.
			for _, name := range b.Kept {
				if err := stage.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
					return err
				}
			}
		}
	}
	return nil
}
