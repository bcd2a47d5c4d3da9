package indexer

import (
	"slices"
	"strings"
	"testing"

	"github.com/scrfs/scrfs/kvtree"
	"github.com/scrfs/scrfs/scr"
)

// A journal that can be read is written the same, and names nothing outside the
// prefix directory.
func FuzzPublicationFromTree(f *testing.F) {
	good := publication{Dataset: scr.Dataset{ID: 3, Name: "scr.dataset.3"}, Key: "k", Dir: "run/ckpt", Roots: []string{"run/ckpt"}, Loose: []string{"a", "b/c"}}
	f.Add(kvtree.Encode(good.tree()))
	bad := good
	bad.Loose = []string{"../../etc/x"}
	f.Add(kvtree.Encode(bad.tree()))
	f.Fuzz(func(t *testing.T, data []byte) {
		tree, _, err := kvtree.Decode(data)
		if err != nil {
			return
		}
		p, err := publicationFromTree(tree)
		if err != nil {
			return
		}
		for _, name := range slices.Concat([]string{p.Dir}, p.Roots, p.Loose) {
			if name == "" || name[0] == '/' || name == ".." || strings.HasPrefix(name, "../") || strings.ContainsRune(name, 0) {
				t.Errorf("name %q", name)
			}
		}
		again, err := publicationFromTree(p.tree())
		if err != nil || !slices.Equal(again.Roots, p.Roots) || !slices.Equal(again.Loose, p.Loose) || again.Dir != p.Dir || again.Key != p.Key || again.Dataset != p.Dataset {
			t.Errorf("%+v was read again as %+v, %v", p, again, err)
		}
	})
}

// Whatever a dataset directory has, a scan ends and a rebuild writes nothing
// outside: names are placed below the prefix directory or refused.
func FuzzPlace(f *testing.F) {
	f.Add("a", "/p/x", "a", 0)
	f.Add("run/ckpt.9/sub/a", "/p/run/ckpt.9/sub", "a", 3)
	f.Add("../../x", "/p/..", "../x", 4)
	names := []string{"F11", "F14", "F12", "F14 root", "F14 loose"}
	f.Fuzz(func(t *testing.T, file, dir, name string, which int) {
		if which < 0 || which >= len(names) {
			return
		}
		l := layouts[names[which]]
		s := Scan{Family: l.family, Dir: l.dir}
		rel, inMap, err := s.place("/p", scr.FileMeta{File: file, Path: dir, Name: name, Type: scr.UserFile})
		if err != nil {
			return
		}
		if rel == "" || rel[0] == '/' || slices.Contains(strings.Split(rel, "/"), "..") || slices.Contains(strings.Split(rel, "/"), ".scr") {
			t.Errorf("%s: %q, %q, %q goes to %q", names[which], file, dir, name, rel)
		}
		if back, err := s.paths().UserFile(l.dir, inMap); err != nil || back != rel {
			t.Errorf("%s: %q is %q in the filemap, which is %q, %v", names[which], rel, inMap, back, err)
		}
	})
}
