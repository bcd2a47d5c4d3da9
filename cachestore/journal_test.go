package cachestore

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/scrfs/scrfs/internal/disk"
	"github.com/scrfs/scrfs/scr"
)

// A line that is written while the filemap is, is in neither if the journal is
// cut at the end of that.
func TestLineWrittenBesideTheFilemapStays(t *testing.T) {
	mem := newMem(t)
	var s *Store
	armed := false
	n := node{disk.Inject(mem, func(op disk.Op) error {
		if armed && op.Kind == disk.OpRename && strings.HasSuffix(op.To, filemapName) {
			armed = false
			return touchFile(s)
		}
		return nil
	})}
	s = n.open(t)
	names := map[string]string{}
	for i := range 2 * trimLines {
		p := fmt.Sprintf("d/%d", i)
		names[p] = ""
		must(t, put(s, 1, p, ""))
	}
	must(t, put(s, 2, "a", ""))
	must(t, s.Seal(record(2, map[scr.Rank]map[string]string{0: {"a": ""}})))
	armed = true
	must(t, s.Seal(record(1, map[scr.Rank]map[string]string{0: names})))
	want := view(s)
	if !strings.Contains(want, "2 rank 0 incomplete") {
		t.Fatalf("got %.200s", want)
	}
	must(t, s.Close())
	if got := view(node{mem}.open(t)); got != want {
		t.Errorf("reopened: got %.200s\nwant %.200s", got, want)
	}
}

func touchFile(s *Store) error {
	f, err := s.OpenFile(2, "a", os.O_RDWR)
	if err != nil {
		return err
	}
	return f.Close()
}

// A write that failed half way and cannot be taken back at once leaves whole
// lines behind; the next line must not stand in the middle of them.
func TestTornLinesAreTakenBackBeforeTheNext(t *testing.T) {
	mem := newMem(t)
	armed := false
	isArmed := func(disk.Op) bool { return armed }
	n := node{disk.Inject(mem, disk.Faults(
		disk.Fault{Kind: disk.OpWrite, PathPattern: journalName, ShortWrite: 60, Match: isArmed, N: 1},
		disk.Fault{Kind: disk.OpTruncate, PathPattern: journalName, Match: isArmed, N: 1},
	))}
	s := n.open(t)
	files := map[string]string{"d/a": "", "d/b": "", "d/c": ""}
	for p := range files {
		must(t, put(s, 1, p, ""))
	}
	must(t, s.Seal(record(1, map[scr.Rank]map[string]string{0: files})))
	armed = true
	if err := s.Rename(1, "d", "e"); err == nil {
		t.Fatal("no error of a journal that cannot be written")
	}
	must(t, put(s, 1, "q", ""))
	want := view(s)
	must(t, s.Close())
	if got := view(node{mem}.open(t)); got != want {
		t.Errorf("reopened: got %s\nwant %s", got, want)
	}
}
