package cachestore

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/scrfs/scrfs/internal/disk"
	"github.com/scrfs/scrfs/scr"
)

const xorName = "1_of_2_in_0.xor"

func TestSealedFilemapIsReadAsSCRWould(t *testing.T) {
	s, n := open(t)
	must(t, put(s, 18, "d/a", "aaaa"))
	must(t, put(s, 18, "d/sub/b", "bb"))
	must(t, s.Seal(record(18, map[scr.Rank]map[string]string{0: {"d/a": "aaaa", "d/sub/b": "bb"}, 2: {}})))
	must(t, putRedundancy(s, 18, 0, xorName, "parity"))
	must(t, s.SetCRC(18, "d/a", crcOf("aaaa")))
	must(t, commit(s, 18, 0, xorName, "parity"))

	m, err := scr.ReadNodeFilemap(n.sub(t, "control"))
	must(t, err)
	if got := m.RanksOf(18); !slices.Equal(got, []scr.Rank{0, 1, 2}) {
		t.Fatalf("ranks: got %v", got)
	}
	for _, r := range []scr.Rank{0, 2} {
		if err := m.CheckRank(18, r, s.sizeOfKey); err != nil {
			t.Error(err)
		}
		if d, err := m.Dataset(18, r); err != nil || d.Files != 2 || d.SizeBytes != 6 {
			t.Errorf("rank %d: descriptor %+v, %v", r, d, err)
		}
		if f, err := m.Flush(18, r); err != nil || !f.Preserve || f.Container {
			t.Errorf("rank %d: flush descriptor %+v, %v", r, f, err)
		}
		if tree, err := m.DirTree(18, r); err != nil || len(tree.Dirs) != 1 {
			t.Errorf("rank %d: tree %+v, %v", r, tree, err)
		}
		if dir, _ := m.Tag(18, r, scr.TagDatasetDir); dir != "d" {
			t.Errorf("rank %d: dataset directory %q", r, dir)
		}
		if d, err := m.Descriptor(18, r); err != nil || d != descriptor(r) {
			t.Errorf("rank %d: redundancy descriptor %+v, %v", r, d, err)
		}
	}
	if got, _ := m.ExpectedFiles(18, 0); got != 3 {
		t.Errorf("FILES with the redundancy file: got %d", got)
	}
	meta, err := m.Meta(18, 0, "/c/scr.dataset.18/d/a")
	if err != nil || meta.Path != "/p/d" || meta.Name != "a" || !meta.HasCRC || meta.CRC != crcOf("aaaa") {
		t.Errorf("meta data %+v, %v", meta, err)
	}
	if meta, err := m.Meta(18, 0, "/c/scr.dataset.18/"+xorName); err != nil || meta.Type != scr.XORFile || meta.SizeBytes != 6 {
		t.Errorf("meta data of the redundancy file %+v, %v", meta, err)
	}
	// The left neighbour: its descriptor, and nothing else.
	if d, err := m.Descriptor(18, 1); err != nil || d != descriptor(1) || m.Entry(18, 1).Len() != 1 {
		t.Errorf("left neighbour: %+v, %v, keys %v", d, err, m.Entry(18, 1).Keys())
	}
	master, err := scr.ReadMasterFilemap(n.sub(t, "control"), "filemap.scrinfo")
	if err != nil || !slices.Equal(master, scr.MasterFilemap{"/k/filemap_0.scrinfo"}) {
		t.Errorf("master filemap %v, %v", master, err)
	}
	if got := s.Complete(); !slices.Equal(got, []scr.DatasetID{18}) {
		t.Errorf("complete: got %v", got)
	}
	if got, err := s.Redundancy(18); err != nil || !slices.Equal(got, []string{xorName}) {
		t.Errorf("redundancy: got %v, %v", got, err)
	}
}

func TestCacheIsPrivate(t *testing.T) {
	s, n := open(t)
	f, err := s.Create(1, "a/b", os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666)
	must(t, err)
	must(t, f.Close())
	cache := n.sub(t, "cache")
	if got := mode(t, cache, "scr.dataset.1/a/b"); got != 0o600 {
		t.Errorf("file: got %v", got)
	}
	for _, dir := range []string{"scr.dataset.1", "scr.dataset.1/a"} {
		if got := mode(t, cache, dir); got != 0o700|fs.ModeDir {
			t.Errorf("%s: got %v", dir, got)
		}
	}
}

func TestHostilePathsTouchNothing(t *testing.T) {
	s, n := open(t)
	must(t, put(s, 1, "ok", "x"))
	before := files(t, n.root, ".")
	for _, p := range []string{"", ".", "..", "../x", "/etc/passwd", "a/../b", "a/..", "a//b", "a/", "./a", "a\x00b", ".scr/index.scr", "d/.scr/x", xorName, "3_of_4_in_0.rs"} {
		calls := map[string]error{
			"Create":   put(s, 1, p, "x"),
			"Rename":   s.Rename(1, "ok", p),
			"Rename2":  s.Rename(1, p, "other"),
			"Exchange": s.Exchange(1, 1, "ok", p),
			"Remove":   s.Remove(1, p),
		}
		_, calls["OpenFile"] = s.OpenFile(1, p, os.O_RDONLY)
		_, calls["Stat"] = s.Stat(1, p)
		for name, err := range calls {
			if err == nil {
				t.Errorf("%s(%q): no error", name, p)
			}
		}
		rec := record(1, map[scr.Rank]map[string]string{0: {"ok": "x"}})
		rec.Files[0][0].File = p
		if err := s.Seal(rec); err == nil {
			t.Errorf("Seal(%q): no error", p)
		}
	}
	for _, id := range []scr.DatasetID{0, -1, scr.MaxDatasetID + 1} {
		if err := put(s, id, "a", "x"); !errors.Is(err, scr.ErrInvalid) {
			t.Errorf("dataset %d: got %v", id, err)
		}
	}
	for _, name := range []string{"", "../1_of_2_in_0.xor", "d/1_of_2_in_0.xor", "ok", "01_of_2_in_0.xor"} {
		if _, err := s.CreateRedundancy(1, 0, name); err == nil {
			t.Errorf("CreateRedundancy(%q): no error", name)
		}
	}
	rec := record(1, map[scr.Rank]map[string]string{0: {"ok": "x"}})
	rec.Files[0][0].Path = "/elsewhere"
	if err := s.Seal(rec); !errors.Is(err, scr.ErrInvalid) {
		t.Errorf("file that goes elsewhere: got %v", err)
	}
	if after := files(t, n.root, "."); !reflect.DeepEqual(after, before) {
		t.Errorf("got %v\nwant %v", after, before)
	}
}

func TestSealComparesWithTheCache(t *testing.T) {
	s, _ := open(t)
	must(t, put(s, 1, "a", "12345"))
	for name, c := range map[string]struct {
		files map[scr.Rank]map[string]string
		want  error
	}{
		"file absent":    {map[scr.Rank]map[string]string{0: {"a": "12345", "b": ""}}, scr.ErrIncomplete},
		"other size":     {map[scr.Rank]map[string]string{0: {"a": "1234"}}, scr.ErrIncomplete},
		"in two ranks":   {map[scr.Rank]map[string]string{0: {"a": "12345"}, 1: {"a": "12345"}}, scr.ErrInvalid},
		"a redundancy's": {map[scr.Rank]map[string]string{0: {xorName: ""}}, scr.ErrInvalid},
	} {
		if err := s.Seal(record(1, c.files)); !errors.Is(err, c.want) {
			t.Errorf("%s: got %v, want %v", name, err, c.want)
		}
	}
	if got := view(s); got != "1 pending a\n" {
		t.Errorf("after refused seals: %s", got)
	}
}

func TestTouchedDatasetIsIncompleteUntilSealedAgain(t *testing.T) {
	rec := record(1, map[scr.Rank]map[string]string{0: {"a": "aa", "b": "bb"}})
	for name, touch := range map[string]func(*Store) error{
		"opened to write": func(s *Store) error {
			f, err := s.OpenFile(1, "a", os.O_RDWR)
			if err != nil {
				return err
			}
			return f.Close()
		},
		"removed":          func(s *Store) error { return s.Remove(1, "a") },
		"renamed":          func(s *Store) error { return s.Rename(1, "a", "c") },
		"replaced":         func(s *Store) error { return s.Rename(1, "a", "b") },
		"made anew":        func(s *Store) error { return put(s, 1, "a", "aa") },
		"another was made": func(s *Store) error { return put(s, 1, "c", "") },
		"exchanged":        func(s *Store) error { return s.Exchange(1, 1, "a", "b") },
		"unsealed":         func(s *Store) error { return s.Unseal(1) },
	} {
		t.Run(name, func(t *testing.T) {
			s, n := open(t)
			must(t, put(s, 1, "a", "aa"))
			must(t, put(s, 1, "b", "bb"))
			must(t, s.Seal(rec))
			if got := s.Complete(); len(got) != 1 {
				t.Fatalf("sealed: complete %v", got)
			}
			must(t, touch(s))
			if got := s.Complete(); len(got) != 0 {
				t.Errorf("complete: got %v", got)
			}
			want := view(s)
			if name != "another was made" && name != "unsealed" && !strings.Contains(want, "1 rank 0 incomplete\n") {
				t.Errorf("got %s", want)
			}
			must(t, s.Close())
			// The journal says so too, to the next daemon and to who only reads.
			v, err := Read(n.sub(t, "control"), "/c")
			must(t, err)
			reopened := n.open(t)
			if got := view(reopened); got != want {
				t.Errorf("reopened: got %s\nwant %s", got, want)
			}
			m, err := reopened.Filemap()
			must(t, err)
			if got, want := v.Filemap.Files(1, 0), m.Files(1, 0); !slices.Equal(got, want) {
				t.Errorf("read: got %v, want %v", got, want)
			}
			if got, want := v.Pending[1], reopened.Pending(1); !slices.Equal(got, want) {
				t.Errorf("read: pending %v, want %v", got, want)
			}
			for _, p := range []string{"a", "b"} {
				must(t, put(reopened, 1, p, p+p))
			}
			for _, p := range []string{"c"} {
				if err := reopened.Remove(1, p); err != nil && !errors.Is(err, fs.ErrNotExist) {
					t.Fatal(err)
				}
			}
			must(t, reopened.Seal(rec))
			if got := reopened.Complete(); len(got) != 1 {
				t.Errorf("sealed again: complete %v, %s", got, view(reopened))
			}
		})
	}
}

func TestSecondSealReplacesTheFirst(t *testing.T) {
	s, n := open(t)
	must(t, put(s, 1, "a", "aa"))
	must(t, put(s, 1, "b", "bb"))
	must(t, s.Seal(record(1, map[scr.Rank]map[string]string{0: {"a": "aa", "b": "bb"}})))
	must(t, putRedundancy(s, 1, 0, xorName, "p"))
	must(t, commit(s, 1, 0, xorName, "p"))
	must(t, s.SetCRC(1, "a", 7))
	must(t, put(s, 1, "c", "c"))
	must(t, s.Seal(record(1, map[scr.Rank]map[string]string{1: {"a": "aa"}, 3: {"c": "c"}})))
	want := "1 rank 1: a=2\n1 rank 3: c=1\n1 pending b\n"
	if got := view(s); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	if got, _ := s.Redundancy(1); len(got) != 0 {
		t.Errorf("redundancy %v", got)
	}
	if _, there := files(t, n.root, "cache")["cache/scr.dataset.1/"+xorName]; there {
		t.Error("the old redundancy file is there")
	}
	must(t, s.Close())
	if got := view(n.open(t)); got != want {
		t.Errorf("reopened: got %s\nwant %s", got, want)
	}
}

func TestRebuiltRankIsAdded(t *testing.T) {
	s, n := open(t)
	must(t, put(s, 1, "d/a", "aa"))
	must(t, s.Seal(record(1, map[scr.Rank]map[string]string{0: {"d/a": "aa"}})))
	must(t, putRedundancy(s, 1, 0, xorName, "p"))
	must(t, commit(s, 1, 0, xorName, "p"))
	must(t, put(s, 1, "d/b", "bbb"))
	rec := record(1, map[scr.Rank]map[string]string{1: {"d/b": "bbb"}})
	rec.Layout = scr.Layout{} // a rebuild does not know it
	must(t, s.AddRanks(rec))
	second := "2_of_2_in_0.xor"
	must(t, putRedundancy(s, 1, 1, second, "qq"))
	must(t, commit(s, 1, 1, second, "qq"))
	must(t, commit(s, 1, 1, second, "qq")) // again: nothing new
	want := "1 rank 0: 1_of_2_in_0.xor=1 a=2\n1 rank 1: 2_of_2_in_0.xor=2 b=3\n"
	if got := view(s); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	m, _ := s.Filemap()
	if dir, _ := m.Tag(1, 1, scr.TagDatasetDir); dir != "d" {
		t.Errorf("dataset directory of the new rank: %q", dir)
	}
	// Made anew it does not count until it is committed.
	must(t, putRedundancy(s, 1, 1, second, "rrr"))
	if got, _ := s.Redundancy(1); !slices.Equal(got, []string{xorName}) {
		t.Errorf("redundancy while one is made: %v", got)
	}
	if got := s.Complete(); len(got) != 1 {
		t.Errorf("complete while a redundancy file is made: %v", got)
	}
	if err := commit(s, 1, 1, second, "rr"); !errors.Is(err, scr.ErrIncomplete) {
		t.Errorf("commit of another size: %v", err)
	}
	must(t, s.Close())
	s = n.open(t)
	if got := s.Complete(); len(got) != 1 {
		t.Errorf("reopened: complete %v", got)
	}
}

func TestDirectoryIsRenamedInEveryDataset(t *testing.T) {
	s, n := open(t)
	must(t, put(s, 1, "tmp/a", "1"))
	must(t, put(s, 1, "tmp/s/b", "2"))
	must(t, put(s, 2, "tmp/c", "3"))
	must(t, put(s, 2, "tmpx", "4"))
	must(t, put(s, 3, "x/gone", "")) // an empty directory in the way
	must(t, put(s, 3, "tmp/d", "5"))
	must(t, s.Remove(3, "x/gone"))
	must(t, s.Rename(1, "tmp", "x"))
	must(t, s.Rename(9, "nothing", "y"))
	want := map[string]string{
		"scr.dataset.1/x/a": "1", "scr.dataset.1/x/s/b": "2", "scr.dataset.2/x/c": "3", "scr.dataset.2/tmpx": "4", "scr.dataset.3/x/d": "5",
	}
	if got := files(t, n.sub(t, "cache"), "."); !reflect.DeepEqual(got, want) {
		t.Errorf("got %v\nwant %v", got, want)
	}
	if got := view(s); got != "1 pending x/a x/s/b\n2 pending tmpx x/c\n3 pending x/d\n" {
		t.Errorf("entries: %s", got)
	}
	// A file is renamed in its dataset alone, and replaces another.
	must(t, put(s, 1, "f", "mine"))
	must(t, put(s, 2, "f", "other"))
	must(t, put(s, 1, "g", "old"))
	must(t, s.Rename(1, "f", "g"))
	got := files(t, n.sub(t, "cache"), ".")
	if got["scr.dataset.1/g"] != "mine" || got["scr.dataset.2/f"] != "other" {
		t.Errorf("file: got %v", got)
	}
	must(t, s.Exchange(1, 2, "x", "nowhere"))
	if got := view(s); !strings.Contains(got, "1 pending g nowhere/a nowhere/s/b\n2 pending f nowhere/c tmpx\n") {
		t.Errorf("exchange with what is elsewhere: %s", got)
	}
	must(t, put(s, 1, "y/a", "y"))
	must(t, s.Exchange(1, 1, "nowhere", "y"))
	got = files(t, n.sub(t, "cache"), ".")
	if got["scr.dataset.1/y/a"] != "1" || got["scr.dataset.1/nowhere/a"] != "y" || got["scr.dataset.2/y/c"] != "3" {
		t.Errorf("exchange: got %v", got)
	}
	if got := view(s); !strings.Contains(got, "1 pending g nowhere/a y/a y/s/b\n") {
		t.Errorf("exchange: entries %s", got)
	}
}

func TestRemovedDatasetIsForgotten(t *testing.T) {
	s, n := open(t)
	must(t, put(s, 1, "d/a", "aa"))
	must(t, put(s, 2, "d/b", "b"))
	must(t, s.Seal(record(1, map[scr.Rank]map[string]string{0: {"d/a": "aa"}})))
	f, err := s.OpenFile(1, "d/a", os.O_RDONLY)
	must(t, err)
	must(t, s.RemoveDataset(1))
	must(t, s.RemoveDataset(1))
	must(t, s.RemoveDataset(77))
	b := make([]byte, 2)
	if _, err := f.ReadAt(b, 0); err != nil || string(b) != "aa" {
		t.Errorf("who had it open reads %q, %v", b, err)
	}
	must(t, f.Close())
	for range 2 {
		if got := view(s); got != "2 pending d/b\n" {
			t.Errorf("got %s", got)
		}
		must(t, s.Close())
		s = n.open(t)
	}
	if rawTree(t, n).Has("RANK") {
		t.Error("the filemap still has the dataset")
	}
}

func TestSetTimesAndStat(t *testing.T) {
	s, _ := open(t)
	must(t, put(s, 1, "a", "abc"))
	at := time.Unix(1700000000, 5)
	must(t, s.SetTimes(1, "a", time.Time{}, at))
	st, err := s.Stat(1, "a")
	if err != nil || !st.ModTime().Equal(at) || st.Size() != 3 {
		t.Errorf("got %v, %v", st, err)
	}
	if _, err := s.Stat(1, "b"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("absent file: %v", err)
	}
	if _, err := s.OpenFile(1, "b", os.O_RDWR); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("absent file: %v", err)
	}
	if err := s.SetCRC(1, "a", 1); !errors.Is(err, scr.ErrNotFound) {
		t.Errorf("checksum of a file that is not sealed: %v", err)
	}
	if _, err := s.Create(1, "a", os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600); !errors.Is(err, fs.ErrExist) {
		t.Errorf("exclusive: %v", err)
	}
	must(t, s.Seal(record(1, map[scr.Rank]map[string]string{0: {"a": "abc"}})))
	if _, err := s.Create(1, "a", os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600); !errors.Is(err, fs.ErrExist) {
		t.Errorf("exclusive, sealed: %v", err)
	}
	if got := s.Complete(); len(got) != 1 {
		t.Errorf("a refused create has touched the dataset: %s", view(s))
	}
}

// A file in the place of an empty directory that a removal left, and the other
// way round.
func TestEmptyDirectoriesAreInNobodysWay(t *testing.T) {
	s, n := open(t)
	must(t, put(s, 1, "a/b/c", ""))
	must(t, s.Remove(1, "a/b/c"))
	if got, err := n.sub(t, "cache").ReadDir("scr.dataset.1"); err != nil || len(got) != 0 {
		t.Errorf("left: %v, %v", got, err)
	}
	must(t, n.sub(t, "cache").Mkdir("scr.dataset.1/x", 0o700))
	must(t, n.sub(t, "cache").Mkdir("scr.dataset.1/x/y", 0o700))
	must(t, put(s, 1, "x", "file"))
	if err := put(s, 1, "x/y", ""); err == nil {
		t.Error("a file in a file")
	}
	if got := view(s); got != "1 pending x\n" {
		t.Errorf("got %s", got)
	}
}

func TestTenThousandCreatesNeverRewriteTheFilemap(t *testing.T) {
	const count = 10_000
	var mu sync.Mutex
	filemap, journalBytes, calls := 0, int64(0), 0
	mem := newMem(t)
	traced := node{disk.Trace(mem, func(op disk.Op) {
		mu.Lock()
		defer mu.Unlock()
		calls++
		switch {
		case op.Kind == disk.OpWrite && strings.HasSuffix(op.Name, journalName):
			journalBytes += op.Bytes
		case strings.Contains(op.Name, filemapName):
			filemap++
		}
	})}
	s := traced.open(t)
	filemap, journalBytes, calls = 0, 0, 0
	for i := range count {
		must(t, put(s, 1, fmt.Sprintf("run/ckpt.10/rank_%05d", i), ""))
	}
	if filemap != 0 {
		t.Errorf("filemap was touched %d times", filemap)
	}
	if journalBytes > count*64 {
		t.Errorf("journal of %d bytes", journalBytes)
	}
	if calls > count*5 {
		t.Errorf("%d calls for %d files", calls, count)
	}
	// Renamed one by one, as programs do that write to temporary names.
	calls = 0
	for i := range 1000 {
		must(t, s.Rename(1, fmt.Sprintf("run/ckpt.10/rank_%05d", i), fmt.Sprintf("run/ckpt.10/done_%05d", i)))
	}
	if calls > 1000*10 {
		t.Errorf("%d calls for 1000 renames", calls)
	}
	must(t, s.Close())
	if got := len(node{mem}.open(t).Pending(1)); got != count {
		t.Errorf("reopened: %d entries", got)
	}
}

func TestJournalIsFoldedAtTheBoundary(t *testing.T) {
	s, n := open(t)
	var names map[string]string
	for round := range 5 {
		id := scr.DatasetID(round + 1)
		names = map[string]string{}
		for i := range 400 {
			p := fmt.Sprintf("d/%d", i)
			names[p] = "x"
			must(t, put(s, id, p, "x"))
		}
		must(t, s.Seal(record(id, map[scr.Rank]map[string]string{0: names})))
		if round > 0 {
			must(t, s.RemoveDataset(id-1))
		}
	}
	data, err := disk.ReadFile(n.sub(t, "control"), journalName)
	must(t, err)
	if lines := strings.Count(string(data), "\n"); lines > 700 {
		t.Errorf("%d lines in the journal of 400 sealed files", lines)
	}
	want := view(s)
	must(t, s.Close())
	if got := view(n.open(t)); got != want || len(names) != 400 {
		t.Errorf("reopened: got %.100s\nwant %.100s", got, want)
	}
}

func TestManyWorkAtOnce(t *testing.T) {
	s, n := open(t)
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			id := scr.DatasetID(w/2 + 1)
			rank := scr.Rank(w)
			mine := map[string]string{}
			for i := range 40 {
				p := fmt.Sprintf("d/w%d/%d", w, i)
				if err := errors.Join(put(s, id, p+".tmp", "xx"), s.Rename(id, p+".tmp", p)); err != nil {
					t.Error(err)
				}
				if i%4 == 0 {
					if err := s.Remove(id, p); err != nil {
						t.Error(err)
					}
					continue
				}
				mine[p] = "xx"
				if _, err := s.Stat(id, p); err != nil {
					t.Error(err)
				}
			}
			if err := s.AddRanks(record(id, map[scr.Rank]map[string]string{rank: mine})); err != nil {
				t.Error(err)
			}
			name := fmt.Sprintf("%d_of_8_in_0.xor", w+1)
			if err := errors.Join(putRedundancy(s, id, rank, name, "p"), commit(s, id, rank, name, "p"), s.SetCRC(id, fmt.Sprintf("d/w%d/1", w), 3)); err != nil {
				t.Error(err)
			}
			s.Complete()
			if _, err := s.Filemap(); err != nil {
				t.Error(err)
			}
		}()
	}
	wg.Wait()
	if got := s.Complete(); !slices.Equal(got, []scr.DatasetID{1, 2, 3, 4}) {
		t.Errorf("complete: %v\n%s", got, view(s))
	}
	want := view(s)
	must(t, s.Close())
	s = n.open(t)
	if got := view(s); got != want {
		t.Errorf("reopened: got %s\nwant %s", got, want)
	}
	if a := s.Adopted(); len(a.Unknown)+len(a.Dropped) > 0 {
		t.Errorf("adopted %+v", a)
	}
}

func TestClosedStoreRefuses(t *testing.T) {
	s, _ := open(t)
	must(t, s.Close())
	must(t, s.Close())
	_, ferr := s.Filemap()
	_, cerr := s.CreateRedundancy(1, 0, xorName)
	for name, err := range map[string]error{
		"Create": put(s, 1, "a", ""), "Remove": s.Remove(1, "a"), "Rename": s.Rename(1, "a", "b"), "Seal": s.Seal(record(1, nil)),
		"Unseal": s.Unseal(1), "RemoveDataset": s.RemoveDataset(1), "Filemap": ferr, "CreateRedundancy": cerr, "SetCRC": s.SetCRC(1, "a", 1),
	} {
		if !errors.Is(err, errClosed) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func BenchmarkCreate(b *testing.B) {
	root, err := disk.Open(b.TempDir())
	must(b, err)
	for _, dir := range []string{"cache", "control"} {
		must(b, root.Mkdir(dir, 0o700))
	}
	s := node{root}.open(b)
	b.ResetTimer()
	for i := range b.N {
		f, err := s.Create(1, fmt.Sprintf("run/ckpt.10/rank_%d", i), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
		must(b, err)
		must(b, f.Close())
	}
}
