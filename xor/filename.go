package xor

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/scrfs/scrfs/scr"
)

// FileName is what the name of a redundancy file says: enough to group the
// files of a set that lie in one directory without opening them.
type FileName struct {
	Member  int      // index in the set, from 0; the name itself counts from 1
	Members int      // size of the set
	Set     scr.Rank // set id: the lowest world rank in the set
}

// Format returns the base name in the given family:
// "<n>_of_<m>_in_<g>.xor" in F11 and F14, "xor.<g>_<n>_of_<m>.scr" in F12.
func (n FileName) Format(f scr.Family) string {
	if f == scr.F12 {
		return fmt.Sprintf("xor.%d_%d_of_%d.scr", n.Set, n.Member+1, n.Members)
	}
	return fmt.Sprintf("%d_of_%d_in_%d.xor", n.Member+1, n.Members, n.Set)
}

// ParseFileName reads the base name of a redundancy file of the given family.
// ok is false for any other name, and for one that SCR would not write: a
// number with sign, leading zeros or out of range, or a member outside the set.
func ParseFileName(f scr.Family, name string) (n FileName, ok bool) {
	var member, members, set string
	if f == scr.F12 {
		name, ok = cutBoth(name, "xor.", ".scr")
		if !ok {
			return FileName{}, false
		}
		set, name, ok = strings.Cut(name, "_")
		if !ok {
			return FileName{}, false
		}
		member, members, ok = strings.Cut(name, "_of_")
	} else {
		name, ok = cutBoth(name, "", ".xor")
		if !ok {
			return FileName{}, false
		}
		member, name, ok = strings.Cut(name, "_of_")
		if !ok {
			return FileName{}, false
		}
		members, set, ok = strings.Cut(name, "_in_")
	}
	if !ok {
		return FileName{}, false
	}
	return parseFields(member, members, set)
}

func parseFields(member, members, set string) (FileName, bool) {
	n, ok1 := parseNumber(member)
	m, ok2 := parseNumber(members)
	g, ok3 := parseNumber(set)
	if !ok1 || !ok2 || !ok3 || n < 1 || n > m {
		return FileName{}, false
	}
	return FileName{Member: n - 1, Members: m, Set: scr.Rank(g)}, true
}

// parseNumber accepts only what C's %d writes for 0 to scr.MaxRanks, so that each
// FileName has exactly one name and no two names collide in a scan.
func parseNumber(s string) (int, bool) {
	v, err := strconv.ParseInt(s, 10, 64)
	if err != nil || v < 0 || v > scr.MaxRanks || strconv.FormatInt(v, 10) != s {
		return 0, false
	}
	return int(v), true
}

func cutBoth(s, prefix, suffix string) (string, bool) {
	s, ok := strings.CutPrefix(s, prefix)
	if !ok {
		return "", false
	}
	return strings.CutSuffix(s, suffix)
}
