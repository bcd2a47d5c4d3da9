package config

import (
	"fmt"

	"github.com/scrfs/scrfs/scr"
)

// CheckpointFor returns the descriptor for a checkpoint number: the enabled
// one, not for output, with the largest interval that divides it; the first
// of equals. Load made sure that there is one.
func (c *Config) CheckpointFor(n scr.CheckpointID) Checkpoint {
	best := -1
	for i, d := range c.Checkpoints {
		if !d.Enabled || d.Output || int64(n)%int64(d.Interval) != 0 {
			continue
		}
		if best < 0 || d.Interval > c.Checkpoints[best].Interval {
			best = i
		}
	}
	if best < 0 {
		panic(fmt.Sprintf("BUG: no descriptor for checkpoint %d in %+v", n, c.Checkpoints))
	}
	return c.Checkpoints[best]
}

// OutputDescriptor returns the descriptor for datasets that are no checkpoint:
// the first enabled one with OUTPUT=1, else the one of interval 1.
func (c *Config) OutputDescriptor() Checkpoint {
	for _, d := range c.Checkpoints {
		if d.Enabled && d.Output {
			return d
		}
	}
	return c.CheckpointFor(1)
}

// StoreAt returns the store of a path that an enabled descriptor names.
func (c *Config) StoreAt(path string) Store {
	for _, s := range c.Stores {
		if s.Path == path {
			return s
		}
	}
	panic(fmt.Sprintf("BUG: no store %s in %+v", path, c.Stores))
}
