package scr

import (
	"path"
	"slices"
)

// Layout says how what scrfs wrote lies in the prefix directory.
type Layout struct {
	// Dir is the dataset directory, relative to the prefix directory.
	Dir string
	// Roots are the topmost directories that the dataset made, sorted; each is
	// moved into place as a whole.
	Roots []string
	// Loose are the files and links outside the roots, sorted.
	Loose []string
}

// LayoutOf finds the layout of a dataset in F14. The tree has the directories
// that the dataset made, not those it found. All names are relative to the
// prefix directory and cleaned. With one root and nothing loose the root is the
// dataset directory, and so can be renamed with all that SCR knows of it.
func LayoutOf(id DatasetID, tree DirTree, files []string) Layout {
	var l Layout
	made := map[string]bool{}
	for _, d := range tree.Dirs {
		made[d.Path] = true
	}
	for d := range made {
		if !hasAncestor(made, d) {
			l.Roots = append(l.Roots, d)
		}
	}
	names := slices.Clone(files)
	for _, list := range [][]TreeEntry{tree.Symlinks, tree.Hardlinks} {
		for _, e := range list {
			names = append(names, e.Path)
		}
	}
	for _, name := range names {
		if !hasAncestor(made, name) {
			l.Loose = append(l.Loose, name)
		}
	}
	slices.Sort(l.Roots)
	slices.Sort(l.Loose)
	root := ""
	if len(l.Roots) == 1 && len(l.Loose) == 0 {
		root = l.Roots[0]
	}
	l.Dir = Paths{Family: F14}.DatasetDir(id, root)
	return l
}

// hasAncestor tells whether a directory above name is in the set.
func hasAncestor(dirs map[string]bool, name string) bool {
	for dir := path.Dir(name); dir != "." && dir != "/"; dir = path.Dir(dir) {
		if dirs[dir] {
			return true
		}
	}
	return false
}

// TagDatasetDir is the tag of a filemap entry that holds the dataset directory,
// relative to the prefix directory. It is ours: a node that has only part of a
// dataset's files cannot tell the layout from them.
const TagDatasetDir = "DATASETDIR"
