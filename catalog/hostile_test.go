package catalog

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/scrfs/scrfs/kvtree"
)

func TestRestoreRefusesWhatNoStateCanBe(t *testing.T) {
	x := newTree(t)
	at := func(t *kvtree.Tree, ino Ino) *kvtree.Tree { return t.Get("INODE", strconv.FormatInt(int64(ino), 10)) }
	for what, spoil := range map[string]func(*kvtree.Tree){
		"a directory below itself":       func(s *kvtree.Tree) { at(s, x.ckpt).PutInt("DIRINO", int64(x.sub)) },
		"a directory in itself":          func(s *kvtree.Tree) { at(s, x.ckpt).PutInt("DIRINO", int64(x.ckpt)) },
		"a child of a file":              func(s *kvtree.Tree) { at(s, x.sub).PutInt("DIRINO", int64(x.b)) },
		"a child of nothing":             func(s *kvtree.Tree) { at(s, x.sub).PutInt("DIRINO", int64(x.link+5)) },
		"a child of a removed directory": func(s *kvtree.Tree) { at(s, x.ckpt).Unset("NAME"); at(s, x.ckpt).Sub("WRITERS").PutInt("n0", 1) },
		"a name with a slash":            func(s *kvtree.Tree) { at(s, x.b).PutString("NAME", "../b") },
		"the name dot dot":               func(s *kvtree.Tree) { at(s, x.b).PutString("NAME", "..") },
		"a name twice":                   func(s *kvtree.Tree) { at(s, x.b).PutString("NAME", "link") },
		"no name and no writer":          func(s *kvtree.Tree) { at(s, x.b).Unset("NAME") },
		"two names":                      func(s *kvtree.Tree) { at(s, x.b).SetKV("NAME", "second") },
		"an inode to come":               func(s *kvtree.Tree) { s.PutInt("NEXT", int64(x.link)) },
		"no next inode":                  func(s *kvtree.Tree) { s.Unset("NEXT") },
		"an inode of the prefix":         func(s *kvtree.Tree) { s.Sub("INODE", "12").PutString("NAME", "n") },
		"an inode that is no number":     func(s *kvtree.Tree) { s.Sub("INODE", "twelve") },
		"a size that is no number":       func(s *kvtree.Tree) { at(s, x.b).PutString("SIZE", "big") },
		"no writers":                     func(s *kvtree.Tree) { at(s, x.a).Sub("WRITERS").PutInt("n0", 0) },
		"a value without quotes":         func(s *kvtree.Tree) { at(s, x.a).Sub("XATTR").PutString("user.x", "v") },
		"an answer that is none":         func(s *kvtree.Tree) { s.Sub("ANSWERS", "n0", "seven") },
		"an answer twice":                func(s *kvtree.Tree) { s.Sub("ANSWERS", "n0", "7 0 0"); s.Sub("ANSWERS", "n0", "7 0 2") },
	} {
		snap := x.Snapshot()
		spoil(snap)
		if _, err := Restore(snap); err == nil {
			t.Errorf("%s: restored", what)
		}
	}
	if _, err := Restore(x.Snapshot()); err != nil {
		t.Errorf("a good one: %v", err)
	}
}

func FuzzRestore(f *testing.F) {
	x := newTree(f)
	f.Add(kvtree.Pack(x.Snapshot()))
	f.Add(kvtree.Pack(New().Snapshot()))
	f.Fuzz(func(t *testing.T, b []byte) {
		tree, err := kvtree.Unpack(b)
		if err != nil {
			return
		}
		s, err := Restore(tree)
		if err != nil {
			return
		}
		again, err := Restore(s.Snapshot())
		if err != nil || !kvtree.Equal(s.Snapshot(), again.Snapshot()) {
			t.Fatalf("what was restored cannot be: %v", err)
		}
		for _, n := range s.inodes {
			s.Path(n)
		}
		for _, n := range again.inodes {
			if _, err := s.Apply(Op{Kind: OpDrop, Dataset: n.Dataset}); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func FuzzOpFromTree(f *testing.F) {
	f.Add(kvtree.Pack(Op{Kind: OpRename, Name: "a", NewName: "b", Target: "\x00", Dir: Dir{Path: "x"}}.Tree()))
	f.Fuzz(func(t *testing.T, b []byte) {
		tree, err := kvtree.Unpack(b)
		if err != nil {
			return
		}
		o, err := OpFromTree(tree)
		if err != nil {
			return
		}
		again, err := OpFromTree(o.Tree())
		if err != nil || fmt.Sprint(again) != fmt.Sprint(o) {
			t.Fatalf("%+v, again %+v: %v", o, again, err)
		}
		x := newTree(t)
		check := x.Check(o)
		if _, err := x.Apply(o); err != check {
			t.Fatalf("%+v: check %v, apply %v", o, check, err)
		}
		if _, err := Restore(x.Snapshot()); err != nil {
			t.Fatalf("%+v: %v", o, err)
		}
	})
}
