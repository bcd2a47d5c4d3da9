package xor

import (
	"fmt"
	"math"
	"slices"

	"github.com/scrfs/scrfs/scr"
)

// Header is what precedes the payload in a redundancy file: to which dataset
// and set it belongs, the files of the rank that wrote it, and, so that they
// are not lost with that rank, the files of its left neighbour.
type Header struct {
	Dataset    scr.Dataset
	Ranks      int        // ranks of the job
	Group      []scr.Rank // world ranks of the members, in the order of the set
	ChunkBytes int64      // size of the payload, at least 1
	Current    Member     // who wrote the file
	Partner    Member     // its left neighbour
}

// Member is one rank of a set with its files. Their order is that in which they
// make up the logical file; it is not that of creation.
type Member struct {
	Rank  scr.Rank
	Files []scr.FileMeta
}

// LogicalBytes returns the size of the member's files together.
func (m Member) LogicalBytes() int64 {
	var n int64
	for _, f := range m.Files {
		n += f.SizeBytes
	}
	return n
}

// Layout returns the geometry of the set.
func (h Header) Layout() Layout {
	return Layout{Members: len(h.Group), ChunkBytes: h.ChunkBytes}
}

// Index returns the place of the current rank in the set, or -1.
func (h Header) Index() int { return slices.Index(h.Group, h.Current.Rank) }

// Set returns the id of the set: the lowest world rank in it.
func (h Header) Set() scr.Rank { return slices.Min(h.Group) }

// FileName returns what the name of the redundancy file must say. A file whose
// name says something else is not to be used.
func (h Header) FileName() FileName {
	return FileName{Member: h.Index(), Members: len(h.Group), Set: h.Set()}
}

// Validate reports what is impossible in a header: a group that is too small,
// not ascending, or beyond the ranks of the job, a current rank outside it, a
// partner that is not the left neighbour, a redundancy file among the files, or
// files that are larger than the chunks can hold. Errors wrap scr.ErrInvalid.
func (h Header) Validate() error {
	if h.Ranks < 1 || h.Ranks > scr.MaxRanks {
		return fmt.Errorf("job of %d ranks: %w", h.Ranks, scr.ErrInvalid)
	}
	for i, r := range h.Group {
		if r < 0 || int(r) >= h.Ranks || i > 0 && h.Group[i-1] >= r {
			return fmt.Errorf("group member %d is rank %d of %d ranks, members must ascend: %w", i, r, h.Ranks, scr.ErrInvalid)
		}
	}
	l := h.Layout()
	if err := l.Validate(); err != nil {
		return fmt.Errorf("%w: %w", err, scr.ErrInvalid)
	}
	i := h.Index()
	if i < 0 {
		return fmt.Errorf("rank %d is no member of its set: %w", h.Current.Rank, scr.ErrInvalid)
	}
	if left := h.Group[l.Left(i)]; h.Partner.Rank != left {
		return fmt.Errorf("partner of rank %d is rank %d, not its left neighbour %d: %w",
			h.Current.Rank, h.Partner.Rank, left, scr.ErrInvalid)
	}
	for _, m := range []Member{h.Current, h.Partner} {
		if err := m.validate(h.Ranks, l.LogicalBytes()); err != nil {
			return fmt.Errorf("rank %d: %w", m.Rank, err)
		}
	}
	return nil
}

func (m Member) validate(ranks int, mostBytes int64) error {
	var sum int64
	for i, f := range m.Files {
		switch {
		case f.File == "":
			return fmt.Errorf("file %d has no name: %w", i, scr.ErrInvalid)
		case f.Type != scr.UserFile:
			return fmt.Errorf("file %q is of type %v: %w", f.File, f.Type, scr.ErrInvalid)
		case f.Ranks != 0 && f.Ranks != ranks:
			return fmt.Errorf("file %q is of a job of %d ranks, not %d: %w", f.File, f.Ranks, ranks, scr.ErrInvalid)
		case f.SizeBytes < 0 || f.SizeBytes > math.MaxInt64-sum:
			return fmt.Errorf("file %q of %d bytes: %w", f.File, f.SizeBytes, scr.ErrInvalid)
		}
		sum += f.SizeBytes
	}
	if sum > mostBytes {
		return fmt.Errorf("files of %d bytes, the chunks hold %d: %w", sum, mostBytes, scr.ErrInvalid)
	}
	return nil
}

// Headers makes the headers of a whole set, in the order of the set. The chunk
// size follows from the files. Members must ascend by rank. Errors wrap
// scr.ErrInvalid.
func Headers(dataset scr.Dataset, ranks int, members []Member) ([]Header, error) {
	if len(members) < 2 {
		return nil, fmt.Errorf("xor set of %d members: at least 2 are needed: %w", len(members), scr.ErrInvalid)
	}
	group := make([]scr.Rank, len(members))
	sizes := make([]int64, len(members))
	for i, m := range members {
		if err := m.validate(ranks, math.MaxInt64); err != nil {
			return nil, fmt.Errorf("rank %d: %w", m.Rank, err)
		}
		group[i], sizes[i] = m.Rank, m.LogicalBytes()
	}
	chunk := ChunkBytes(sizes)
	headers := make([]Header, len(members))
	for i, m := range members {
		left := members[(i+len(members)-1)%len(members)]
		headers[i] = Header{Dataset: dataset, Ranks: ranks, Group: group, ChunkBytes: chunk, Current: m, Partner: left}
		if err := headers[i].Validate(); err != nil {
			return nil, fmt.Errorf("xor set %d: %w", group[0], err)
		}
	}
	return headers, nil
}
