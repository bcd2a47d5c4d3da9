package cachestore

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"

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
