package catalog

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/scrfs/scrfs/kvtree"
	"github.com/scrfs/scrfs/scr"
	"pgregory.net/rapid"
)

// model is a tree of names as a plain map from path to what it is: "d" or "f"
// and its inode number. It does not know datasets.
type model map[string]string

func (m model) below(path string) []string {
	var list []string
	for p := range m {
		if p == path || strings.HasPrefix(p, path+"/") {
			list = append(list, p)
		}
	}
	slices.Sort(list)
	return list
}

func (m model) take(path string) model {
	sub := model{}
	for _, p := range m.below(path) {
		sub[strings.TrimPrefix(p, path)] = m[p]
		delete(m, p)
	}
	return sub
}

func (m model) put(path string, sub model) {
	for rest, v := range sub {
		m[path+rest] = v
	}
}

// modelOf is what a state shows.
func modelOf(t *rapid.T, s *State) model {
	m := model{}
	for _, n := range s.inodes {
		if p, ok := s.Path(n); ok {
			if m[p] != "" {
				t.Fatalf("two inodes at %s", p)
			}
			m[p] = entryOf(n)
		}
	}
	return m
}

func entryOf(n *Inode) string {
	kind := "f"
	if n.IsDir() {
		kind = "d"
	}
	return fmt.Sprint(kind, uint64(n.Ino))
}

func drawOp(t *rapid.T, s *State) Op {
	name := rapid.SampledFrom([]string{"a", "b", "c"})
	inos := append(slices.Sorted(maps.Keys(s.inodes)), 1)
	dir := func(label string) Dir {
		if rapid.Bool().Draw(t, label+" in the prefix") {
			return Dir{Path: rapid.SampledFrom([]string{"p", "p/q", "r"}).Draw(t, label)}
		}
		return Dir{Ino: rapid.SampledFrom(inos).Draw(t, label)}
	}
	return Op{
		Kind: rapid.SampledFrom([]Kind{
			OpMkdir, OpMkdir, OpMkdir, OpCreate, OpCreate, OpSymlink, OpUnlink, OpRmdir, OpRename, OpRename, OpRename, OpSetAttr,
			OpOpen, OpClose, OpClose, OpXattr, OpMoved, OpNodeDown, OpForget, OpDrop, OpMoveDir,
		}).Draw(t, "kind"),
		Node: rapid.SampledFrom([]string{"n0", "n1"}).Draw(t, "node"), Request: uint64(rapid.IntRange(0, 40).Draw(t, "request")),
		Now: rapid.Int64Range(0, 1000).Draw(t, "now"), Dir: dir("dir"), NewDir: dir("new dir"), Name: name.Draw(t, "name"),
		NewName: name.Draw(t, "new name"), Flags: uint32(rapid.IntRange(0, 4).Draw(t, "flags")), Ino: rapid.SampledFrom(inos).Draw(t, "ino"),
		Mask: AttrMask(rapid.IntRange(0, 63).Draw(t, "mask")), Mode: rapid.Uint32().Draw(t, "mode"), SizeBytes: rapid.Int64().Draw(t, "size"),
		Target: rapid.SampledFrom([]string{"", "x", "\x00\xff\n"}).Draw(t, "target"), Dataset: scr.DatasetID(rapid.IntRange(1, 3).Draw(t, "dataset")),
	}
}

// apply does to the model what a successful operation means.
func (m model) apply(o Op, res Result, from, to string) {
	switch o.Kind {
	case OpMkdir, OpCreate, OpSymlink:
		m[from] = entryOf(res.Inode)
	case OpUnlink, OpRmdir:
		delete(m, from)
	case OpRename:
		if from == to {
			return
		}
		moved := m.take(from)
		replaced := m.take(to)
		m.put(to, moved)
		if o.Flags == RenameExchange {
			m.put(from, replaced)
		}
	}
}

func pathIn(s *State, dir Dir, name string) string {
	if dir.Ino == 0 {
		return dir.Path + "/" + name
	}
	p, _ := s.Path(s.Inode(dir.Ino))
	return p + "/" + name
}

func TestRandomOperationsAgainstAModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, twin, m := New(), New(), model{}
		for range rapid.IntRange(1, 60).Draw(t, "operations") {
			o := drawOp(t, s)
			if n := s.Inode(o.Ino); o.Kind == OpForget && n != nil && n.IsDir() || o.Kind == OpDrop && o.Flags == DropPublished {
				continue // these leave names to directories that the prefix has then
			}
			from, to := pathIn(s, o.Dir, o.Name), pathIn(s, o.NewDir, o.NewName)
			before, check := s.Snapshot(), s.Check(o)
			res, err := s.Apply(o)
			if err != check && !res.Repeated {
				t.Fatalf("%+v: check said %v, apply %v", o, check, err)
			}
			if (err != nil || res.Repeated) && o.Request == 0 && !kvtree.Equal(before, s.Snapshot()) {
				t.Fatalf("%+v: %v, and something has changed", o, err)
			}
			switch {
			case o.Kind == OpDrop || o.Kind == OpForget || o.Kind == OpMoveDir:
				m = modelOf(t, s) // have tests of their own
			case err == nil && !res.Repeated:
				m.apply(o, res, from, to)
			}
			if diff := cmp.Diff(m, modelOf(t, s)); diff != "" {
				t.Fatalf("%+v: names differ (-model +state):\n%s", o, diff)
			}
			// Another node gets the operation over the wire.
			wire, wireErr := OpFromTree(o.Tree())
			if wireErr != nil {
				t.Fatal(wireErr)
			}
			if _, twinErr := twin.Apply(wire); twinErr != err {
				t.Fatalf("%+v: %v, on another node %v", o, err, twinErr)
			}
			checkSnapshot(t, s, twin)
			if rapid.IntRange(0, 9).Draw(t, "restore") == 0 {
				var restoreErr error
				if twin, restoreErr = Restore(twin.Snapshot()); restoreErr != nil {
					t.Fatal(restoreErr)
				}
			}
		}
	})
}

func checkSnapshot(t *rapid.T, s, twin *State) {
	t.Helper()
	snap := s.Snapshot()
	if !kvtree.Equal(snap, twin.Snapshot()) {
		t.Fatal("two states with the same operations differ")
	}
	packed, err := kvtree.Unpack(kvtree.Pack(snap))
	if err != nil {
		t.Fatal(err)
	}
	back, err := Restore(packed)
	if err != nil {
		t.Fatalf("restore: %v", err)
	}
	if !kvtree.Equal(snap, back.Snapshot()) {
		t.Fatal("a restored state differs")
	}
}

func TestOpGoesOverTheWire(t *testing.T) {
	text := rapid.Custom(func(t *rapid.T) string {
		return strings.ReplaceAll(string(rapid.SliceOfN(rapid.Byte(), 0, 20).Draw(t, "bytes")), "\x00", "")
	})
	rapid.Check(t, func(t *rapid.T) {
		o := Op{
			Kind: Kind(text.Draw(t, "kind")), Node: text.Draw(t, "node"), Request: rapid.Uint64().Draw(t, "request"), Now: rapid.Int64().Draw(t, "now"),
			Dir: Dir{Ino(rapid.Uint64().Draw(t, "dir")), text.Draw(t, "dir path")}, NewDir: Dir{Ino(rapid.Uint64().Draw(t, "new dir")), text.Draw(t, "new path")},
			Name: text.Draw(t, "name"), NewName: text.Draw(t, "new name"), Flags: rapid.Uint32().Draw(t, "flags"), Ino: Ino(rapid.Uint64().Draw(t, "ino")),
			Mask: AttrMask(rapid.Uint32().Draw(t, "mask")), Mode: rapid.Uint32().Draw(t, "mode"), UID: rapid.Uint32().Draw(t, "uid"), GID: rapid.Uint32().Draw(t, "gid"),
			SizeBytes: rapid.Int64().Draw(t, "size"), Atime: rapid.Int64().Draw(t, "atime"), Mtime: rapid.Int64().Draw(t, "mtime"),
			Target: string(rapid.SliceOf(rapid.Byte()).Draw(t, "target")), Dataset: scr.DatasetID(rapid.Int64().Draw(t, "dataset")),
			Rank: scr.Rank(rapid.Int().Draw(t, "rank")), World: rapid.Int().Draw(t, "world"), App: text.Draw(t, "app"),
		}
		for id := range rapid.IntRange(0, 3).Draw(t, "kept") {
			o.Kept = append(o.Kept, scr.DatasetID(id+1))
		}
		tree, err := kvtree.Unpack(kvtree.Pack(o.Tree()))
		if err != nil {
			t.Fatal(err)
		}
		got, err := OpFromTree(tree)
		if diff := cmp.Diff(o, got); err != nil || diff != "" {
			t.Fatalf("%v (-sent +got):\n%s", err, diff)
		}
	})
}
