package scr

import (
	"slices"
	"strings"

	"github.com/scrfs/scrfs/kvtree"
)

// DirTree holds what a dataset has besides files: directories, symbolic links
// and hard links. The key TREE is ours; SCR's readers skip it.
//
//	TREE / DIR / <path> / MODE, UID, ...
//	       SYMLINK / <path> / TARGET / <text of the link>, MODE, UID, ...
//	       HARDLINK / <path> / TARGET / <path of a file of the dataset>
//
// Paths are relative like the names of files, and as hostile.
type DirTree struct {
	Dirs      []TreeEntry // no Target
	Symlinks  []TreeEntry // Target is any text and is not resolved
	Hardlinks []TreeEntry // Target is the path of a file
}

// TreeEntry is one directory or link. Attr is nil if not recorded.
type TreeEntry struct {
	Path, Target string
	Attr         *FileAttr
}

// Empty tells whether there is nothing to record.
func (d DirTree) Empty() bool {
	return len(d.Dirs) == 0 && len(d.Symlinks) == 0 && len(d.Hardlinks) == 0
}

// Tree returns the hash below TREE; the same in every family.
func (d DirTree) Tree(Family) *kvtree.Tree {
	t := kvtree.New()
	putEntries(t, keyDir, d.Dirs)
	putEntries(t, "SYMLINK", d.Symlinks)
	putEntries(t, "HARDLINK", d.Hardlinks)
	return t
}

func putEntries(t *kvtree.Tree, key string, entries []TreeEntry) {
	if len(entries) == 0 {
		return
	}
	list := kvtree.New()
	for _, e := range entries {
		record := kvtree.New()
		putText(record, "TARGET", e.Target)
		if e.Attr != nil {
			e.Attr.put(record)
		}
		list.Set(e.Path, record)
	}
	t.Set(key, list)
}

// DirTreeFromTree reads the hash below TREE. Entries come sorted by path, so a
// directory stands before what is in it. Errors wrap ErrInvalid.
func DirTreeFromTree(t *kvtree.Tree) (DirTree, error) {
	var d DirTree
	for _, kind := range []struct {
		key  string
		list *[]TreeEntry
	}{{keyDir, &d.Dirs}, {"SYMLINK", &d.Symlinks}, {"HARDLINK", &d.Hardlinks}} {
		for path, record := range t.Get(kind.key).All() {
			f := fields{tree: record, record: "tree entry " + kind.key + " " + quote(path)}
			e := TreeEntry{Path: path}
			if kind.key != keyDir {
				e.Target = f.text("TARGET")
			}
			e.Attr = attrFromTree(&f)
			if path == "" {
				f.fail("path is empty: %w", ErrInvalid)
			}
			if f.err != nil {
				return DirTree{}, f.err
			}
			*kind.list = append(*kind.list, e)
		}
		slices.SortFunc(*kind.list, func(a, b TreeEntry) int { return strings.Compare(a.Path, b.Path) })
	}
	return d, nil
}
