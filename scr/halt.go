package scr

import (
	"fmt"
	"math"
	"time"

	"github.com/scrfs/scrfs/internal/disk"
	"github.com/scrfs/scrfs/kvtree"
)

// Limit is a number that may be absent. The zero Limit is absent.
type Limit struct {
	N   int64
	Set bool
}

// LimitOf is a limit that is there.
func LimitOf(n int64) Limit { return Limit{N: n, Set: true} }

// Reasons that SCR writes into the halt file.
const (
	HaltFinalized = "SCR_FINALIZE_CALLED"
	HaltJob       = "JOB_HALTED"
)

// HaltFile holds the conditions that end a job. All are optional; unknown keys
// of the file it was read from are kept.
type HaltFile struct {
	// CheckpointsLeft: halt after so many more checkpoints.
	CheckpointsLeft Limit
	// ExitAfter: halt from this time on, seconds since the Unix epoch.
	ExitAfter Limit
	// ExitBefore: halt HaltSeconds before this time, seconds since the epoch.
	ExitBefore Limit
	// HaltSeconds is 0 if absent and has no meaning without ExitBefore.
	HaltSeconds Limit
	// ExitReason: halt now. "" is absent.
	ExitReason string

	other *kvtree.Tree
}

// ShouldHalt tells whether the job must end at the time now, and why. It also
// halts when CheckpointsLeft is below 0, where SCR tests for exactly 0 and would
// run on after a checkpoint too many.
func (h HaltFile) ShouldHalt(now time.Time) (halt bool, why string) {
	secs := now.Unix()
	switch {
	case h.ExitReason != "":
		return true, "exit reason " + h.ExitReason
	case h.CheckpointsLeft.Set && h.CheckpointsLeft.N <= 0:
		return true, "no checkpoints left"
	case h.ExitAfter.Set && secs >= h.ExitAfter.N:
		return true, "past exit-after time " + itoa(h.ExitAfter.N)
	case h.ExitBefore.Set && secs >= h.ExitBefore.N-h.HaltSeconds.N:
		return true, "within " + itoa(h.HaltSeconds.N) + " seconds of exit-before time " + itoa(h.ExitBefore.N)
	}
	return false, ""
}

// CheckpointDone counts a completed checkpoint. It stops at 0.
func (h *HaltFile) CheckpointDone() {
	if h.CheckpointsLeft.Set && h.CheckpointsLeft.N > 0 {
		h.CheckpointsLeft.N--
	}
}

// Tree returns the hash, the same in every family.
func (h HaltFile) Tree(Family) *kvtree.Tree {
	t := h.other.Clone()
	if t == nil {
		t = kvtree.New()
	}
	for _, l := range h.limits() {
		t.Unset(l.key)
		if l.limit.Set {
			t.PutInt(l.key, l.limit.N)
		}
	}
	t.Unset("ExitReason")
	putText(t, "ExitReason", h.ExitReason)
	return t
}

type haltLimit struct {
	key   string
	limit *Limit
	low   int64
}

func (h *HaltFile) limits() []haltLimit {
	return []haltLimit{
		{"CheckpointsLeft", &h.CheckpointsLeft, math.MinInt32}, // SCR can count below 0
		{"ExitAfter", &h.ExitAfter, 0},
		{"ExitBefore", &h.ExitBefore, 0},
		{"HaltSeconds", &h.HaltSeconds, 0},
	}
}

// HaltFileFromTree reads the hash. Errors wrap ErrInvalid.
func HaltFileFromTree(t *kvtree.Tree) (HaltFile, error) {
	f := fields{tree: t, record: "halt file"}
	h := HaltFile{other: t.Clone()}
	for _, l := range h.limits() {
		if t.Has(l.key) {
			*l.limit = LimitOf(f.number(l.key, l.low, math.MaxInt64))
		}
	}
	h.ExitReason = f.optText("ExitReason")
	if f.err != nil {
		return HaltFile{}, f.err
	}
	return h, nil
}

// ReadHalt reads the halt file under a shared lock. An absent or empty file has
// no conditions.
func ReadHalt(fsys disk.FS, name string) (HaltFile, error) {
	t, err := readInPlace(fsys, name)
	if err != nil {
		return HaltFile{}, err
	}
	h, err := HaltFileFromTree(t)
	if err != nil {
		return HaltFile{}, fmt.Errorf("read %s: %w", name, err)
	}
	return h, nil
}

// UpdateHalt changes the halt file in place under an exclusive lock on the file
// itself, and creates it if absent. If change returns an error nothing is
// written. A crash while it writes leaves a file that every reader rejects.
func UpdateHalt(fsys disk.FS, name string, change func(*HaltFile) error) error {
	return updateInPlace(fsys, name, func(t *kvtree.Tree) error {
		h, err := HaltFileFromTree(t)
		if err != nil {
			return fmt.Errorf("update %s: %w", name, err)
		}
		if err := change(&h); err != nil {
			return err
		}
		replace(t, h.Tree(F14))
		return nil
	})
}

// replace gives t the elements of with.
func replace(t, with *kvtree.Tree) {
	for _, key := range t.Keys() {
		if !with.Has(key) {
			t.Unset(key)
		}
	}
	for key, sub := range with.All() {
		t.Set(key, sub)
	}
}
