package xor

import (
	"fmt"
	"runtime"

	"github.com/scrfs/scrfs/scr"
)

// Options says how Encode, Rebuild and Verify work. Memory in use is
// 3*Workers pieces, whatever the size of the set.
type Options struct {
	// Family is the one in which headers and names are written.
	Family scr.Family

	// PieceBytes is how much of a file is read at once. 0 is
	// DefaultPieceBytes.
	PieceBytes int

	// Workers is the number of pieces that are read and merged at the same
	// time, each from one member at a time, so also the number of reads under
	// way. 0 is the number of processors, at least 2 and at most 8; more are
	// of use if the readers are far away.
	Workers int

	// CheckPadding makes Rebuild read also what lies beside the padding of the
	// lost logical file, which comes out as zeros if all is well. It costs
	// reading up to the whole of the set where the lost member had less than
	// the others, and without it only what is at hand is checked.
	CheckPadding bool
}

// Validate reports the first setting that cannot be used.
func (o Options) Validate() error {
	switch {
	case !o.Family.Valid():
		return fmt.Errorf("format family %v: %w", o.Family, scr.ErrUnsupported)
	case o.PieceBytes < 0:
		return fmt.Errorf("pieces of %d bytes: %w", o.PieceBytes, scr.ErrInvalid)
	case o.Workers < 0:
		return fmt.Errorf("%d workers: %w", o.Workers, scr.ErrInvalid)
	}
	return nil
}

func (o Options) withDefaults() Options {
	if o.PieceBytes == 0 {
		o.PieceBytes = DefaultPieceBytes
	}
	if o.Workers == 0 {
		o.Workers = min(max(runtime.GOMAXPROCS(0), 2), 8)
	}
	return o
}
