package daemon

// historyKept is how many entries a node keeps for those behind it. The leader
// acknowledges nothing before all live nodes have it, so they differ by the
// changes under way at most.
const historyKept = 4096

// history is the latest entries in their wire form, without a gap.
type history struct {
	first  uint64 // number of frames[0]
	frames [][]byte
}

func (h *history) add(seq uint64, b []byte) {
	if seq != h.first+uint64(len(h.frames)) {
		*h = history{}
	}
	if len(h.frames) == 0 {
		h.first = seq
	}
	h.frames = append(h.frames, b)
	if len(h.frames) >= 2*historyKept {
		h.first += historyKept
		h.frames = append([][]byte(nil), h.frames[historyKept:]...)
	}
}

// between returns the entries after one number up to another, false if some of
// them are not kept.
func (h *history) between(after, last uint64) ([][]byte, bool) {
	switch {
	case after == last:
		return nil, true
	case after > last, after+1 < h.first, last >= h.first+uint64(len(h.frames)):
		return nil, false
	}
	return h.frames[after+1-h.first : last+1-h.first : last+1-h.first], true
}
