package indexer

import (
	"fmt"
	"maps"
	"os"
	"path"
	"slices"

	"github.com/scrfs/scrfs/internal/disk"
	"github.com/scrfs/scrfs/scr"
	"github.com/scrfs/scrfs/xor"
)

// inspect says what is missing and what can be done about it. It is pure.
func (s *Scan) inspect() {
	s.Missing = s.missing()
	if len(s.Invalid) > 0 {
		return
	}
	mended := map[scr.Rank]bool{}
	for _, id := range slices.Sorted(maps.Keys(s.Sets)) {
		lost := s.lostMembers(id)
		switch {
		case len(lost) == 1:
			b := Build{Set: id, Member: lost[0], Rank: s.rankOf(id, lost[0])}
			s.Build = append(s.Build, b)
			mended[b.Rank] = true
		case len(lost) > 1:
			ranks := make([]scr.Rank, len(lost))
			for i, member := range lost {
				ranks[i] = s.rankOf(id, member)
				mended[ranks[i]] = true // said here, not once more below
			}
			s.Unrecoverable = append(s.Unrecoverable, fmt.Sprintf("set %d has lost ranks %v, its redundancy brings back one", id, ranks))
		}
	}
	for _, r := range s.Missing {
		if !mended[r] {
			s.Unrecoverable = append(s.Unrecoverable, fmt.Sprintf("rank %d is lost and no redundancy set has it", r))
		}
	}
}

// missing lists the ranks without an entry or with fewer files than expected.
func (s *Scan) missing() []scr.Rank {
	ranks := s.Ranks
	if ranks == 0 { // no file at all says how many there are
		for r := range s.Entries {
			ranks = max(ranks, int(r)+1)
		}
		for _, p := range s.Problems {
			ranks = max(ranks, int(p.Rank)+1)
		}
	}
	var missing []scr.Rank
	for r := range scr.Rank(ranks) {
		if e := s.Entries[r]; e == nil || len(e.Files) < e.Expected {
			missing = append(missing, r)
		}
	}
	for _, r := range slices.Sorted(maps.Keys(s.Entries)) {
		if int(r) >= ranks {
			s.Invalid = append(s.Invalid, Problem{r, "", fmt.Errorf("the job had %d ranks: %w", ranks, scr.ErrInvalid)})
		}
	}
	return missing
}

// lostMembers lists the members of a set without redundancy file, or whose rank
// misses any file.
func (s *Scan) lostMembers(id scr.Rank) []int {
	set := s.Sets[id]
	var lost []int
	for member := range set.Members {
		f, ok := set.Files[member]
		if !ok || slices.Contains(s.Missing, f.Rank) {
			lost = append(lost, member)
		}
	}
	return lost
}

// rankOf is the rank of a member; -1 if nothing says it.
func (s *Scan) rankOf(id scr.Rank, member int) scr.Rank {
	set := s.Sets[id]
	if f, ok := set.Files[member]; ok {
		return f.Rank
	}
	if member < len(set.group) {
		return set.group[member]
	}
	return -1
}

// readGroups asks the headers of sets that lack redundancy files which ranks
// these belong to.
func (s *Scan) readGroups(prefix disk.FS) error {
	for _, id := range slices.Sorted(maps.Keys(s.Sets)) {
		set := s.Sets[id]
		if len(set.Files) == set.Members {
			continue
		}
		for _, member := range slices.Sorted(maps.Keys(set.Files)) {
			f := set.Files[member]
			h, _, err := s.readHeaderOf(prefix, f)
			if err != nil {
				s.Invalid = append(s.Invalid, Problem{f.Rank, f.Name, err})
				break
			}
			set.group = h.Group
			break
		}
	}
	return nil
}

// readHeaderOf reads the header of a redundancy file, which must be that of the
// rank whose filemap lists it, and say what its name says. The payload begins at
// headerBytes.
func (s *Scan) readHeaderOf(prefix disk.FS, f SetFile) (h xor.Header, headerBytes int64, err error) {
	rel, err := redundancyName(s.paths(), s.Dir, f.Name)
	if err != nil {
		return h, 0, err
	}
	file, err := prefix.OpenFile(rel, os.O_RDONLY, 0)
	if err != nil {
		return h, 0, err
	}
	defer file.Close() // read only: nothing can be lost
	h, headerBytes, err = xor.ReadHeader(file)
	if err != nil {
		return h, 0, err
	}
	return h, headerBytes, s.checkHeader(h, f)
}

// checkHeader compares a header with what else is known of its file.
func (s *Scan) checkHeader(h xor.Header, f SetFile) error {
	want, _ := xor.ParseFileName(s.Family, path.Base(f.Name))
	switch got := h.FileName(); {
	case got != want:
		return fmt.Errorf("header says it is %s: %w", got.Format(s.Family), scr.ErrInvalid)
	case h.Current.Rank != f.Rank:
		return fmt.Errorf("header is of rank %d: %w", h.Current.Rank, scr.ErrInvalid)
	case h.Dataset.ID != s.Dataset.ID:
		return fmt.Errorf("header is of dataset %d: %w", h.Dataset.ID, scr.ErrInvalid)
	case h.Ranks != s.Ranks:
		return fmt.Errorf("header is of a job of %d ranks, not %d: %w", h.Ranks, s.Ranks, scr.ErrInvalid)
	}
	return nil
}

// Verdict is nil for a dataset that is complete or can be made so, and else the
// error that Add would give.
func (s *Scan) Verdict() error { return s.mendable() }
