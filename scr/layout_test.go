package scr

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLayoutOfADataset(t *testing.T) {
	dirs := func(names ...string) DirTree {
		var d DirTree
		for _, name := range names {
			d.Dirs = append(d.Dirs, TreeEntry{Path: name})
		}
		return d
	}
	linked := dirs("run/ckpt.10")
	linked.Symlinks = []TreeEntry{{Path: "latest", Target: "run/ckpt.10"}}
	for name, c := range map[string]struct {
		tree  DirTree
		files []string
		want  Layout
	}{
		"one root": {
			dirs("run/ckpt.10/sub", "run/ckpt.10"), []string{"run/ckpt.10/a", "run/ckpt.10/sub/b"},
			Layout{Dir: "run/ckpt.10", Roots: []string{"run/ckpt.10"}},
		},
		"an empty root":                     {dirs("d"), nil, Layout{Dir: "d", Roots: []string{"d"}}},
		"two roots":                         {dirs("b", "a"), []string{"a/x", "b/x"}, Layout{Dir: ".scr/scr.dataset.7", Roots: []string{"a", "b"}}},
		"loose files":                       {DirTree{}, []string{"pp.50.1", "pp.50.0"}, Layout{Dir: ".scr/scr.dataset.7", Loose: []string{"pp.50.0", "pp.50.1"}}},
		"a root and a loose file":           {dirs("d"), []string{"d/x", "marker"}, Layout{Dir: ".scr/scr.dataset.7", Roots: []string{"d"}, Loose: []string{"marker"}}},
		"a root and a loose link":           {linked, []string{"run/ckpt.10/a"}, Layout{Dir: ".scr/scr.dataset.7", Roots: []string{"run/ckpt.10"}, Loose: []string{"latest"}}},
		"a name that only begins as a root": {dirs("d"), []string{"d2/x"}, Layout{Dir: ".scr/scr.dataset.7", Roots: []string{"d"}, Loose: []string{"d2/x"}}},
	} {
		if diff := cmp.Diff(c.want, LayoutOf(7, c.tree, c.files)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
