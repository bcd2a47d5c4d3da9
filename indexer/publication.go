package indexer

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/scrfs/scrfs/scr"
)

// publication finds what of a whole stage is to be moved where.
func (s *Scan) publication() (publication, error) {
	pub := publication{Dataset: s.Dataset, Dir: s.Dir}
	var files []string
	written := map[string]scr.Timespec{} // loose files may be told by their age
	for _, e := range s.Entries {
		for _, f := range e.Files {
			if f.NoFetch {
				continue
			}
			rel, err := s.paths().UserFile(s.Dir, f.Name)
			if err != nil {
				return pub, err
			}
			files = append(files, rel)
			if f.Attr != nil {
				written[rel] = f.Attr.Modify
			}
		}
	}
	tree, err := s.tree()
	if err != nil {
		return pub, err
	}
	layout := scr.LayoutOf(s.Dataset.ID, tree, files)
	if layout.Dir != s.Dir {
		return pub, fmt.Errorf("dataset directory is %s, by its files it should be %s: %w", s.Dir, layout.Dir, scr.ErrInvalid)
	}
	pub.Roots, pub.Loose = layout.Roots, layout.Loose
	links := map[string]bool{}
	for _, l := range tree.Symlinks {
		links[l.Path] = true
	}
	// What was written last tells programs that the rest is there: files go in
	// the order of their age, links, which are made when all is written, after.
	slices.SortStableFunc(pub.Loose, func(a, b string) int {
		if links[a] != links[b] {
			if links[b] {
				return -1
			}
			return 1
		}
		ta, tb := written[a], written[b]
		if ta.Secs != tb.Secs {
			return compare(ta.Secs, tb.Secs)
		}
		return compare(ta.Nsecs, tb.Nsecs)
	})
	return pub, nil
}

func compare(a, b int64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// tree returns the dataset's directories and links with names relative to the
// prefix directory. Filemaps name them relative to the dataset directory, as
// files; those of the cache are taken as they are, relative to the prefix.
func (s *Scan) tree() (scr.DirTree, error) {
	var tree scr.DirTree
	for _, r := range slices.Sorted(maps.Keys(s.Entries)) {
		if t := s.Entries[r].Tree; !t.Empty() {
			tree = t
			break
		}
	}
	if s.namedFromPrefix(tree) {
		return tree, nil
	}
	var err error
	resolve := func(list []scr.TreeEntry) []scr.TreeEntry {
		out := slices.Clone(list)
		for i := range out {
			rel := s.Dir
			if out[i].Path != "." {
				var rerr error
				if rel, rerr = s.paths().Resolve(s.Dir, out[i].Path); rerr != nil {
					err = errors.Join(err, rerr)
				}
			}
			out[i].Path = rel
		}
		return out
	}
	tree = scr.DirTree{Dirs: resolve(tree.Dirs), Symlinks: resolve(tree.Symlinks), Hardlinks: resolve(tree.Hardlinks)}
	return tree, err
}

// namedFromPrefix tells which of the two forms a tree has. Relative to the
// dataset directory a root is "." and everything else begins with "../".
func (s *Scan) namedFromPrefix(tree scr.DirTree) bool {
	for _, list := range [][]scr.TreeEntry{tree.Dirs, tree.Symlinks, tree.Hardlinks} {
		for _, e := range list {
			if e.Path == "." || strings.HasPrefix(e.Path, "../") {
				return false
			}
		}
	}
	return true
}
