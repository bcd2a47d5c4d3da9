package disk

import (
	"path"
	"strings"
	"sync"
	"syscall"
)

// Fault describes calls that shall fail; a zero field matches everything.
type Fault struct {
	Kind Kind
	// PathPattern is of path.Match, against the whole name (either name of a
	// rename), or against its last element if it has no slash.
	PathPattern string
	Tag         string
	N           int           // only the n-th that matches, counted from 1; 0 fails all
	Err         error         // nil is EIO
	ShortWrite  int           // bytes that a write still writes
	Match       func(Op) bool // further conditions; nil is none
}

// Faults makes a rule for Inject. The first fault that matches decides; each
// keeps its own count. A pattern that is malformed panics.
func Faults(faults ...Fault) func(Op) error {
	for _, f := range faults {
		if _, err := path.Match(f.PathPattern, ""); err != nil {
			panic("BUG: fault pattern " + f.PathPattern)
		}
	}
	var mu sync.Mutex
	seen := make([]int, len(faults))
	return func(op Op) error {
		mu.Lock()
		defer mu.Unlock()
		for i, f := range faults {
			if !f.matches(op) {
				continue
			}
			if seen[i]++; f.N == 0 || seen[i] == f.N {
				return f.err()
			}
		}
		return nil
	}
}

func (f Fault) err() error {
	err := f.Err
	if err == nil {
		err = syscall.EIO
	}
	if f.ShortWrite > 0 {
		err = ShortWrite{Bytes: f.ShortWrite, Err: err}
	}
	return err
}

func (f Fault) matches(op Op) bool {
	return (f.Kind == "" || f.Kind == op.Kind) &&
		(f.Tag == "" || f.Tag == op.Tag) &&
		(f.PathPattern == "" || matchName(f.PathPattern, op.Name) || op.To != "" && matchName(f.PathPattern, op.To)) &&
		(f.Match == nil || f.Match(op))
}

func matchName(pattern, name string) bool {
	if !strings.Contains(pattern, "/") {
		name = path.Base(name)
	}
	ok, err := path.Match(pattern, name)
	return ok && err == nil
}
