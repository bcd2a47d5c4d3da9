package space

import "github.com/scrfs/scrfs/scr"

// Sizes remembers how large files were, by the pattern of their path.
type Sizes struct {
	files map[string]size
	total size // of all files of a dataset
}

// size is what was seen of a pattern in the newest dataset that had it, and in
// the one before.
type size struct {
	dataset      scr.DatasetID
	last, before int64
}

// maxPatterns bounds the memory for names whose numbers are no numbers. Who
// comes late is not remembered, and is written by the daemon.
const maxPatterns = 4096

// Note takes the size of a file that was written, in bytes, and by how much it
// grew since that was noted last. Of several files of one pattern in a dataset
// the largest counts.
func (s *Sizes) Note(pattern string, id scr.DatasetID, bytes, grownBytes int64) {
	if s.files == nil {
		s.files = map[string]size{}
	}
	s.total = s.total.with(id, func(last int64) int64 { return last + grownBytes })
	was, known := s.files[pattern]
	if !known && len(s.files) >= maxPatterns {
		return
	}
	s.files[pattern] = was.with(id, func(last int64) int64 { return max(last, bytes) })
}

// Expect tells the size that a file of this pattern will have, if one was seen.
func (s *Sizes) Expect(pattern string) (bytes int64, known bool) {
	was, known := s.files[pattern]
	return max(was.last, was.before), known
}

// Dataset is the size that a dataset will have here, in bytes.
func (s *Sizes) Dataset() int64 { return max(s.total.last, s.total.before) }

func (z size) with(id scr.DatasetID, change func(last int64) int64) size {
	if id != z.dataset {
		z = size{dataset: id, before: z.last}
	}
	z.last = change(z.last)
	return z
}

// Room tells whether a dataset of the expected size, its redundancy and the
// reserve fit into what is free.
func (l Limits) Room(c Cache, datasetBytes, redundancyBytes int64) bool {
	return c.FreeBytes >= datasetBytes+redundancyBytes+l.Reserve(c.TotalBytes)
}
