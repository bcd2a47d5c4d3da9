package scr

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/scrfs/scrfs/internal/disk"
	"github.com/scrfs/scrfs/kvtree"
)

// The golden files were written by SCR itself: development trees of 22 Nov 2011
// (F11) and 29 Jan 2014 (F14) and release 1.2.2 (F12).

func TestRecordsOfSCRSurviveReadAndWrite(t *testing.T) {
	for _, f := range Families() {
		t.Run(f.String(), func(t *testing.T) {
			kinds := checkGoldens(t, f, filepath.Join("testdata", "golden", f.String()))
			wantKinds(t, f, kinds)
		})
	}
}

// A checkout of the whole project has all of SCR's files beside it.
func TestAllRecordsOfSCRSurviveReadAndWrite(t *testing.T) {
	for f, version := range map[Family]string{F11: "dev-20111122", F14: "dev-20140129", F12: "v1.2.2"} {
		dir := filepath.Join("..", "..", "shared", "golden", version)
		if _, err := os.Stat(dir); err != nil {
			t.Logf("%s is not here: the golden files in testdata stand for it", dir)
			continue
		}
		t.Run(version, func(t *testing.T) { wantKinds(t, f, checkGoldens(t, f, dir)) })
	}
}

func wantKinds(t *testing.T, f Family, kinds map[string]int) {
	t.Helper()
	want := []string{"filemap", "flush", "halt", "index", "master", "nodes", "redundancy", "summary", "transfer"}
	if f != F11 {
		want = append(want, "rank2file")
	}
	for _, kind := range want {
		if kinds[kind] == 0 {
			t.Errorf("no golden file of kind %s was checked", kind)
		}
	}
}

func checkGoldens(t *testing.T, f Family, root string) map[string]int {
	t.Helper()
	kinds := map[string]int{}
	err := filepath.WalkDir(root, func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		if strings.Contains(name, "/dumps/") {
			return nil
		}
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		if len(data) < 4 || string(data[:2]) != "\x95\x1f" {
			return nil // a user file or a text
		}
		tree, _, err := kvtree.Decode(data)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			return nil
		}
		kind := goldenKind(f, name)
		if kind == "" {
			t.Errorf("%s: kind of file not known", name)
			return nil
		}
		kinds[kind]++
		goldenChecks[kind](t, name, f, tree)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return kinds
}

func goldenKind(f Family, name string) string {
	base := path.Base(filepath.ToSlash(name))
	p := Paths{Family: f}
	if _, ok := p.ParseXORName(base); ok {
		return "redundancy"
	}
	if _, ok := p.ParseRankFilemapName(base); ok {
		return "filemap"
	}
	switch {
	case base == masterName:
		return "master"
	case strings.HasPrefix(base, "filemap_"):
		return "filemap"
	case base == xferName:
		return "transfer"
	case strings.HasPrefix(base, "rank2file"):
		return "rank2file"
	case strings.Contains(name, "halt"):
		return "halt"
	case base == indexName, base == flushName, base == nodesName, base == summaryName:
		return strings.TrimSuffix(base, ".scr")
	}
	return ""
}

var goldenChecks = map[string]func(t *testing.T, name string, f Family, tree *kvtree.Tree){
	"master": func(t *testing.T, name string, f Family, tree *kvtree.Tree) {
		got, err := MasterFilemapFromTree(tree)
		same(t, name, tree, err, func() *kvtree.Tree { return got.Tree(f) })
	},
	"filemap": checkFilemap,
	"redundancy": func(t *testing.T, name string, f Family, tree *kvtree.Tree) {
		desc, err := DatasetFromTree(tree.Get("DSET"))
		same(t, name, tree.Get("DSET"), err, func() *kvtree.Tree { return desc.Tree(f) })
		for _, who := range []string{"CURRENT", "PARTNER"} {
			for i, record := range tree.Get(who, "FILE").All() {
				meta, err := FileMetaFromTree(record)
				same(t, name+" "+who+" "+i, record, err, func() *kvtree.Tree { return meta.Tree(f) })
			}
		}
	},
	"summary": func(t *testing.T, name string, f Family, tree *kvtree.Tree) {
		got, err := SummaryFromTree(tree)
		same(t, name, tree, err, func() *kvtree.Tree { return got.Tree(f) })
	},
	"rank2file": func(t *testing.T, name string, f Family, tree *kvtree.Tree) {
		if tree.Get("LEVEL", "0") == nil {
			return // inner files are checked where the map is read
		}
		entries, err := rankEntries(tree.Get("RANK"), MaxRanks)
		same(t, name, tree, err, func() *kvtree.Tree {
			out := Rank2File{Ranks: len(entries), Entries: entries}.Tree(f)
			out.PutInt("LEVEL", 0)
			return out
		})
	},
	"index": func(t *testing.T, name string, f Family, tree *kvtree.Tree) {
		got, err := IndexFromTree(f, tree.Clone())
		same(t, name, tree, err, func() *kvtree.Tree {
			out := NewIndex(f)
			entries, err := got.Entries()
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range entries {
				if err := out.Put(e); err != nil {
					t.Fatal(err)
				}
			}
			if current, ok := got.Current(); ok {
				if err := out.SetCurrent(current); err != nil {
					t.Fatal(err)
				}
			}
			return out.Tree()
		})
	},
	"flush": func(t *testing.T, name string, f Family, tree *kvtree.Tree) {
		got, err := FlushFileFromTree(f, tree.Clone())
		same(t, name, tree, err, func() *kvtree.Tree {
			out := NewFlushFile(f)
			for _, d := range got.Datasets() {
				e, err := got.Entry(d)
				if err != nil {
					t.Fatal(err)
				}
				out.Put(d, e)
				for _, l := range []Location{InCache, InPrefix, Flushing, SyncFlushing} {
					if got.At(d, l) {
						out.SetLocation(d, l)
					}
				}
			}
			return out.Tree()
		})
	},
	"halt": func(t *testing.T, name string, f Family, tree *kvtree.Tree) {
		got, err := HaltFileFromTree(tree)
		got.other = nil // only what the fields say
		same(t, name, tree, err, func() *kvtree.Tree { return got.Tree(f) })
	},
	"nodes": func(t *testing.T, name string, f Family, tree *kvtree.Tree) {
		got, err := NodesFileFromTree(tree)
		same(t, name, tree, err, func() *kvtree.Tree { return got.Tree(f) })
	},
	"transfer": func(t *testing.T, name string, f Family, tree *kvtree.Tree) {
		got, err := TransferFileFromTree(tree)
		same(t, name, tree, err, func() *kvtree.Tree { return got.Tree(f) })
	},
}

// checkFilemap writes every record of a filemap anew through its type.
func checkFilemap(t *testing.T, name string, f Family, tree *kvtree.Tree) {
	got, err := FilemapFromTree(tree.Clone())
	same(t, name, tree, err, func() *kvtree.Tree {
		out := NewFilemap().InFamily(f)
		for _, d := range got.Datasets() {
			for _, r := range got.RanksOf(d) {
				copyThroughTypes(t, out, got, d, r)
			}
		}
		return out.Tree()
	})
}

func copyThroughTypes(t *testing.T, to, from *Filemap, d DatasetID, r Rank) {
	t.Helper()
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range from.Files(d, r) {
		to.AddFile(d, r, file)
		if from.entry(d, r).Get("FILE", file, "META").Len() == 0 {
			to.entry(d, r).Sub("FILE", file).Set("META", from.entry(d, r).Get("FILE", file, "META"))
			continue
		}
		meta, err := from.Meta(d, r, file)
		check(err)
		to.SetMeta(d, r, file, meta)
	}
	e := from.entry(d, r)
	if e.Has("FILES") {
		n, err := from.ExpectedFiles(d, r)
		check(err)
		to.SetExpectedFiles(d, r, n)
	}
	if e.Has("DSETDESC") && e.Get("DSETDESC").Len() == 0 { // F11, a partner's copy
		to.entry(d, r).Set("DSETDESC", nil)
	} else if e.Has("DSETDESC") {
		desc, err := from.Dataset(d, r)
		check(err)
		to.SetDataset(d, r, desc)
	}
	if e.Has("REDDESC") {
		desc, err := from.Descriptor(d, r)
		check(err)
		to.SetDescriptor(d, r, desc)
	}
	flush, err := from.Flush(d, r)
	check(err)
	switch {
	case e.Has("FLUSH") && e.Get("FLUSH").Len() == 0: // release 1.2.2, a rebuilt rank
		to.entry(d, r).Set("FLUSH", nil)
	case e.Has("FLUSH"), e.Has("PARTNER"):
		to.SetFlush(d, r, flush)
	}
}

// same compares what was read with what is written for it.
func same(t *testing.T, name string, want *kvtree.Tree, err error, write func() *kvtree.Tree) {
	t.Helper()
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return
	}
	if got := write(); !kvtree.Equal(got, want) {
		t.Errorf("%s: written differs from read (-want +got):\n%s", name, cmp.Diff(text(want), text(got)))
	}
}

// text is the hash with sorted keys, for messages.
func text(tree *kvtree.Tree) []string {
	var out []string
	var walk func(t *kvtree.Tree, indent string)
	walk = func(t *kvtree.Tree, indent string) {
		for _, key := range t.SortedKeys() {
			out = append(out, indent+key)
			walk(t.Get(key), indent+"  ")
		}
	}
	walk(tree, "")
	return out
}

// The map of several files is read whole and written as SCR's command and flush
// would write it.
func TestRank2FileOfSCRSurvivesReadAndSplit(t *testing.T) {
	for _, c := range []struct {
		family    Family
		dir, root string
		split     func(Rank2File, Paths, string) []Part
	}{
		{F14, "xor4-basic/4-prefix-indexed", "scr.dataset.1", Rank2File.SplitForIndex},
		{F12, "xor4-basic/4-prefix-indexed", ".scr/scr.dataset.1", Rank2File.SplitForIndex},
		{F14, "xor4-unrecoverable/4-prefix-indexed", "scr.dataset.1", Rank2File.SplitForIndex},
		{F12, "xor4-unrecoverable/4-prefix-indexed", ".scr/scr.dataset.1", Rank2File.SplitForIndex},
		{F14, "flush4-containers/2-prefix-before", "scr.dataset.1", Rank2File.SplitForFlush},
		{F12, "flush4-containers/2-prefix-before", ".scr/scr.dataset.1", Rank2File.SplitForFlush},
	} {
		t.Run(c.family.String()+" "+c.dir, func(t *testing.T) {
			prefix, err := disk.Open(filepath.Join("testdata", "golden", c.family.String(), filepath.FromSlash(c.dir)))
			if err != nil {
				t.Fatal(err)
			}
			p := Paths{Family: c.family}
			m, err := ReadRank2File(prefix, p, c.root)
			if err != nil {
				t.Fatal(err)
			}
			parts := c.split(m, p, c.root)
			if len(parts) != 2 || parts[1].Name != p.Rank2File(c.root) {
				t.Fatalf("got %d parts, want a leaf and the top", len(parts))
			}
			for _, part := range parts {
				want, err := ReadTree(prefix, part.Name)
				same(t, part.Name, want, err, func() *kvtree.Tree { return part.Tree })
			}
		})
	}
}

func TestContainerSegmentsOfSCRAreRead(t *testing.T) {
	prefix, err := disk.Open("testdata/golden/F14/flush4-containers/2-prefix-before")
	if err != nil {
		t.Fatal(err)
	}
	m, err := ReadRank2File(prefix, Paths{Family: F14}, "scr.dataset.1")
	if err != nil {
		t.Fatal(err)
	}
	e, _ := m.Find(3)
	i := slices.IndexFunc(e.Files, func(f FileRecord) bool { return f.Name == "rank_3.ckpt" })
	got := e.Files[i].Segments
	want := []Segment{
		{File: ".scr/ctr.1.scr", OffsetBytes: 979, LengthBytes: 45},
		{File: ".scr/ctr.2.scr", LengthBytes: 1024},
		{File: ".scr/ctr.3.scr", LengthBytes: 432},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("segments (-want +got):\n%s", diff)
	}
	s, err := ReadSummary(mustOpen(t, "testdata/golden/F11/flush4-containers/2-prefix-before"), Paths{Family: F11}, "scr.dataset.1")
	if err != nil {
		t.Fatal(err)
	}
	if c, ok := s.Container(3); !ok || c.SizeBytes != 509 {
		t.Errorf("container 3 of F11: got %+v, %v; want 509 bytes", c, ok)
	}
	last, _ := s.Ranks.Find(1)
	wantF11 := []Segment{{OffsetBytes: 1000, LengthBytes: 24}, {Container: 1, LengthBytes: 979}}
	if diff := cmp.Diff(wantF11, last.Files[0].Segments); diff != "" {
		t.Errorf("segments of F11 (-want +got):\n%s", diff)
	}
}

func mustOpen(t *testing.T, dir string) disk.FS {
	t.Helper()
	fsys, err := disk.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return fsys
}
