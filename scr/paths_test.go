package scr

import (
	"errors"
	"path"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestNamesOfTheFamilies(t *testing.T) {
	type names struct{ index, dir, summary, rank2file, leaf, filemap, xor, container, cache, cacheXOR string }
	xor := SetMember{Set: 0, Member: 0, Size: 4}
	for f, want := range map[Family]names{
		F11: {
			"index.scr", "scr.dataset.7", "scr.dataset.7/summary.scr", "scr.dataset.7/rank2file.scr", "scr.dataset.7/rank2file.0.0.scr",
			"scr.dataset.7/3.scrfilemap", "scr.dataset.7/1_of_4_in_0.xor", "scr.dataset.7/ctr.2.scr",
			"index.0/dataset.7", "index.0/dataset.7/1_of_4_in_0.xor",
		},
		F14: {
			".scr/index.scr", ".scr/scr.dataset.7", ".scr/scr.dataset.7/.scr/summary.scr", ".scr/scr.dataset.7/.scr/rank2file.scr",
			".scr/scr.dataset.7/.scr/rank2file.0.0.scr", ".scr/scr.dataset.7/.scr/3.scrfilemap", ".scr/scr.dataset.7/.scr/1_of_4_in_0.xor",
			".scr/scr.dataset.7/.scr/ctr.2.scr", "scr.dataset.7", "scr.dataset.7/1_of_4_in_0.xor",
		},
		F12: {
			".scr/index.scr", ".scr/scr.dataset.7", ".scr/scr.dataset.7/summary.scr", ".scr/scr.dataset.7/rank2file.scr",
			".scr/scr.dataset.7/rank2file.0.0.scr", ".scr/scr.dataset.7/fmap.3.scr", ".scr/scr.dataset.7/xor.0_1_of_4.scr",
			".scr/scr.dataset.7/ctr.2.scr", "scr.dataset.7", "scr.dataset.7/.scr/xor.0_1_of_4.scr",
		},
	} {
		p := Paths{Family: f}
		d := p.DatasetDir(7, "")
		got := names{
			p.Index(), d, p.Summary(d), p.Rank2File(d), p.Rank2FilePart(d, 0, 0), p.RankFilemap(d, 3),
			p.Redundancy(d, p.XORName(xor)), p.Container(d, 2), p.CacheDataset(7, 0), p.CacheRedundancy(7, 0, p.XORName(xor)),
		}
		if got != want {
			t.Errorf("%v: got %+v\nwant %+v", f, got, want)
		}
	}
	if got := (Paths{F14}).DatasetDir(7, "run/ckpt.0010/"); got != "run/ckpt.0010" {
		t.Errorf("a dataset with one root: got %s", got)
	}
}

func TestOnlyExactNamesAreRead(t *testing.T) {
	for _, f := range Families() {
		p := Paths{Family: f}
		for _, bad := range []string{
			"01_of_4_in_0.xor", "1_of_4_in_0.xor.tmp", "5_of_4_in_0.xor", "0_of_4_in_0.xor", "1_of_4_in_-1.xor", "_of_4_in_0.xor",
			"xor.0_5_of_4.scr", "xor.0_0_of_4.scr", "xor.00_1_of_4.scr", "xor.0_1_of_4.scr2", "1_of_0_in_0.xor", "1_of_99999999_in_0.xor", "",
		} {
			if got, ok := p.ParseXORName(bad); ok {
				t.Errorf("%v: %q read as %+v", f, bad, got)
			}
		}
		for _, bad := range []string{"-1.scrfilemap", "00.scrfilemap", "x.scrfilemap", ".scrfilemap", "fmap..scr", "fmap.-1.scr", "fmap.1.scr2"} {
			if got, ok := p.ParseRankFilemapName(bad); ok {
				t.Errorf("%v: %q read as rank %d", f, bad, got)
			}
		}
	}
	for _, bad := range []string{"epoch.", "epoch.01", "epoch.-1", "epoch.1.tmp", "ids.0", "ids.x"} {
		if _, ok := ParseEpoch(bad); ok {
			t.Errorf("%q read as an epoch", bad)
		}
		if _, ok := ParseIDBlock(bad); ok {
			t.Errorf("%q read as a block of ids", bad)
		}
	}
	for _, bad := range []string{"scr.dataset.", "scr.dataset.0", "scr.dataset.x", "scr.dataset.07", "dataset.7"} {
		if got, ok := ParseDatasetName(bad); ok {
			t.Errorf("%q read as dataset %d", bad, got)
		}
	}
}

func TestNamesComeBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := Paths{Family: rapid.SampledFrom(Families()).Draw(t, "family")}
		size := rapid.IntRange(1, MaxRanks).Draw(t, "size")
		want := SetMember{
			Set:    Rank(rapid.IntRange(0, MaxRanks-1).Draw(t, "set")),
			Member: rapid.IntRange(0, size-1).Draw(t, "member"),
			Size:   size,
		}
		if got, ok := p.ParseXORName(p.XORName(want)); !ok || got != want {
			t.Fatalf("%s: got %+v, %v; want %+v", p.XORName(want), got, ok, want)
		}
		if got, ok := p.ParseRSName(p.RSName(want)); !ok || got != want {
			t.Fatalf("%s: got %+v, %v; want %+v", p.RSName(want), got, ok, want)
		}
		n := rapid.Int64Range(0, MaxDatasetID).Draw(t, "n")
		if got, ok := ParseEpoch(p.Epoch(n)[len(".scr/"):]); !ok || got != n {
			t.Fatalf("%s: got %v, %v", p.Epoch(n), got, ok)
		}
		if got, ok := p.ParseRankFilemapName(p.RankFilemapName(want.Set)); !ok || got != want.Set {
			t.Fatalf("%s: got %v, %v", p.RankFilemapName(want.Set), got, ok)
		}
		id := DatasetID(rapid.IntRange(1, MaxDatasetID).Draw(t, "id"))
		if got, ok := ParseIDBlock(p.IDBlock(id)[len(".scr/"):]); !ok || got != id {
			t.Fatalf("%s: got %v, %v", p.IDBlock(id), got, ok)
		}
		if got, ok := ParseDatasetName(DatasetName(id)); !ok || got != id {
			t.Fatalf("%s: got %v, %v", DatasetName(id), got, ok)
		}
	})
}

func TestBelowKeepsNamesBelowThePrefix(t *testing.T) {
	for _, c := range []struct{ dir, name, want string }{
		{"/p/sim", "a", "a"},
		{"/p/sim/sub", "extra_3.dat", "sub/extra_3.dat"},
		{"/p/sim/sub/", "../a", "a"},
		{"/p/./sim//sub", "b/../c", "sub/c"},
		{"sub", "a", "sub/a"},
		{"", "a", "a"},
		{".scr/scr.dataset.1", "../../pp.50.0.restart", "pp.50.0.restart"},
		{"/p/sim", "..a", "..a"},
		{"/p/sim", "name with blanks\n", "name with blanks\n"},
	} {
		if got, err := Below("/p/sim", c.dir, c.name); err != nil || got != c.want {
			t.Errorf("Below(/p/sim, %q, %q): got %q, %v; want %q", c.dir, c.name, got, err, c.want)
		}
	}
	for _, c := range []struct{ dir, name string }{
		{"/p/sim", "../../etc/x"},
		{"/p/sim", "/etc/x"},
		{"/p/sim", ".."},
		{"/p/sim", "."},
		{"/p/sim", ""},
		{"/p/sim", "a/.."},
		{"/p/sim", "a\x00b"},
		{"/p/sim2", "a"},
		{"/p", "a"},
		{"/etc", "passwd"},
		{"/p/sim/../../etc", "x"},
		{"..", "a"},
		{"a/../../..", "x"},
		{".scr/scr.dataset.1", "../../../x"},
	} {
		if got, err := Below("/p/sim", c.dir, c.name); !errors.Is(err, ErrEscape) {
			t.Errorf("Below(/p/sim, %q, %q): got %q, %v; want ErrEscape", c.dir, c.name, got, err)
		}
	}
	if got, err := Below("/", "/etc", "x"); err != nil || got != "etc/x" {
		t.Errorf("below the root: got %q, %v", got, err)
	}
	if _, err := Below("p", "a", "b"); !errors.Is(err, ErrInvalid) {
		t.Errorf("relative prefix: got %v, want ErrInvalid", err)
	}
}

// Whatever the record says, joining the result with the prefix stays inside.
func FuzzBelow(f *testing.F) {
	f.Add("/p/sim", "../../etc/x")
	f.Add("../..", "a")
	f.Add("/p/sim/.", "./a/./..")
	f.Fuzz(func(t *testing.T, dir, name string) {
		got, err := Below("/p/sim", dir, name)
		if err != nil {
			return
		}
		if full := path.Join("/p/sim", got); !strings.HasPrefix(full, "/p/sim/") || path.Clean(got) != got || strings.Contains(got, "\x00") {
			t.Fatalf("Below(/p/sim, %q, %q) = %q", dir, name, got)
		}
		for _, fam := range Families() {
			p := Paths{Family: fam}
			if rel, err := p.UserFile(".scr/scr.dataset.1", name); err == nil && p.reserved(rel) {
				t.Fatalf("%v: user file %q = %q", fam, name, rel)
			}
		}
	})
}

func TestUserFilesAreNeverSCRsOwn(t *testing.T) {
	for _, c := range []struct {
		f         Family
		dir, name string
	}{
		{F14, "run/ckpt.10", ".scr/summary.scr"},
		{F14, "run/ckpt.10", "../../.scr/index.scr"},
		{F14, ".scr/scr.dataset.1", "x"},
		{F12, ".scr/scr.dataset.1", ".scr/halt.scr"},
		{F11, "scr.dataset.1", "../index.scr"},
		{F11, "scr.dataset.1", "../halt.scr"},
		{F11, "scr.dataset.1", "../index.scr.lock"},
		{F11, "scr.dataset.1", "../scr.current"},
		{F11, "scr.dataset.1", "summary.scr"},
		{F14, "run/ckpt.10", "../../../x"},
	} {
		if got, err := (Paths{c.f}).UserFile(c.dir, c.name); !errors.Is(err, ErrEscape) {
			t.Errorf("%v %s %s: got %q, %v; want ErrEscape", c.f, c.dir, c.name, got, err)
		}
	}
	if got, err := (Paths{F14}).UserFile(".scr/scr.dataset.1", "../../pp.50.0.restart"); err != nil || got != "pp.50.0.restart" {
		t.Errorf("a loose file: got %q, %v", got, err)
	}
}

func TestNameInIsTheReverseOfResolve(t *testing.T) {
	element := rapid.SampledFrom([]string{"a", "b", ".scr", "scr.dataset.1", "x y"})
	rapid.Check(t, func(t *rapid.T) {
		p := Paths{Family: rapid.SampledFrom(Families()).Draw(t, "family")}
		dir := strings.Join(rapid.SliceOfN(element, 1, 4).Draw(t, "dir"), "/")
		want := strings.Join(rapid.SliceOfN(element, 1, 5).Draw(t, "file"), "/")
		if strings.HasPrefix(dir+"/", want+"/") {
			t.Skip("a file is no directory")
		}
		name := p.NameIn(dir, want)
		if got, err := p.Resolve(dir, name); err != nil || got != want {
			t.Fatalf("%v: file %s in %s has name %s, which resolves to %s, %v", p.Family, want, dir, name, got, err)
		}
	})
}

func TestOldPrefixIsFoundAfterAMove(t *testing.T) {
	m := FileMeta{Path: "/old/place/sub", Name: "extra_3.dat"}
	got, ok := OldPrefix("sub/extra_3.dat", m)
	if !ok || got != "/old/place" {
		t.Fatalf("got %q, %v; want /old/place", got, ok)
	}
	if rel, err := Below(got, "/old/place/other", "b"); err != nil || rel != "other/b" {
		t.Errorf("another file: got %q, %v", rel, err)
	}
	for _, m := range []FileMeta{{}, {Path: "rel", Name: "extra_3.dat"}, {Path: "/old/notsub", Name: "extra_3.dat"}, {Path: "/old/place/sub", Name: "x"}} {
		if got, ok := OldPrefix("sub/extra_3.dat", m); ok {
			t.Errorf("%+v: got %q, want none", m, got)
		}
	}
}

func TestJobDirRefusesSlashes(t *testing.T) {
	if got, err := JobDir("user1", "1145655"); err != nil || got != "user1/scr.1145655" {
		t.Errorf("got %q, %v", got, err)
	}
	for _, c := range [][2]string{{"", "1"}, {"..", "1"}, {"a/b", "1"}, {"u", ""}, {"u", "../1"}} {
		if got, err := JobDir(c[0], c[1]); !errors.Is(err, ErrEscape) {
			t.Errorf("JobDir(%q, %q): got %q, %v; want ErrEscape", c[0], c[1], got, err)
		}
	}
}
