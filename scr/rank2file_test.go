package scr

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/scrfs/scrfs/internal/disk"
	"github.com/scrfs/scrfs/kvtree"
)

// newMap is a map of n ranks with one file each, whose name has the given length.
func newMap(n, nameBytes int) Rank2File {
	m := Rank2File{Ranks: n, Entries: make([]RankFiles, n)}
	for r := range n {
		name := fmt.Sprintf("f%d", r)
		name += strings.Repeat("x", max(0, nameBytes-len(name)))
		m.Entries[r] = RankFiles{Rank: Rank(r), Expected: LimitOf(1), Files: []FileRecord{{Name: name, SizeBytes: 1, CRC: 2, HasCRC: true}}}
	}
	return m
}

// writeAndRead writes parts to a disk and reads the map back.
func writeAndRead(t interface{ Fatal(...any) }, p Paths, dir string, parts []Part) Rank2File {
	mem := disk.NewMem()
	if err := disk.MkdirAll(mem, p.SCRDir(dir), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := WriteRank2File(mem, parts); err != nil {
		t.Fatal(err)
	}
	got, err := ReadRank2File(mem, p, dir)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestIndexSplitHas8192RanksPerLeafAndTwoLevels(t *testing.T) {
	p := Paths{Family: F14}
	for ranks, want := range map[int][]string{
		0:     {"rank2file.0.0.scr", "rank2file.scr"},
		1:     {"rank2file.0.0.scr", "rank2file.scr"},
		8192:  {"rank2file.0.0.scr", "rank2file.scr"},
		8193:  {"rank2file.0.0.scr", "rank2file.0.8192.scr", "rank2file.scr"},
		20000: {"rank2file.0.0.scr", "rank2file.0.8192.scr", "rank2file.0.16384.scr", "rank2file.scr"},
	} {
		m := newMap(ranks, 0)
		parts := m.SplitForIndex(p, "run/ckpt")
		var got []string
		for _, part := range parts {
			got = append(got, strings.TrimPrefix(part.Name, "run/ckpt/.scr/"))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%d ranks: got %q, want %q", ranks, got, want)
		}
		back := writeAndRead(t, p, "run/ckpt", parts)
		if back.Ranks != ranks || len(back.Entries) != ranks {
			t.Errorf("%d ranks: read back %d, %d entries", ranks, back.Ranks, len(back.Entries))
		}
	}
}

func TestFlushSplitBeginsALeafAtEachMiB(t *testing.T) {
	p := Paths{Family: F12}
	m := newMap(100, 64<<10)
	parts := m.SplitForFlush(p, ".scr/scr.dataset.1")
	// 16 entries of a little more than 64 KiB pass a MiB; the 17th begins anew.
	var firsts []Rank
	for _, part := range parts[:len(parts)-1] {
		entries, err := rankEntries(part.Tree.Get("RANK"), MaxRanks)
		if err != nil {
			t.Fatal(err)
		}
		firsts = append(firsts, entries[0].Rank)
	}
	want := []Rank{0, 16, 32, 48, 64, 80, 96}
	if !slices.Equal(firsts, want) {
		t.Errorf("leaves begin at %v, want %v", firsts, want)
	}
	if diff := cmp.Diff(m, writeAndRead(t, p, ".scr/scr.dataset.1", parts)); diff != "" {
		t.Errorf("read back (-want +got):\n%s", diff)
	}
}

// With names of 40 KiB for the directory, leaves alone fill more than a MiB of
// names, so a level between them and the top is needed.
func TestFlushSplitAddsLevelsUntilOneIsLeft(t *testing.T) {
	p := Paths{Family: F12}
	dir := strings.Repeat("d", 40<<10)
	m := newMap(60, 1<<20)
	s := m.SplitForFlush(p, dir)
	top := s[len(s)-1]
	if level, err := top.Tree.Int("LEVEL"); err != nil || level != 2 {
		t.Fatalf("level of the top: got %d, %v; want 2", level, err)
	}
	// Names so long cannot be on a disk: read the parts from memory.
	byName := map[string]*kvtree.Tree{}
	for _, part := range s {
		byName[part.Name] = part.Tree
	}
	r := rank2FileReader{paths: p, dir: dir, seen: map[string]bool{}, load: func(name string, _ int64) (*kvtree.Tree, error) {
		if byName[name] == nil {
			return nil, ErrNotFound
		}
		return byName[name], nil
	}}
	if n, err := r.read(top.Name, 0, -1); err != nil || n != 60 || len(r.entries) != 60 {
		t.Errorf("got %d ranks, %d entries, %v; want 60", n, len(r.entries), err)
	}
	if len(r.seen) != len(s) {
		t.Errorf("%d of %d parts are named", len(r.seen), len(s))
	}
}

func TestEveryRank2FileComesBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := Paths{Family: rapid.SampledFrom([]Family{F14, F12}).Draw(t, "family")}
		dir := rapid.SampledFrom([]string{"run/ckpt.1", ".scr/scr.dataset.1"}).Draw(t, "dir")
		want := drawRank2File(t, p.Family)
		split := rapid.SampledFrom([]func(Rank2File, Paths, string) []Part{Rank2File.SplitForIndex, Rank2File.SplitForFlush}).Draw(t, "split")
		got := writeAndRead(t, p, dir, split(want, p, dir))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("(-want +got):\n%s", diff)
		}
		for _, f := range Families() { // as it stands in F11's summary
			m := drawRank2File(t, f)
			got, err := Rank2FileFromTree(m.Tree(f))
			if diff := cmp.Diff(m, got); err != nil || diff != "" {
				t.Fatalf("%v: %v (-want +got):\n%s", f, err, diff)
			}
		}
	})
}

// drawRank2File has an entry for every rank.
func drawRank2File(t *rapid.T, f Family) Rank2File {
	m := Rank2File{Ranks: rapid.IntRange(1, 20).Draw(t, "ranks")}
	for r := range m.Ranks {
		e := RankFiles{Rank: Rank(r), Files: []FileRecord{}}
		if rapid.Bool().Draw(t, "expected") {
			e.Expected = LimitOf(rapid.Int64Range(0, 9).Draw(t, "n"))
		}
		for i := range rapid.IntRange(0, 3).Draw(t, "files") {
			e.Files = append(e.Files, drawRecord(t, f, fmt.Sprintf("%d.%d", r, i)))
		}
		if rapid.Bool().Draw(t, "tree") {
			e.Tree = DirTree{Dirs: []TreeEntry{{Path: "d"}}}
		}
		m.Entries = append(m.Entries, e)
	}
	return m
}

func drawRecord(t *rapid.T, f Family, name string) FileRecord {
	r := FileRecord{
		Name:    name,
		NoFetch: rapid.Bool().Draw(t, "nofetch"),
		Failed:  rapid.Bool().Draw(t, "failed"),
		HasCRC:  rapid.Bool().Draw(t, "has crc"),
	}
	if r.HasCRC {
		r.CRC = CRC(rapid.Uint32().Draw(t, "crc"))
	}
	for i := range rapid.IntRange(0, 12).Draw(t, "segments") {
		s := Segment{OffsetBytes: rapid.Int64Range(0, 1<<40).Draw(t, "o"), LengthBytes: rapid.Int64Range(0, 1<<40).Draw(t, "l")}
		if f == F11 {
			s.Container = i
		} else {
			s.File = fmt.Sprintf(".scr/ctr.%d.scr", i)
		}
		r.SizeBytes += s.LengthBytes
		r.Segments = append(r.Segments, s)
	}
	if len(r.Segments) == 0 {
		r.SizeBytes = rapid.Int64Min(0).Draw(t, "size")
		if r.Failed && rapid.Bool().Draw(t, "no size") {
			r.NoSize, r.SizeBytes = true, 0
		}
	}
	if rapid.Bool().Draw(t, "attr") {
		r.Attr = drawAttr(t)
	}
	return r
}

func TestHostileRank2FileIsRefused(t *testing.T) {
	p := Paths{Family: F14}
	leaf := func(change func(t *kvtree.Tree)) *kvtree.Tree {
		m := newMap(2, 0)
		tree := m.Tree(F14)
		tree.PutInt("LEVEL", 0)
		change(tree)
		return tree
	}
	top := func(change func(t *kvtree.Tree)) *kvtree.Tree {
		tree := kvtree.New()
		tree.PutInt("LEVEL", 1)
		tree.PutInt("RANKS", 2)
		tree.Sub("RANK", "0").PutString("FILE", ".scr/rank2file.0.0.scr")
		tree.Get("RANK", "0").PutInt("OFFSET", 0)
		change(tree)
		return tree
	}
	same := func(*kvtree.Tree) {}
	for name, c := range map[string]struct {
		top, leaf *kvtree.Tree
		want      error
		says      string
	}{
		"whole":            {top(same), leaf(same), nil, ""},
		"only a leaf":      {leaf(same), leaf(same), nil, ""},
		"names itself":     {top(func(t *kvtree.Tree) { t.Get("RANK", "0").PutString("FILE", ".scr/rank2file.scr") }), leaf(same), ErrInvalid, "twice"},
		"leaf named twice": {top(func(t *kvtree.Tree) { t.Get("RANK").Set("1", t.Get("RANK", "0").Clone()) }), leaf(same), ErrInvalid, "twice"},
		"leads outside":    {top(func(t *kvtree.Tree) { t.Get("RANK", "0").PutString("FILE", "../../../etc/x") }), leaf(same), ErrEscape, "etc/x"},
		"absolute":         {top(func(t *kvtree.Tree) { t.Get("RANK", "0").PutString("FILE", "/etc/x") }), leaf(same), ErrEscape, "/etc/x"},
		"no file":          {top(func(t *kvtree.Tree) { t.Get("RANK", "0").Unset("FILE") }), leaf(same), ErrInvalid, "FILE"},
		"wrong level":      {top(func(t *kvtree.Tree) { t.PutInt("LEVEL", 2) }), leaf(same), ErrInvalid, "LEVEL"},
		"too many levels":  {top(func(t *kvtree.Tree) { t.PutInt("LEVEL", 33) }), leaf(same), ErrInvalid, "LEVEL"},
		"offset":           {top(func(t *kvtree.Tree) { t.Get("RANK", "0").PutInt("OFFSET", 1<<40) }), leaf(same), ErrCorrupt, "offset"},
		"negative offset":  {top(func(t *kvtree.Tree) { t.Get("RANK", "0").PutInt("OFFSET", -1) }), leaf(same), ErrInvalid, "OFFSET"},
		"more ranks below": {top(func(t *kvtree.Tree) { t.PutInt("RANKS", 1) }), leaf(same), ErrInvalid, "RANKS"},
		"negative ranks":   {top(same), leaf(func(t *kvtree.Tree) { t.PutInt("RANKS", -1) }), ErrInvalid, "RANKS"},
		"more entries":     {top(same), leaf(func(t *kvtree.Tree) { t.PutInt("RANKS", 1) }), ErrInvalid, "RANK"},
		"rank no number":   {top(same), leaf(func(t *kvtree.Tree) { t.Get("RANK").Set("x", nil) }), ErrInvalid, `"x"`},
		"rank too large":   {top(same), leaf(func(t *kvtree.Tree) { t.Get("RANK").Set("16777216", nil) }), ErrInvalid, "16777216"},
		"negative size":    {top(same), leaf(func(t *kvtree.Tree) { t.Get("RANK", "1", "FILE", "f1").PutInt("SIZE", -5) }), ErrInvalid, "-5"},
		"no size":          {top(same), leaf(func(t *kvtree.Tree) { t.Get("RANK", "1", "FILE", "f1").Unset("SIZE") }), ErrInvalid, "SIZE"},
		"gap in segments":  {top(same), leaf(func(t *kvtree.Tree) { t.Get("RANK", "1", "FILE", "f1").Sub("SEG", "1").PutInt("LENGTH", 1) }), ErrInvalid, "SEG"},
		"segment too long": {top(same), leaf(func(t *kvtree.Tree) {
			s := t.Get("RANK", "1", "FILE", "f1").Sub("SEG", "0")
			s.PutInt("LENGTH", 2)
			s.PutInt("OFFSET", 0)
			s.PutString("FILE", "c")
		}), ErrInvalid, "LENGTH"},
		"segment too short": {top(same), leaf(func(t *kvtree.Tree) {
			s := t.Get("RANK", "1", "FILE", "f1").Sub("SEG", "0")
			s.PutInt("LENGTH", 0)
			s.PutInt("OFFSET", 0)
			s.PutString("FILE", "c")
		}), ErrInvalid, "SEG"},
		"segment end past 2^63": {top(same), leaf(func(t *kvtree.Tree) {
			s := t.Get("RANK", "1", "FILE", "f1").Sub("SEG", "0")
			s.PutInt("LENGTH", 1)
			s.PutInt("OFFSET", 1<<63-1)
			s.PutString("FILE", "c")
		}), ErrInvalid, "OFFSET"},
	} {
		mem := disk.NewMem()
		if err := disk.MkdirAll(mem, "run/ckpt/.scr", 0o755); err != nil {
			t.Fatal(err)
		}
		err := WriteRank2File(mem, []Part{{"run/ckpt/.scr/rank2file.0.0.scr", c.leaf}, {"run/ckpt/.scr/rank2file.scr", c.top}})
		if err != nil {
			t.Fatal(err)
		}
		_, err = ReadRank2File(mem, p, "run/ckpt")
		if !errors.Is(err, c.want) || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: got %v, want %v naming %s", name, err, c.want, c.says)
		}
	}
}

func TestRankOfTwoLeavesIsRefused(t *testing.T) {
	p := Paths{Family: F14}
	parts := newMap(8193, 0).SplitForIndex(p, "d")
	parts[1].Tree.Get("RANK").Set("5", parts[0].Tree.Get("RANK", "5").Clone())
	parts[1].Tree.Get("RANK").Unset("8192")
	mem := disk.NewMem()
	if err := disk.MkdirAll(mem, "d/.scr", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := WriteRank2File(mem, parts); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadRank2File(mem, p, "d"); !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), "rank 5") {
		t.Errorf("got %v, want ErrInvalid naming rank 5", err)
	}
}

func TestEverySummaryComesBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := rapid.SampledFrom(Families()).Draw(t, "family")
		want := Summary{Complete: rapid.Bool().Draw(t, "complete"), Dataset: drawDataset(t)}
		if f != F12 {
			want.Dataset.Output = false
		}
		if f == F11 {
			m := drawRank2File(t, f)
			want.Ranks = &m
			want.Containers = []Container{{ID: 0, Name: "/p/ctr.0.scr", SizeBytes: 5}, {ID: 10, Name: "/p/ctr.10.scr"}}
		}
		got, err := SummaryFromTree(want.Tree(f))
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Fatalf("%v: %v (-want +got):\n%s", f, err, diff)
		}
	})
}

func TestSummaryOfAnotherVersionIsNotSupported(t *testing.T) {
	tree := Summary{Dataset: Dataset{ID: 1}}.Tree(F14)
	tree.PutInt("VERSION", 5)
	if _, err := SummaryFromTree(tree); !errors.Is(err, ErrUnsupported) {
		t.Errorf("got %v, want ErrUnsupported", err)
	}
}

func BenchmarkRank2File(b *testing.B) {
	p := Paths{Family: F14}
	for _, ranks := range []int{16 << 10, 128 << 10} {
		b.Run(fmt.Sprintf("%d ranks", ranks), func(b *testing.B) {
			m := newMap(ranks, 20)
			for b.Loop() {
				if got := writeAndRead(b, p, "run/ckpt", m.SplitForIndex(p, "run/ckpt")); len(got.Entries) != ranks {
					b.Fatalf("%d entries", len(got.Entries))
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(ranks), "ns/rank")
		})
	}
}
