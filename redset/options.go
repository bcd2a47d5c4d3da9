package redset

import (
	"fmt"

	"github.com/scrfs/scrfs/scr"
)

// Options says how sets are formed. Scheme and Family must be given; for the
// others 0 is SCR's default.
type Options struct {
	// Scheme is scr.Single, scr.Partner or scr.XOR.
	Scheme scr.Scheme

	// Family decides what SetSize means: the least number of members in F12
	// and F14, the largest in F11.
	Family scr.Family

	// SetSize is SCR_SET_SIZE, in members. It counts for XOR only; a PARTNER
	// set is always a whole level. 0 is 8, SCR's default; 1 is an error.
	SetSize int

	// HopDistance is the distance in ranks of a level between two members of
	// a set, in F11 only. 0 is 1, SCR's default.
	HopDistance int
}

const (
	defaultSetSize     = 8
	defaultHopDistance = 1
)

// Validate reports the first setting that Form would refuse.
func (o Options) Validate() error {
	switch o.Scheme {
	case scr.Single, scr.Partner, scr.XOR:
	default:
		return fmt.Errorf("redundancy scheme %v: sets are formed for SINGLE, PARTNER and XOR", o.Scheme)
	}
	switch o.Family {
	case scr.F11, scr.F12, scr.F14:
	default:
		return fmt.Errorf("format family %v: not known", o.Family)
	}
	if o.SetSize < 0 || o.SetSize == 1 {
		return fmt.Errorf("set size %d: a set needs at least 2 members", o.SetSize)
	}
	if o.HopDistance < 0 {
		return fmt.Errorf("hop distance %d: must not be negative", o.HopDistance)
	}
	return nil
}

func (o Options) withDefaults() Options {
	if o.SetSize == 0 {
		o.SetSize = defaultSetSize
	}
	if o.HopDistance == 0 {
		o.HopDistance = defaultHopDistance
	}
	return o
}
