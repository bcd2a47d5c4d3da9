package scavenger

import (
	"math"
	"time"
)

// DefaultRate is what one node is taken to copy to the prefix directory until
// something is measured, in bytes per second. It is what a busy parallel file
// system gives a single client; a wrong guess is mended after the first copy.
const DefaultRate = 200 << 20

// Fit tells which datasets, given oldest first, can be copied in the time that
// is left: those from the returned place on. The newest checkpoint and what is
// newer are always among them, however little time there is, because the
// estimate may be wrong and trying costs nothing. Rate is in bytes per second
// and node; 0 is DefaultRate.
func Fit(datasets []Rescue, left time.Duration, rate int64) int {
	if rate <= 0 {
		rate = DefaultRate
	}
	first := max(len(datasets)-1, 0)
	for i := len(datasets) - 1; i >= 0; i-- {
		if datasets[i].Dataset.Checkpoint != 0 {
			first = i
			break
		}
	}
	need := time.Duration(0)
	for i := len(datasets) - 1; i >= 0; i-- {
		need = add(need, datasets[i].duration(rate))
		if need > left && i < first {
			break
		}
		first = min(first, i)
	}
	return first
}

// duration estimates copy and rebuild: nodes copy side by side, and a rebuild
// reads and writes what one node has for each member of a set.
func (r Rescue) duration(rate int64) time.Duration {
	most := int64(0)
	for _, s := range r.Sources {
		most = max(most, s.Bytes)
	}
	bytes := float64(most)
	if len(r.Rebuild) > 0 {
		bytes += float64(most) * float64(len(r.Sources)+1)
	}
	seconds := bytes / float64(rate)
	if seconds > float64(math.MaxInt64)/float64(time.Second) {
		return math.MaxInt64
	}
	return time.Duration(seconds * float64(time.Second))
}

func add(a, b time.Duration) time.Duration {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}
