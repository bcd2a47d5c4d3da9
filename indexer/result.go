package indexer

import (
	"fmt"
	"maps"
	"path"
	"reflect"
	"slices"
	"strings"

	"github.com/scrfs/scrfs/internal/disk"
	"github.com/scrfs/scrfs/scr"
)

// writeResult writes what a complete scan says into the dataset directory: the
// rank2file map first, then the summary that vouches for it.
func (s *Scan) writeResult(prefix disk.FS) error {
	p := s.paths()
	ranks := s.rank2file()
	summary := scr.Summary{Complete: true, Dataset: s.Dataset}
	if s.Family == scr.F11 {
		summary.Ranks = &ranks
	} else if err := scr.WriteRank2File(prefix, ranks.SplitForIndex(p, s.Dir)); err != nil {
		return fmt.Errorf("rank2file of dataset %d: %w", s.Dataset.ID, err)
	}
	if err := scr.WriteSummary(prefix, p, s.Dir, summary); err != nil {
		return fmt.Errorf("summary of dataset %d: %w", s.Dataset.ID, err)
	}
	return nil
}

// rank2file is the map of all ranks. A tree of directories that is the same for
// all ranks is written with the first one only.
func (s *Scan) rank2file() scr.Rank2File {
	m := scr.Rank2File{Ranks: s.Ranks}
	var tree scr.DirTree
	for _, r := range slices.Sorted(maps.Keys(s.Entries)) {
		e := s.Entries[r]
		files := scr.RankFiles{Rank: r, Expected: scr.LimitOf(int64(e.Expected)), Files: e.Files}
		if !e.Tree.Empty() && !reflect.DeepEqual(e.Tree, tree) {
			files.Tree, tree = s.relativeTree(e.Tree), e.Tree
		}
		m.Ranks = max(m.Ranks, int(r)+1)
		m.Entries = append(m.Entries, files)
	}
	return m
}

// relativeTree names directories and links as files are named, relative to the
// dataset directory, so that they stay right when that is renamed. Those of a
// filemap are relative to the prefix directory of the time.
func (s *Scan) relativeTree(tree scr.DirTree) scr.DirTree {
	if !s.namedFromPrefix(tree) {
		return tree
	}
	base := s.base
	if base == "" || s.Family != scr.F14 {
		base = s.Dir
	}
	relative := func(list []scr.TreeEntry) []scr.TreeEntry {
		out := slices.Clone(list)
		for i := range out {
			name := path.Clean(out[i].Path)
			if below, ok := strings.CutPrefix(name, base+"/"); ok && !looseDir(s.Dir) {
				out[i].Path = below
			} else if name == base {
				out[i].Path = "."
			} else {
				out[i].Path = s.paths().NameIn(s.Dir, name)
			}
		}
		return out
	}
	return scr.DirTree{Dirs: relative(tree.Dirs), Symlinks: relative(tree.Symlinks), Hardlinks: relative(tree.Hardlinks)}
}
