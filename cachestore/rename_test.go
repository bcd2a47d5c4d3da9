package cachestore

import (
	"reflect"
	"strings"
	"testing"
)

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
