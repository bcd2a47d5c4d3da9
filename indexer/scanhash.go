package indexer

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"

	"github.com/scrfs/scrfs/kvtree"
)

// Tree is the scan hash, as SCR's note on the scavenge shows it. Commands under
// BUILD can be run by hand; prefixDir is the absolute prefix directory they are
// to name.
//
//	DLIST / <id> / DSET / ...
//	               RANK2FILE / RANKS / <n>, RANK / <r> / FILES, FILE / ...
//	               XOR / <set> / MEMBERS / <n>, MEMBER / <n from 1> / FILE, RANK
//	               MISSING / <rank>
//	               INVALID, UNRECOVERABLE      flags
//	               BUILD / <command>
func (s *Scan) Tree(prefixDir string) *kvtree.Tree {
	top := kvtree.New()
	t := top.Sub("DLIST", s.Dataset.ID.String())
	t.Set("DSET", s.Dataset.Tree(s.Family))
	t.Set("RANK2FILE", s.rank2file().Tree(s.Family))
	for _, id := range slices.Sorted(maps.Keys(s.Sets)) {
		set := s.Sets[id]
		x := t.Sub("XOR", id.String())
		x.PutInt("MEMBERS", int64(set.Members))
		for _, member := range slices.Sorted(maps.Keys(set.Files)) {
			m := x.Sub("MEMBER", strconv.Itoa(member+1))
			m.PutString("FILE", set.Files[member].Name)
			m.PutInt("RANK", int64(set.Files[member].Rank))
		}
	}
	for _, r := range s.Missing {
		t.SetKV("MISSING", r.String())
	}
	if len(s.Invalid) > 0 {
		t.PutFlag("INVALID")
	}
	if len(s.Unrecoverable) > 0 {
		t.PutFlag("UNRECOVERABLE")
	}
	for _, b := range s.Build {
		t.SetKV("BUILD", s.Command(prefixDir, b))
	}
	return top
}

// Command is a rebuild as a command line.
func (s *Scan) Command(prefixDir string, b Build) string {
	return fmt.Sprintf("scrfs rebuild --dataset %s --set %d --missing %d", quoteShell(path.Join(prefixDir, s.Dir)), b.Set, b.Rank)
}
