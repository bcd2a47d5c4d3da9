package cachestore

import (
	"bytes"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/scrfs/scrfs/internal/disk"
	"github.com/scrfs/scrfs/scr"
)

func TestOptionsAreChecked(t *testing.T) {
	n := node{newMem(t)}
	for name, spoil := range map[string]func(*Options){
		"no cache":          func(o *Options) { o.Cache = nil },
		"no control":        func(o *Options) { o.Control = nil },
		"relative cache":    func(o *Options) { o.CacheDir = "c" },
		"control not clean": func(o *Options) { o.ControlDir = "/k/" },
		"no prefix":         func(o *Options) { o.Prefix = "" },
	} {
		o := n.options(t)
		spoil(&o)
		if _, err := Open(o); !errors.Is(err, scr.ErrInvalid) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestUnknownFilesAreReportedAndKept(t *testing.T) {
	s, n := open(t)
	must(t, put(s, 1, "d/a", "a"))
	must(t, s.Close())
	cache := n.sub(t, "cache")
	for _, name := range []string{"scr.dataset.1/d/lost", "scr.dataset.5/x", "else"} {
		if i := strings.LastIndex(name, "/"); i > 0 {
			must(t, disk.MkdirAll(cache, name[:i], 0o700))
		}
		must(t, disk.WriteFile(cache, name, []byte("?"), 0o600))
	}
	must(t, cache.Remove("scr.dataset.1/d/a"))
	s = n.open(t)
	a := s.Adopted()
	if want := []string{"scr.dataset.1/d/lost", "scr.dataset.5/x"}; !slices.Equal(a.Unknown, want) {
		t.Errorf("unknown: got %v, want %v", a.Unknown, want)
	}
	if want := []string{"scr.dataset.1/d/a"}; !slices.Equal(a.Dropped, want) {
		t.Errorf("dropped: got %v, want %v", a.Dropped, want)
	}
	if got := len(files(t, cache, ".")); got != 3 {
		t.Errorf("%d files are left", got)
	}
	// An unknown file that is renamed gets its entry.
	must(t, put(s, 1, "d/b", "b"))
	must(t, s.Rename(1, "d/lost", "d/found"))
	if got := s.Pending(1); !slices.Equal(got, []string{"d/b", "d/found"}) {
		t.Errorf("pending: got %v", got)
	}
}

// What SCR itself left: a filemap for each process, no journal, keys of its own.
func TestCacheOfSCRIsAdopted(t *testing.T) {
	n := node{newMem(t)}
	control, cache := n.sub(t, "control"), n.sub(t, "cache")
	must(t, disk.MkdirAll(cache, "scr.dataset.3", 0o700))
	var master scr.MasterFilemap
	for r, name := range []string{"a.ckpt", "b.ckpt"} {
		must(t, disk.WriteFile(cache, "scr.dataset.3/"+name, []byte("12"), 0o600))
		m := scr.NewFilemap()
		m.SetMeta(3, scr.Rank(r), "/c/scr.dataset.3/"+name, scr.FileMeta{File: name, Ranks: 2, Path: "/p", Name: name, SizeBytes: 2, Complete: true})
		m.SetExpectedFiles(3, scr.Rank(r), 1)
		m.SetDataset(3, scr.Rank(r), scr.Dataset{ID: 3, Complete: true})
		file := scr.Paths{Family: scr.F14}.ProcessFilemap(r)
		must(t, scr.WriteFilemap(control, file, m))
		master = append(master, "/k/"+file)
	}
	must(t, scr.WriteMasterFilemap(control, "filemap.scrinfo", master))
	want := "3 rank 0: a.ckpt=2\n3 rank 1: b.ckpt=2\n"
	for range 2 {
		s := n.open(t)
		if got := view(s); got != want || len(s.Adopted().Unknown) > 0 {
			t.Errorf("got %s, %+v", got, s.Adopted())
		}
		if got := s.Complete(); len(got) != 1 {
			t.Errorf("complete: %v", got)
		}
		must(t, s.Close())
	}
}

func TestDamageIsAnErrorAndChangesNothing(t *testing.T) {
	good := func(t *testing.T) node {
		s, n := open(t)
		for _, p := range []string{"a", "b", "c"} {
			must(t, put(s, 1, p, p))
		}
		must(t, s.Close())
		return n
	}
	journal := func(change func([]byte) []byte) func(*testing.T, disk.FS) {
		return func(t *testing.T, f disk.FS) {
			data, err := disk.ReadFile(f, journalName)
			must(t, err)
			must(t, disk.WriteFile(f, journalName, change(data), 0o600))
		}
	}
	lines := func(data []byte) [][]byte { return bytes.SplitAfter(data, []byte("\n")) }
	for name, c := range map[string]struct {
		damage func(*testing.T, disk.FS)
		want   error
		left   int // entries, if it is none
	}{
		"last line torn":      {journal(func(b []byte) []byte { return b[:len(b)-3] }), nil, 2},
		"last line changed":   {journal(func(b []byte) []byte { b[len(b)-3] ^= 1; return b }), nil, 2},
		"zeros at the end":    {journal(func(b []byte) []byte { return append(b, make([]byte, 500)...) }), nil, 3},
		"empty journal":       {journal(func([]byte) []byte { return nil }), nil, 0},
		"middle line changed": {journal(func(b []byte) []byte { b[len(b)-30] ^= 1; return b }), scr.ErrCorrupt, 0},
		"middle line torn": {journal(func(b []byte) []byte {
			l := lines(b)
			return bytes.Join([][]byte{l[0], l[1][:12], l[2], l[3]}, nil)
		}), scr.ErrCorrupt, 0},
		"path out of the cache": {journal(func(b []byte) []byte {
			return append(append(b, entry{kind: kindEnter, dataset: 1, path: "../../x"}.line()...), entry{kind: kindMark, number: 9}.line()...)
		}), scr.ErrEscape, 0},
		"filemap damaged": {func(t *testing.T, f disk.FS) {
			must(t, disk.WriteFile(f, filemapName, []byte("no hash"), 0o600))
		}, scr.ErrCorrupt, 0},
		"filemap gone": {func(t *testing.T, f disk.FS) { must(t, f.Remove(filemapName)) }, os.ErrNotExist, 0},
		"key elsewhere": {func(t *testing.T, f disk.FS) {
			m := scr.NewFilemap()
			m.AddFile(1, 0, "/other/scr.dataset.1/a")
			must(t, scr.WriteFilemap(f, filemapName, m))
		}, scr.ErrEscape, 0},
		"key of another dataset": {func(t *testing.T, f disk.FS) {
			m := scr.NewFilemap()
			m.AddFile(1, 0, "/c/scr.dataset.2/a")
			must(t, scr.WriteFilemap(f, filemapName, m))
		}, scr.ErrInvalid, 0},
		"a file of two ranks": {func(t *testing.T, f disk.FS) {
			m := scr.NewFilemap()
			m.AddFile(1, 0, "/c/scr.dataset.1/a")
			m.AddFile(1, 1, "/c/scr.dataset.1/a")
			must(t, scr.WriteFilemap(f, filemapName, m))
		}, scr.ErrInvalid, 0},
		"mark without sense": {func(t *testing.T, f disk.FS) {
			m := scr.NewFilemap()
			m.Tree().PutString(markKey, "-4")
			must(t, scr.WriteFilemap(f, filemapName, m))
		}, scr.ErrInvalid, 0},
	} {
		t.Run(name, func(t *testing.T) {
			n := good(t)
			c.damage(t, n.sub(t, "control"))
			before := files(t, n.root, ".")
			s, err := Open(n.options(t))
			if !errors.Is(err, c.want) {
				t.Fatalf("got %v, want %v", err, c.want)
			}
			if c.want == nil {
				if got := len(s.Pending(1)); got != c.left {
					t.Errorf("%d entries, want %d", got, c.left)
				}
				must(t, put(s, 1, "new", ""))
				must(t, s.Close())
				if got := len(n.open(t).Pending(1)); got != c.left+1 {
					t.Errorf("written on and reopened: %d entries", got)
				}
				return
			}
			after := files(t, n.root, ".")
			for name, data := range before {
				if after[name] != data {
					t.Errorf("%s was changed", name)
				}
			}
		})
	}
}

func TestTemporaryFilesOfACrashGo(t *testing.T) {
	s, n := open(t)
	must(t, s.Close())
	control := n.sub(t, "control")
	for _, name := range []string{".filemap_0.scrinfo.tmp-0", ".filemap_0.journal.tmp-3", ".filemap.scrinfo.tmp-12", ".other.tmp-0"} {
		must(t, disk.WriteFile(control, name, nil, 0o600))
	}
	must(t, n.open(t).Close())
	var got []string
	for name := range files(t, control, ".") {
		got = append(got, name)
	}
	slices.Sort(got)
	if want := []string{".other.tmp-0", "filemap.scrinfo", "filemap_0.journal", "filemap_0.scrinfo"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
