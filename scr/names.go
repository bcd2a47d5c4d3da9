package scr

import (
	"fmt"
	"strings"
)

// Names that carry numbers, and how to read them back. A name is read only in
// the form in which it is written; "01_of_4_in_0.xor" is no XOR file.

// DatasetName is scr.dataset.<id>, the name of directories and, in F11 and F14,
// of the dataset.
func DatasetName(id DatasetID) string { return fmt.Sprintf("scr.dataset.%d", id) }

// ParseDatasetName is the reverse of DatasetName.
func ParseDatasetName(base string) (DatasetID, bool) {
	digits, ok := strings.CutPrefix(base, "scr.dataset.")
	if !ok {
		return 0, false
	}
	id, err := ParseDatasetID(digits)
	return id, err == nil
}

// RankFilemapName is <rank>.scrfilemap, in F12 fmap.<rank>.scr.
func (p Paths) RankFilemapName(r Rank) string {
	if p.Family == F12 {
		return fmt.Sprintf("fmap.%d.scr", r)
	}
	return fmt.Sprintf("%d.scrfilemap", r)
}

// ParseRankFilemapName is the reverse of RankFilemapName.
func (p Paths) ParseRankFilemapName(base string) (Rank, bool) {
	before, after := "", ".scrfilemap"
	if p.Family == F12 {
		before, after = "fmap.", ".scr"
	}
	digits, ok := strings.CutPrefix(base, before)
	if !ok {
		return 0, false
	}
	if digits, ok = strings.CutSuffix(digits, after); !ok {
		return 0, false
	}
	r, err := ParseRank(digits)
	return r, err == nil
}

// SetMember says which member of which redundancy set a file belongs to.
type SetMember struct {
	Set    Rank // the lowest rank of the set
	Member int  // counted from 0; names and scan hashes count from 1
	Size   int  // members of the set
}

// XORName is <n>_of_<m>_in_<g>.xor, in F12 xor.<g>_<n>_of_<m>.scr, with n the
// member counted from 1.
func (p Paths) XORName(m SetMember) string {
	if p.Family == F12 {
		return fmt.Sprintf("xor.%d_%d_of_%d.scr", m.Set, m.Member+1, m.Size)
	}
	return fmt.Sprintf("%d_of_%d_in_%d.xor", m.Member+1, m.Size, m.Set)
}

// ParseXORName is the reverse of XORName. A member beyond the size is no name.
func (p Paths) ParseXORName(base string) (SetMember, bool) {
	if p.Family == F12 {
		n, ok := numbersIn(base, "xor.", "_", "_of_", ".scr")
		if !ok {
			return SetMember{}, false
		}
		return setMember(n[0], n[1], n[2])
	}
	n, ok := numbersIn(base, "", "_of_", "_in_", ".xor")
	if !ok {
		return SetMember{}, false
	}
	return setMember(n[2], n[0], n[1])
}

// RSName is <n>_of_<m>_in_<g>.rs, a Reed-Solomon file; only scrfs writes it.
func (p Paths) RSName(m SetMember) string {
	return fmt.Sprintf("%d_of_%d_in_%d.rs", m.Member+1, m.Size, m.Set)
}

// ParseRSName is the reverse of RSName.
func (p Paths) ParseRSName(base string) (SetMember, bool) {
	n, ok := numbersIn(base, "", "_of_", "_in_", ".rs")
	if !ok {
		return SetMember{}, false
	}
	return setMember(n[2], n[0], n[1])
}

func setMember(set, n, size int64) (SetMember, bool) {
	if n < 1 || n > size || set >= MaxRanks {
		return SetMember{}, false
	}
	return SetMember{Set: Rank(set), Member: int(n - 1), Size: int(size)}, true
}

// numbersIn reads the numbers between the given parts of a name. The first part
// is a prefix, the last a suffix; all numbers are below MaxRanks+1.
func numbersIn(s string, parts ...string) ([]int64, bool) {
	s, ok := strings.CutPrefix(s, parts[0])
	if !ok {
		return nil, false
	}
	var numbers []int64
	for _, part := range parts[1:] {
		digits, rest, ok := strings.Cut(s, part)
		if !ok {
			return nil, false
		}
		n, err := parseNumber(digits, 0, MaxRanks)
		if err != nil {
			return nil, false
		}
		numbers, s = append(numbers, n), rest
	}
	return numbers, s == ""
}
