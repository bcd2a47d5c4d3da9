package cachestore

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/scrfs/scrfs/internal/disk"
	"github.com/scrfs/scrfs/scr"
)

// step is one call of a history. After an error it may be called again.
type step struct {
	name string
	do   func(*Store) error
}

// history has every kind of call.
func history() []step {
	first := record(1, map[scr.Rank]map[string]string{0: {"d/a": "aa", "d/s/b": "bbb"}, 1: {"d/c": "c"}})
	again := record(1, map[scr.Rank]map[string]string{0: {"d/a": "aa", "d/s/b": "bbb"}, 2: {"d/c": "c"}})
	rebuilt := record(1, map[scr.Rank]map[string]string{5: {"d/e": "eeee"}})
	second := record(2, map[scr.Rank]map[string]string{0: {"e/x": "x"}, 1: {}})
	return []step{
		{"make d/a", func(s *Store) error { return put(s, 1, "d/a", "aa") }},
		{"make tmp/b", func(s *Store) error { return put(s, 1, "tmp/b", "bbb") }},
		{"make c", func(s *Store) error { return put(s, 1, "c", "c") }},
		{"make z", func(s *Store) error { return put(s, 1, "z", "zz") }},
		{"remove z", func(s *Store) error { return gone(s.Remove(1, "z")) }},
		{"rename directory", func(s *Store) error { return s.Rename(1, "tmp", "d/s") }},
		{"rename file", func(s *Store) error { return s.Rename(1, "c", "d/c") }},
		{"seal", func(s *Store) error { return s.Seal(first) }},
		{"redundancy", func(s *Store) error { return putRedundancy(s, 1, 0, xorName, "pp") }},
		{"checksum", func(s *Store) error { return s.SetCRC(1, "d/a", crcOf("aa")) }},
		{"commit", func(s *Store) error { return commit(s, 1, 0, xorName, "pp") }},
		{"make e/x", func(s *Store) error { return put(s, 2, "e/x", "x") }},
		{"checksum 2", func(s *Store) error { return s.SetCRC(1, "d/c", crcOf("c")) }},
		{"seal 2", func(s *Store) error { return s.Seal(second) }},
		{"touch", func(s *Store) error {
			f, err := s.OpenFile(1, "d/a", os.O_RDWR)
			if err != nil {
				return err
			}
			return f.Close()
		}},
		{"seal again", func(s *Store) error { return s.Seal(again) }},
		{"make rebuilt", func(s *Store) error { return put(s, 1, "d/e", "eeee") }},
		{"add rank", func(s *Store) error { return s.AddRanks(rebuilt) }},
		{"unseal 2", func(s *Store) error { return s.Unseal(2) }},
		{"remove dataset", func(s *Store) error { return s.RemoveDataset(1) }},
		{"remove e/x", func(s *Store) error { return gone(s.Remove(2, "e/x")) }},
	}
}

func gone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// views are what a store says before each step and at the end.
func views(t *testing.T) []string {
	s, _ := open(t)
	list := []string{view(s)}
	for _, step := range history() {
		if err := step.do(s); err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		list = append(list, view(s))
	}
	return list
}

var errKilled = errors.New("killed")

// killAt runs the history on a tree of which nothing works any more after some
// calls. It returns the number of steps that were done, and whether all were.
func killAt(t *testing.T, mem *disk.Mem, calls int) (done int, all bool) {
	n := 0
	dying := node{disk.Inject(mem, func(disk.Op) error {
		if n++; n > calls {
			return errKilled
		}
		return nil
	})}
	cache, cerr := dying.root.Sub("cache")
	control, kerr := dying.root.Sub("control")
	if cerr != nil || kerr != nil {
		return 0, false
	}
	s, err := Open(Options{Cache: cache, Control: control, CacheDir: "/c", ControlDir: "/k", Prefix: "/p"})
	if err != nil {
		return 0, false
	}
	for i, step := range history() {
		if err := step.do(s); err != nil {
			if n <= calls {
				t.Fatalf("%s after %d calls: %v", step.name, calls, err)
			}
			return i, false
		}
	}
	return len(history()), true
}

// A daemon that is killed between any two calls leaves no file without an entry,
// and the next one finds the old state or the new.
func TestKilledDaemonLeavesNoFileWithoutEntry(t *testing.T) {
	want := views(t)
	for calls := 0; ; calls++ {
		mem := newMem(t)
		done, all := killAt(t, mem, calls)
		s := node{mem}.open(t)
		if a := s.Adopted(); len(a.Unknown) > 0 {
			t.Fatalf("killed after %d calls: without entry: %v", calls, a.Unknown)
		}
		got := view(s)
		allowed := want[done : min(done+1, len(want)-1)+1]
		if !slices.Contains(allowed, got) && !between(done, got) {
			t.Fatalf("killed after %d calls in step %q: got\n%swant\n%s", calls, history()[done].name, got, strings.Join(allowed, "or\n"))
		}
		must(t, s.Close())
		if all {
			break
		}
	}
}

// between allows what two calls on the disk cannot do in one: what is removed
// goes file by file, and what has lost a part is incomplete or unsealed.
func between(done int, got string) bool {
	switch history()[done].name {
	case "seal again", "unseal 2", "remove dataset":
		// Redundancy or files are gone, or the journal has let the ranks go.
		return strings.Contains(got, "incomplete") || strings.Contains(got, "pending") || !strings.Contains(got, xorName)
	}
	return false
}

// A power cut leaves the filemap as the last call that wrote it left it, and
// nothing that cannot be read.
func TestPowerCutLeavesWhatWasSealed(t *testing.T) {
	mem := newMem(t)
	s := node{mem}.open(t)
	durable := map[scr.DatasetID][]scr.Rank{}
	for _, step := range history() {
		must(t, step.do(s))
		switch step.name {
		case "seal", "commit", "seal 2", "seal again", "add rank", "unseal 2", "remove dataset":
			m, err := s.Filemap()
			must(t, err)
			clear(durable)
			for _, id := range m.Datasets() {
				durable[id] = m.RanksOf(id)
			}
		}
		cut := node{mem.CrashClone()}
		v, err := Read(cut.sub(t, "control"), "/c")
		if err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		for id, ranks := range durable {
			if got := v.Filemap.RanksOf(id); !slices.Equal(got, ranks) {
				t.Errorf("%s: dataset %d has ranks %v, want %v", step.name, id, got, ranks)
			}
		}
		after := cut.open(t)
		if a := after.Adopted(); len(a.Unknown) > 0 {
			t.Errorf("%s: without entry: %v", step.name, a.Unknown)
		}
		// What the store then calls complete is there.
		for _, id := range after.Complete() {
			m, err := after.Filemap()
			must(t, err)
			if !after.whole(m, id) {
				t.Errorf("%s: dataset %d", step.name, id)
			}
		}
	}
}

// Real power cuts let some of what was not synced through. The store opens or
// says what is damaged, and removes nothing but its own temporary files.
func TestPowerCutOfAnyKindRemovesNoFile(t *testing.T) {
	mem := newMem(t)
	s := node{mem}.open(t)
	for i, step := range history() {
		must(t, step.do(s))
		for seed := range uint64(20) {
			cut := mem.CrashCloneSeed(seed + uint64(i)*100)
			if _, err := cut.Stat("control"); err != nil {
				continue
			}
			before := len(files(t, cut, "cache"))
			_, err := Open(node{cut}.options(t))
			if err != nil && !errors.Is(err, scr.ErrCorrupt) {
				t.Errorf("%s, seed %d: %v", step.name, seed, err)
			}
			if after := len(files(t, cut, "cache")); after != before {
				t.Errorf("%s, seed %d: %d files, had %d", step.name, seed, after, before)
			}
		}
	}
}

// Any one call on the disk that fails gives an error and no false word; the
// same call of the store then ends as if nothing had been.
func TestAnyOneFaultIsSurvived(t *testing.T) {
	want := views(t)
	for _, fault := range []disk.Fault{{}, {ShortWrite: 7}} {
		for n := 1; ; n++ {
			mem := newMem(t)
			fault.N = n
			hit, looking := 0, false
			rule := disk.Faults(fault)
			faulty := node{disk.Inject(mem, func(op disk.Op) error {
				if op.Kind == disk.OpSub || looking {
					return nil
				}
				err := rule(op)
				if err != nil {
					hit++
				}
				return err
			})}
			s, err := Open(faulty.options(t))
			if err != nil {
				s = faulty.open(t)
			}
			for i, step := range history() {
				err := step.do(s)
				if err != nil {
					if hit != 1 {
						t.Fatalf("call %d: %s: %v, without a fault", n, step.name, err)
					}
					if err := step.do(s); err != nil {
						t.Fatalf("call %d: %s again: %v", n, step.name, err)
					}
				}
				looking = true
				if got := view(s); got != want[i+1] {
					t.Fatalf("call %d: %s: got\n%swant\n%s", n, step.name, got, want[i+1])
				}
				looking = false
				again, err := Open(node{cloneOf(t, mem)}.options(t))
				if err != nil {
					t.Fatalf("call %d: %s: reopen: %v", n, step.name, err)
				}
				if got, a := view(again), again.Adopted(); got != want[i+1] || len(a.Unknown) > 0 {
					t.Fatalf("call %d: %s: reopened: got\n%swant\n%swithout entry: %v", n, step.name, got, want[i+1], a.Unknown)
				}
			}
			if hit == 0 {
				break
			}
		}
	}
}

// cloneOf copies a tree as it is.
func cloneOf(t *testing.T, mem *disk.Mem) *disk.Mem {
	c := newMem(t)
	for name, data := range files(t, mem, ".") {
		if i := strings.LastIndex(name, "/"); i > 0 {
			must(t, disk.MkdirAll(c, name[:i], 0o700))
		}
		must(t, disk.WriteFile(c, name, []byte(data), 0o600))
	}
	return c
}
