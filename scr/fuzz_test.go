package scr

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/scrfs/scrfs/kvtree"
)

// Every reader gets any tree. It must not panic, and what it accepts must mean
// the same after it was written and read again, in every family.

// seeds adds the trees of SCR's files and every tree below them.
func seeds(f *testing.F) {
	f.Helper()
	seen := map[string]bool{} // one file of a name and family says enough
	err := filepath.WalkDir("testdata/golden", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		key := strings.Split(filepath.ToSlash(name), "/")[2] + e.Name()
		if seen[key] {
			return nil
		}
		seen[key] = true
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		t, _, err := kvtree.Decode(data)
		if err == nil {
			addBelow(f, t, 0)
		}
		return err
	})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(kvtree.Pack(FileMeta{SizeBytes: 1, Attr: &FileAttr{Xattrs: []Xattr{{Name: "x", Value: []byte{1}}}, Links: []string{"l"}}}.Tree(F14)))
}

func addBelow(f *testing.F, t *kvtree.Tree, depth int) {
	if t.Len() == 0 || depth > 8 {
		return
	}
	if t.Len() > 1 || depth == 0 { // a list of one says no more than what is in it
		f.Add(kvtree.Pack(t))
	}
	for _, sub := range t.All() {
		addBelow(f, sub, depth+1)
	}
}

type noun interface{ Tree(Family) *kvtree.Tree }

func fuzzNoun[T noun](f *testing.F, read func(*kvtree.Tree) (T, error)) {
	seeds(f)
	f.Fuzz(func(t *testing.T, packed []byte) {
		tree, err := kvtree.Unpack(packed)
		if err != nil {
			return
		}
		before := tree.Clone()
		x, err := read(tree)
		if !kvtree.Equal(before, tree) {
			t.Fatal("reading changed the tree")
		}
		if err != nil {
			return
		}
		for _, fam := range Families() {
			// What a family cannot say is lost in the first writing, no more in
			// the second.
			once, err := read(x.Tree(fam))
			if err != nil {
				t.Fatalf("%v: what was written cannot be read: %v", fam, err)
			}
			twice, err := read(once.Tree(fam))
			if err != nil {
				t.Fatalf("%v: %v", fam, err)
			}
			if !kvtree.Equal(once.Tree(fam), twice.Tree(fam)) {
				t.Fatalf("%v: (-once +twice)\n%s", fam, cmp.Diff(text(once.Tree(fam)), text(twice.Tree(fam))))
			}
		}
	})
}

func FuzzDataset(f *testing.F)         { fuzzNoun(f, DatasetFromTree) }
func FuzzFileMeta(f *testing.F)        { fuzzNoun(f, FileMetaFromTree) }
func FuzzDescriptor(f *testing.F)      { fuzzNoun(f, RedundancyDescriptorFromTree) }
func FuzzFlushDescriptor(f *testing.F) { fuzzNoun(f, FlushDescriptorFromTree) }
func FuzzDirTree(f *testing.F)         { fuzzNoun(f, DirTreeFromTree) }
func FuzzHaltFile(f *testing.F)        { fuzzNoun(f, HaltFileFromTree) }
func FuzzNodesFile(f *testing.F)       { fuzzNoun(f, NodesFileFromTree) }
func FuzzTransferFile(f *testing.F)    { fuzzNoun(f, TransferFileFromTree) }
func FuzzMasterFilemap(f *testing.F)   { fuzzNoun(f, MasterFilemapFromTree) }
func FuzzRank2File(f *testing.F)       { fuzzNoun(f, Rank2FileFromTree) }
func FuzzSummary(f *testing.F)         { fuzzNoun(f, SummaryFromTree) }

func FuzzFilemap(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, packed []byte) {
		tree, err := kvtree.Unpack(packed)
		if err != nil {
			return
		}
		m, err := FilemapFromTree(tree)
		if err != nil {
			return
		}
		for _, d := range m.Datasets() {
			for _, r := range m.RanksOf(d) {
				useRank(t, m, d, r)
			}
		}
		other := NewFilemap()
		other.Merge(m)
		for _, r := range m.Ranks() {
			out := m.ExtractRank(r)
			if m.HasRank(r) {
				t.Fatalf("rank %d was extracted and is there", r)
			}
			m.Merge(out)
		}
		if got, want := other.Datasets(), m.Datasets(); cmp.Diff(want, got) != "" {
			t.Fatalf("datasets: merged %v, of %v", got, want)
		}
		for _, d := range m.Datasets() {
			m.RemoveDataset(d)
		}
		if m.DatasetCount() != 0 {
			t.Fatalf("%d datasets are left", m.DatasetCount())
		}
	})
}

// useRank asks for everything; errors are fine, a file without meta data that
// counts as there is not.
func useRank(t *testing.T, m *Filemap, d DatasetID, r Rank) {
	if desc, err := m.Dataset(d, r); err == nil && desc.ID != d {
		t.Fatalf("dataset %d describes itself as %d", d, desc.ID)
	}
	if red, err := m.Descriptor(d, r); err == nil && red.GroupSize != 0 && red.GroupRank >= red.GroupSize {
		t.Fatalf("member %d of %d", red.GroupRank, red.GroupSize)
	}
	_, ferr := m.Flush(d, r)
	_, terr := m.DirTree(d, r)
	_, _ = ferr, terr
	err := m.CheckRank(d, r, func(name string) (int64, error) {
		meta, err := m.Meta(d, r, name)
		return meta.SizeBytes, err
	})
	if n, xerr := m.ExpectedFiles(d, r); err == nil && (xerr != nil || n != m.FileCount(d, r)) {
		t.Fatalf("a rank of %d files, %d expected, %v, counts as whole", m.FileCount(d, r), n, xerr)
	}
	out := m.ForPrefix(d, r, func(name string) string { return name })
	if out.FileCount(d, r) != m.FileCount(d, r) {
		t.Fatalf("%d files became %d", m.FileCount(d, r), out.FileCount(d, r))
	}
}

func FuzzIndex(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, packed []byte) {
		for _, fam := range Families() {
			tree, err := kvtree.Unpack(packed)
			if err != nil {
				return
			}
			x, err := IndexFromTree(fam, tree)
			if err != nil {
				continue
			}
			entries, err := x.Entries()
			if err != nil {
				t.Fatalf("%v: an index that was accepted: %v", fam, err)
			}
			for _, e := range entries {
				if err := x.Put(e); err != nil && fam != F12 {
					t.Fatalf("%v: put back: %v", fam, err)
				}
			}
			if _, err := x.RestartOrder(""); err != nil {
				t.Fatal(err)
			}
			for _, e := range entries {
				if _, err := x.Find(e.Name); err == nil {
					if err := x.Remove(e.Name); err != nil {
						t.Fatal(err)
					}
				}
			}
		}
	})
}

func FuzzFlushFile(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, packed []byte) {
		for _, fam := range Families() {
			tree, err := kvtree.Unpack(packed)
			if err != nil {
				return
			}
			x, err := FlushFileFromTree(fam, tree)
			if err != nil {
				continue
			}
			for _, d := range x.Datasets() {
				e, err := x.Entry(d)
				if err != nil {
					t.Fatalf("%v: a flush file that was accepted: %v", fam, err)
				}
				x.Put(d, e)
				x.SetLocation(d, InPrefix)
				if x.NeedsFlush(d) || x.NeedsScavenge(d) {
					t.Fatalf("%v: dataset %d is in the prefix", fam, d)
				}
				x.Remove(d)
			}
		}
	})
}
