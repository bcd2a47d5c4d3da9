package cachestore

import (
	"errors"
	"io/fs"
	"os"
	"reflect"
	"testing"
	"time"

	"github.com/scrfs/scrfs/scr"
)

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
