package lifecycle

import (
	"maps"
	"slices"
	"time"

	"github.com/scrfs/scrfs/scr"
)

// Phase is where a dataset stands.
type Phase string

// The phases, in order. A dataset that is written to again goes back to Open
// with its generation counted up, until it is published.
const (
	PhaseOpen       Phase = "OPEN"       // being written
	PhaseSealing    Phase = "SEALING"    // the nodes agree on its files
	PhaseProtecting Phase = "PROTECTING" // redundancy is computed
	PhaseCached     Phase = "CACHED"     // complete in the caches
	PhaseFlushing   Phase = "FLUSHING"   // being copied to the prefix directory
	PhasePublishing Phase = "PUBLISHING" // every byte is there, being made visible
	PhasePublished  Phase = "PUBLISHED"  // visible on the prefix directory, still cached
	PhaseEvicting   Phase = "EVICTING"   // leaving the caches
	PhaseLost       Phase = "LOST"       // leaving the caches, of no use
)

// maxRetry bounds the pause between two tries of an action.
const maxRetry = time.Minute

// protectTries is after how many failures a dataset is flushed without
// protection rather than waiting for it.
const protectTries = 3

// Dataset is what the machine knows of one dataset.
type Dataset struct {
	ID         scr.DatasetID
	Checkpoint scr.CheckpointID // 0 for output
	Phase      Phase
	Gen        int
	App        string
	Roots      []Root
	Loose      bool // has files outside its roots
	LastWrite  int64
	Writers    map[string]int      // open for writing, by node
	Nodes      map[string]struct{} // that hold files of it
	Missing    map[string]struct{} // nodes lost whose files are not rebuilt yet
	Closing    bool                // ends as soon as nothing is open, and gets no new names
	Past       bool                // had ended before; since then only names and attributes have changed
	Early      bool                // ends as soon as nothing is open, or has done so before the quiet time
	Shape      shape               // of its end so far
	Newer      bool                // another application has opened something since it began
	Suspect    bool                // a writer was killed
	Protected  bool
	Scheme     string
	WantFlush  bool
	Published  bool
	Files      int64
	SizeBytes  int64
	// Files that the caches had no room for, and their size. They lie on the
	// prefix directory already.
	Spilled, SpilledBytes int64
	Leave                 bool // goes from the caches as soon as it is published

	Err     string // of the last try that failed
	Tries   int
	RetryAt int64
}

// Root is a topmost directory made in this dataset.
type Root struct {
	Path, Template, Numbers string
	Node                    string // where it was made
}

// Complete tells whether the dataset has ended and none of it is missing.
func (d Dataset) Complete() bool {
	switch d.Phase {
	case PhaseCached, PhaseFlushing, PhasePublishing, PhasePublished:
		return len(d.Missing) == 0
	}
	return false
}

// Finished tells whether nothing is left to do for the dataset: it is gone from
// the caches, or on its way out of them.
func (d Dataset) Finished() bool {
	return d.Phase == PhaseEvicting || d.Phase == PhaseLost
}

// Safe tells whether the loss of one node cannot lose it.
func (d Dataset) Safe() bool { return d.Published || d.Protected && len(d.Missing) == 0 }

func (d *Dataset) writersOpen() bool { return len(d.Writers) > 0 }

func (d *Dataset) addWriter(node string, delta int) {
	if n := d.Writers[node] + delta; n > 0 {
		d.Writers[node] = n
	} else {
		delete(d.Writers, node)
	}
}

// failed notes a failed try and when the next one is due.
func (d *Dataset) failed(e Event, first time.Duration) {
	d.Err = e.Err
	pause := min(first<<min(d.Tries, 10), maxRetry)
	d.Tries++
	d.RetryAt = e.Now + int64(pause)
}

func (d *Dataset) enter(p Phase) {
	d.Phase, d.Tries, d.RetryAt, d.Err = p, 0, 0, ""
}

// clone returns a copy that shares nothing.
func (d *Dataset) clone() Dataset {
	c := *d
	c.Roots = slices.Clone(d.Roots)
	c.Shape.Ends = maps.Clone(d.Shape.Ends)
	c.Writers = maps.Clone(d.Writers)
	c.Nodes = maps.Clone(d.Nodes)
	c.Missing = maps.Clone(d.Missing)
	return c
}

// Status is the state as users read it: the phase, or SUSPECT, or what is
// wrong beside it.
func (d Dataset) Status() string {
	switch {
	case d.Suspect && d.Phase != PhaseLost:
		return "SUSPECT"
	case len(d.Missing) > 0 && d.Phase == PhaseCached:
		return "REBUILDING"
	case d.Phase == PhaseCached && d.Protected:
		return "PROTECTED"
	}
	return string(d.Phase)
}
