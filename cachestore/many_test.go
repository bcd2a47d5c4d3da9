package cachestore

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/scrfs/scrfs/internal/disk"
	"github.com/scrfs/scrfs/scr"
)

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
