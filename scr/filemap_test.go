package scr

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/scrfs/scrfs/internal/disk"
	"github.com/scrfs/scrfs/kvtree"
)

// The model of a filemap: what each rank of each dataset has.
type filemapModel map[Rank]map[DatasetID]map[string]bool

func (m filemapModel) entry(d DatasetID, r Rank) map[string]bool {
	if m[r] == nil {
		m[r] = map[DatasetID]map[string]bool{}
	}
	if m[r][d] == nil {
		m[r][d] = map[string]bool{}
	}
	return m[r][d]
}

func (m filemapModel) remove(d DatasetID, r Rank) {
	delete(m[r], d)
	if len(m[r]) == 0 {
		delete(m, r)
	}
}

func TestIndexOfFilemapStaysInStep(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		model, m := filemapModel{}, NewFilemap()
		dset := rapid.Custom(func(t *rapid.T) DatasetID { return DatasetID(rapid.IntRange(1, 12).Draw(t, "d")) })
		rank := rapid.Custom(func(t *rapid.T) Rank { return Rank(rapid.IntRange(0, 11).Draw(t, "r")) })
		name := rapid.SampledFrom([]string{"/c/a", "/c/b", "/c/c.xor", "d e"})
		t.Repeat(map[string]func(*rapid.T){
			"add": func(t *rapid.T) {
				d, r, f := dset.Draw(t, "d"), rank.Draw(t, "r"), name.Draw(t, "f")
				m.AddFile(d, r, f)
				model.entry(d, r)[f] = true
			},
			"meta": func(t *rapid.T) {
				d, r, f := dset.Draw(t, "d"), rank.Draw(t, "r"), name.Draw(t, "f")
				want := FileMeta{File: "f", SizeBytes: int64(d), Ranks: 12, Complete: true}
				m.SetMeta(d, r, f, want)
				model.entry(d, r)[f] = true
				if got, err := m.Meta(d, r, f); err != nil || got != want {
					t.Fatalf("meta: got %+v, %v", got, err)
				}
			},
			"expect": func(t *rapid.T) {
				d, r := dset.Draw(t, "d"), rank.Draw(t, "r")
				m.SetExpectedFiles(d, r, 3)
				model.entry(d, r)["*FILES"] = true
			},
			"unexpect": func(t *rapid.T) {
				d, r := dset.Draw(t, "d"), rank.Draw(t, "r")
				m.UnsetExpectedFiles(d, r)
				delete(model[r][d], "*FILES")
				if model[r] != nil && model[r][d] != nil && len(model[r][d]) == 0 {
					model.remove(d, r)
				}
			},
			"remove file": func(t *rapid.T) {
				d, r, f := dset.Draw(t, "d"), rank.Draw(t, "r"), name.Draw(t, "f")
				m.RemoveFile(d, r, f)
				if model[r] != nil && model[r][d] != nil {
					delete(model[r][d], f)
					if len(model[r][d]) == 0 {
						model.remove(d, r)
					}
				}
			},
			"remove dataset": func(t *rapid.T) {
				d := dset.Draw(t, "d")
				m.RemoveDataset(d)
				for r := range model {
					model.remove(d, r)
				}
			},
			"remove rank": func(t *rapid.T) {
				r := rank.Draw(t, "r")
				m.RemoveRank(r)
				delete(model, r)
			},
			"remove rank of dataset": func(t *rapid.T) {
				d, r := dset.Draw(t, "d"), rank.Draw(t, "r")
				m.RemoveRankOf(d, r)
				model.remove(d, r)
			},
			"extract and merge back": func(t *rapid.T) {
				r := rank.Draw(t, "r")
				before := m.Tree().Clone()
				out := m.ExtractRank(r)
				if m.HasRank(r) || slices.Contains(m.Ranks(), r) {
					t.Fatalf("rank %d is still there", r)
				}
				checkIndex(t, out)
				m.Merge(out)
				if !kvtree.Equal(before, m.Tree()) {
					t.Fatalf("(-before +after)\n%s", cmp.Diff(text(before), text(m.Tree())))
				}
			},
			"": func(t *rapid.T) { checkModel(t, m, model) },
		})
	})
}

func checkModel(t *rapid.T, m *Filemap, model filemapModel) {
	t.Helper()
	checkIndex(t, m)
	ranksOf := map[DatasetID][]Rank{}
	var ranks []Rank
	for r, dsets := range model {
		ranks = append(ranks, r)
		for d, files := range dsets {
			ranksOf[d] = append(ranksOf[d], r)
			want := []string{}
			for f := range files {
				if f != "*FILES" {
					want = append(want, f)
				}
			}
			slices.Sort(want)
			if got := m.Files(d, r); !slices.Equal(got, want) || m.FileCount(d, r) != len(want) {
				t.Fatalf("files of rank %d, dataset %d: got %q, want %q", r, d, got, want)
			}
			if !m.HasRankOf(d, r) {
				t.Fatalf("rank %d is not in dataset %d", r, d)
			}
		}
	}
	slices.Sort(ranks)
	if got := m.Ranks(); !slices.Equal(got, ranks) || m.RankCount() != len(ranks) {
		t.Fatalf("ranks: got %v, want %v", got, ranks)
	}
	var dsets []DatasetID
	for d, want := range ranksOf {
		dsets = append(dsets, d)
		slices.Sort(want)
		if got := m.RanksOf(d); !slices.Equal(got, want) || m.RankCountOf(d) != len(want) {
			t.Fatalf("ranks of dataset %d: got %v, want %v", d, got, want)
		}
	}
	slices.Sort(dsets)
	if got := m.Datasets(); !slices.Equal(got, dsets) || m.DatasetCount() != len(dsets) {
		t.Fatalf("datasets: got %v, want %v", got, dsets)
	}
	latest, ok := m.LatestDataset()
	oldest, _ := m.OldestDataset()
	if ok != (len(dsets) > 0) || ok && (latest != dsets[len(dsets)-1] || oldest != dsets[0]) {
		t.Fatalf("latest %d, oldest %d of %v", latest, oldest, dsets)
	}
}

// checkIndex compares the DSET part with the one made anew from the RANK part.
func checkIndex(t *rapid.T, m *Filemap) {
	t.Helper()
	again, err := FilemapFromTree(m.Tree().Clone())
	if err != nil {
		t.Fatal(err)
	}
	if !kvtree.Equal(again.Tree(), m.Tree()) {
		t.Fatalf("index out of step (-want +got)\n%s", cmp.Diff(text(again.Tree()), text(m.Tree())))
	}
}

func TestMergeOfFilemapsKeepsOneValuePerField(t *testing.T) {
	a, b := NewFilemap(), NewFilemap()
	a.SetExpectedFiles(1, 0, 2)
	a.SetMeta(1, 0, "/c/x", FileMeta{SizeBytes: 1})
	a.AddFile(1, 0, "/c/y")
	b.SetExpectedFiles(1, 0, 3)
	b.SetMeta(1, 0, "/c/x", FileMeta{SizeBytes: 9})
	b.SetMeta(2, 1, "/c/z", FileMeta{SizeBytes: 5})
	a.Merge(b)
	if n, err := a.ExpectedFiles(1, 0); err != nil || n != 3 {
		t.Errorf("expected files: got %d, %v; want 3", n, err)
	}
	if m, err := a.Meta(1, 0, "/c/x"); err != nil || m.SizeBytes != 9 {
		t.Errorf("meta: got %+v, %v; want size 9", m, err)
	}
	if got := a.Files(1, 0); !slices.Equal(got, []string{"/c/x", "/c/y"}) {
		t.Errorf("files: got %q", got)
	}
	b.RemoveFile(2, 1, "/c/z")
	if !a.HasFile(2, 1, "/c/z") {
		t.Error("a shares a file with b")
	}
}

func TestTagsOfFilemap(t *testing.T) {
	m := NewFilemap()
	if err := m.SetTag(1, 0, "PARTNER", "atlas56"); err != nil {
		t.Fatal(err)
	}
	if got, ok := m.Tag(1, 0, "PARTNER"); !ok || got != "atlas56" {
		t.Errorf("got %q, %v", got, ok)
	}
	if f, err := m.Flush(1, 0); err != nil || f.Partner != "atlas56" {
		t.Errorf("flush: got %+v, %v; want partner atlas56", f, err)
	}
	if _, ok := m.Tag(1, 1, "PARTNER"); ok {
		t.Error("a tag of another rank")
	}
	m.UnsetTag(1, 0, "PARTNER")
	if m.HasRank(0) || m.DatasetCount() != 0 {
		t.Errorf("something is left: %q", text(m.Tree()))
	}
	for _, tag := range []string{"FILE", "FILES", "REDDESC", "DSETDESC", "FLUSH", "TREE", ""} {
		if err := m.SetTag(1, 0, tag, "x"); !errors.Is(err, ErrInvalid) {
			t.Errorf("tag %q: got %v, want ErrInvalid", tag, err)
		}
	}
}

func TestDescriptorsOfFilemapComeAndGo(t *testing.T) {
	for _, f := range Families() {
		m := NewFilemap().InFamily(f)
		desc := Dataset{ID: 4, Name: "n", Checkpoint: 3, Complete: true}
		red := RedundancyDescriptor{Enabled: true, Interval: 1, Type: XOR, GroupSize: 4, GroupRank: 2, Groups: 1}
		flush := FlushDescriptor{Partner: "node0"}
		m.SetDataset(4, 7, desc)
		m.SetDescriptor(4, 7, red)
		m.SetFlush(4, 7, flush)
		if got, err := m.Dataset(4, 7); err != nil || got != desc {
			t.Errorf("%v: dataset: got %+v, %v", f, got, err)
		}
		if got, err := m.Descriptor(4, 7); err != nil || got != red {
			t.Errorf("%v: redundancy: got %+v, %v", f, got, err)
		}
		if got, err := m.Flush(4, 7); err != nil || got != flush {
			t.Errorf("%v: flush: got %+v, %v", f, got, err)
		}
		m.UnsetDataset(4, 7)
		m.UnsetDescriptor(4, 7)
		m.UnsetFlush(4, 7)
		if _, err := m.Dataset(4, 7); !errors.Is(err, ErrNotFound) {
			t.Errorf("%v: got %v, want ErrNotFound", f, err)
		}
		if m.RankCount() != 0 {
			t.Errorf("%v: something is left: %q", f, text(m.Tree()))
		}
	}
}

func TestForPrefixDropsWhatBelongsToTheCache(t *testing.T) {
	m, err := ReadFilemap(mustOpen(t, "testdata/golden/F14/partner4/1-nodes/node1/user1/scr.1145655"), "filemap_0.scrinfo")
	if err != nil {
		t.Fatal(err)
	}
	got := m.ForPrefix(1, 0, func(name string) string { return name[len("/srv/ssd/user1/scr.1145655/scr.dataset.1/"):] })
	if files := got.Files(1, 0); !slices.Equal(files, []string{"rank_0.ckpt"}) {
		t.Errorf("files: got %q", files)
	}
	e := got.entry(1, 0)
	if e.Has("REDDESC") || e.Has("PARTNER") || e.Get("FLUSH").Has("PARTNER") || !e.Has("FILES") || got.RankCount() != 1 {
		t.Errorf("got %q", text(got.Tree()))
	}
	if m.entry(1, 0).Get("FLUSH", "PARTNER") == nil {
		t.Error("the source was changed")
	}
}

func TestNodeFilemapMergesEveryProcess(t *testing.T) {
	mem := disk.NewMem()
	for k := range 3 {
		m := NewFilemap()
		m.AddFile(1, Rank(k), fmt.Sprintf("/c/f%d", k))
		if err := WriteFilemap(mem, (Paths{}).ProcessFilemap(k), m); err != nil {
			t.Fatal(err)
		}
	}
	master := MasterFilemap{"/cntl/filemap_0.scrinfo", "/cntl/filemap_1.scrinfo", "/cntl/filemap_2.scrinfo"}
	if err := WriteMasterFilemap(mem, (Paths{}).MasterFilemap(), master); err != nil {
		t.Fatal(err)
	}
	m, err := ReadNodeFilemap(mem)
	if err != nil || !slices.Equal(m.Ranks(), []Rank{0, 1, 2}) {
		t.Fatalf("got %v, %v", m, err)
	}
	if err := mem.Remove("filemap_1.scrinfo"); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadNodeFilemap(mem); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a filemap is gone: got %v, want ErrNotExist", err)
	}
	for _, bad := range []string{"filemap_0.scrinfo", "/cntl/../../etc/passwd", "/cntl/filemap.scrinfo", ""} {
		t1 := kvtree.New()
		t1.SetKV("Filemap", bad)
		if _, err := MasterFilemapFromTree(t1); !errors.Is(err, ErrInvalid) {
			t.Errorf("%q: got %v, want ErrInvalid", bad, err)
		}
	}
}

func TestCheckRankNamesWhatIsMissing(t *testing.T) {
	base := func() *Filemap {
		m := NewFilemap()
		m.SetExpectedFiles(18, 3, 1)
		m.SetMeta(18, 3, "/c/a", FileMeta{SizeBytes: 10, Complete: true})
		return m
	}
	size := func(string) (int64, error) { return 10, nil }
	if err := base().CheckRank(18, 3, size); err != nil {
		t.Errorf("a whole rank: %v", err)
	}
	for name, c := range map[string]struct {
		change func(*Filemap)
		size   func(string) (int64, error)
		want   error
	}{
		"no number":     {func(m *Filemap) { m.UnsetExpectedFiles(18, 3) }, size, ErrIncomplete},
		"too few":       {func(m *Filemap) { m.SetExpectedFiles(18, 3, 2) }, size, ErrIncomplete},
		"too many":      {func(m *Filemap) { m.AddFile(18, 3, "/c/b") }, size, ErrIncomplete},
		"no meta data":  {func(m *Filemap) { m.UnsetMeta(18, 3, "/c/a") }, size, ErrIncomplete},
		"not complete":  {func(m *Filemap) { m.SetMeta(18, 3, "/c/a", FileMeta{SizeBytes: 10}) }, size, ErrIncomplete},
		"other size":    {func(*Filemap) {}, func(string) (int64, error) { return 9, nil }, ErrIncomplete},
		"gone":          {func(*Filemap) {}, func(string) (int64, error) { return 0, os.ErrNotExist }, os.ErrNotExist},
		"negative size": {func(m *Filemap) { m.entry(18, 3).Get("FILE", "/c/a", "META").PutString("SIZE", "-1") }, size, ErrInvalid},
	} {
		m := base()
		c.change(m)
		if err := m.CheckRank(18, 3, c.size); !errors.Is(err, c.want) {
			t.Errorf("%s: got %v, want %v", name, err, c.want)
		}
	}
}

func BenchmarkFilemap(b *testing.B) {
	for _, n := range []int{16 << 10, 128 << 10} {
		b.Run(fmt.Sprintf("%d files", n), func(b *testing.B) {
			names := make([]string, n)
			for i := range names {
				names[i] = fmt.Sprintf("/srv/ssd/user1/scr.1/scr.dataset.1/file.%07d", i)
			}
			meta := FileMeta{File: "f", Type: UserFile, Ranks: 4, Orig: "f", Path: "/p", Name: "f", SizeBytes: 1, Complete: true, CRC: 1, HasCRC: true}
			for b.Loop() {
				m := NewFilemap()
				for _, name := range names {
					m.SetMeta(1, 0, name, meta)
				}
				t, err := kvtree.Unpack(kvtree.Pack(m.Tree()))
				if err != nil {
					b.Fatal(err)
				}
				m, err = FilemapFromTree(t)
				if err != nil {
					b.Fatal(err)
				}
				for _, name := range m.Files(1, 0) {
					if _, err := m.Meta(1, 0, name); err != nil {
						b.Fatal(err)
					}
				}
				for _, name := range names {
					m.RemoveFile(1, 0, name)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/file")
		})
	}
}
