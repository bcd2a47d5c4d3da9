package cachestore

import (
	"testing"

	"github.com/scrfs/scrfs/scr"
)

func TestReassignMovesAFileToTheNextDataset(t *testing.T) {
	s, n := open(t)
	must(t, put(s, 1, "latest", "10"))
	must(t, put(s, 1, "d/a", "aa"))
	must(t, s.Seal(record(1, map[scr.Rank]map[string]string{0: {"latest": "10"}, 1: {"d/a": "aa"}})))
	must(t, put(s, 2, "d/b", "bbb"))
	must(t, s.Reassign(1, 2, "latest"))
	must(t, s.Reassign(1, 2, "latest")) // again, and of nothing: no error
	must(t, s.Reassign(1, 2, "absent"))
	const want = "1 rank 0 incomplete\n1 rank 1: a=2\n2 pending d/b latest\n"
	if got := view(s); got != want {
		t.Errorf("the store has\n%swant\n%s", got, want)
	}
	must(t, s.Close())
	s = n.open(t)
	defer s.Close()
	if got := view(s); got != want {
		t.Errorf("opened again the store has\n%swant\n%s", got, want)
	}
	st, err := s.Stat(2, "latest")
	must(t, err)
	if st.Size() != 2 {
		t.Errorf("the file has %d bytes in its new dataset, want 2", st.Size())
	}
	if _, err := s.Stat(1, "latest"); err == nil {
		t.Error("the file is in the old dataset as well")
	}
}
