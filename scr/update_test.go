package scr

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sync"
	"testing"

	"github.com/scrfs/scrfs/internal/disk"
	"github.com/scrfs/scrfs/kvtree"
)

// writers runs change n times in each of two goroutines, each with its own view
// of the directory, as two processes have.
func writers(t *testing.T, dir string, n int, change func(fsys disk.FS, writer, i int) error) {
	t.Helper()
	var wg sync.WaitGroup
	for w := range 2 {
		fsys := mustOpen(t, dir)
		wg.Go(func() {
			for i := range n {
				if err := change(fsys, w, i); err != nil {
					t.Errorf("writer %d: %v", w, err)
					return
				}
			}
		})
	}
	wg.Wait()
}

// Without the lock writers lost updates in every run of these rounds, and in
// place, where a round is short, in one of three: hence more of those.
const (
	rounds        = 50
	roundsInPlace = 500
)

func TestTwoWritersLoseNothingInTheIndex(t *testing.T) {
	dir := t.TempDir()
	p := Paths{Family: F14}
	writers(t, dir, rounds, func(fsys disk.FS, w, i int) error {
		return UpdateIndex(fsys, p, func(x *Index) error {
			id := DatasetID(w*rounds + i + 1)
			return x.Put(IndexEntry{ID: id, Name: fmt.Sprintf("run%d/ckpt.%d", w, i), Complete: LimitOf(1)})
		})
	})
	x, err := ReadIndex(mustOpen(t, dir), p)
	if err != nil {
		t.Fatal(err)
	}
	if entries, err := x.Entries(); err != nil || len(entries) != 2*rounds {
		t.Errorf("got %d entries, %v; want %d", len(entries), err, 2*rounds)
	}
}

func TestTwoWritersLoseNothingInTheFlushFile(t *testing.T) {
	dir := t.TempDir()
	writers(t, dir, rounds, func(fsys disk.FS, w, i int) error {
		return UpdateFlush(fsys, "flush.scr", F14, func(x *FlushFile) error {
			x.SetLocation(DatasetID(i+1), []Location{InCache, InPrefix}[w])
			return nil
		})
	})
	x, err := ReadFlush(mustOpen(t, dir), "flush.scr", F14)
	if err != nil {
		t.Fatal(err)
	}
	for i := range rounds {
		if d := DatasetID(i + 1); !x.At(d, InCache) || !x.At(d, InPrefix) {
			t.Errorf("dataset %d lost a location", d)
		}
	}
}

func TestTwoWritersLoseNothingInTheHaltFile(t *testing.T) {
	dir := t.TempDir()
	writers(t, dir, roundsInPlace, func(fsys disk.FS, _, _ int) error {
		return UpdateHalt(fsys, "halt.scr", func(h *HaltFile) error {
			h.CheckpointsLeft = LimitOf(h.CheckpointsLeft.N + 1)
			return nil
		})
	})
	h, err := ReadHalt(mustOpen(t, dir), "halt.scr")
	if err != nil || h.CheckpointsLeft != LimitOf(2*roundsInPlace) {
		t.Errorf("got %+v, %v; want %d", h.CheckpointsLeft, err, 2*roundsInPlace)
	}
}

func TestTwoWritersLoseNothingInTheTransferFile(t *testing.T) {
	dir := t.TempDir()
	writers(t, dir, rounds, func(fsys disk.FS, w, i int) error {
		return UpdateTransfer(fsys, "transfer.scrinfo", func(x *TransferFile) error {
			x.Files = append(x.Files, TransferItem{Source: fmt.Sprintf("/c/%d.%d", w, i), Destination: "/p/x", SizeBytes: 5})
			return nil
		})
	})
	x, err := ReadTransfer(mustOpen(t, dir), "transfer.scrinfo")
	if err != nil || len(x.Files) != 2*rounds {
		t.Errorf("got %d files, %v; want %d", len(x.Files), err, 2*rounds)
	}
}

func TestUpdateWithErrorOrWithoutChangeWritesNothing(t *testing.T) {
	mem := disk.NewMem()
	p := Paths{Family: F14}
	put := func(x *Index) error { return x.Put(IndexEntry{ID: 1, Name: "run/a", Complete: LimitOf(1)}) }
	if err := UpdateIndex(mem, p, put); err != nil {
		t.Fatal(err)
	}
	before, err := disk.ReadFile(mem, p.Index())
	if err != nil {
		t.Fatal(err)
	}
	var changes []string
	traced := disk.Trace(mem, func(op disk.Op) {
		switch op.Kind {
		case disk.OpRename, disk.OpWrite:
			changes = append(changes, string(op.Kind)+" "+op.Name)
		}
	})
	if err := UpdateIndex(traced, p, put); err != nil {
		t.Fatal(err)
	}
	stop := errors.New("stop")
	err = UpdateIndex(traced, p, func(x *Index) error { return errors.Join(x.Remove("run/a"), stop) })
	if !errors.Is(err, stop) {
		t.Errorf("got %v, want the error of the change", err)
	}
	if len(changes) > 0 {
		t.Errorf("something was written: %q", changes)
	}
	if after, err := disk.ReadFile(mem, p.Index()); err != nil || !slices.Equal(before, after) {
		t.Errorf("the index changed: %v", err)
	}
}

// After a power failure at any operation the index is the old or the new one.
func TestIndexUpdateSurvivesCrashAtEveryStep(t *testing.T) {
	p := Paths{Family: F14}
	mem := disk.NewMem()
	first := IndexEntry{ID: 1, Name: "run/a", Complete: LimitOf(1)}
	if err := UpdateIndex(mem, p, func(x *Index) error { return x.Put(first) }); err != nil {
		t.Fatal(err)
	}
	var crashes []disk.FS
	traced := disk.Trace(mem, func(disk.Op) { crashes = append(crashes, mem.CrashClone()) })
	if err := UpdateIndex(traced, p, func(x *Index) error { return x.Put(IndexEntry{ID: 2, Name: "run/b"}) }); err != nil {
		t.Fatal(err)
	}
	crashes = append(crashes, mem.CrashClone())
	for i, fsys := range crashes {
		x, err := ReadIndex(fsys, p)
		if err != nil {
			t.Fatalf("crash %d: %v", i, err)
		}
		entries, err := x.Entries()
		if err != nil || len(entries) < 1 || entries[0].Name != "run/a" {
			t.Fatalf("crash %d: got %+v, %v", i, entries, err)
		}
		if i == len(crashes)-1 && len(entries) != 2 {
			t.Errorf("the update returned, yet a crash undoes it")
		}
	}
	if len(crashes) < 6 {
		t.Errorf("only %d operations were seen", len(crashes))
	}
}

func TestDamagedFilesAreCorrupt(t *testing.T) {
	mem := disk.NewMem()
	whole := kvtree.Encode(NodesFile{Nodes: 3}.Tree(F14))
	for i := range whole {
		bad := slices.Clone(whole)
		bad[i] ^= 1
		if err := disk.WriteFile(mem, "nodes.scr", bad, 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadNodes(mem, "nodes.scr"); !errors.Is(err, ErrCorrupt) {
			t.Errorf("bit flip in byte %d: got %v, want ErrCorrupt", i, err)
		}
		if err := disk.WriteFile(mem, "nodes.scr", whole[:i], 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadNodes(mem, "nodes.scr"); !errors.Is(err, ErrCorrupt) {
			t.Errorf("cut to %d bytes: got %v, want ErrCorrupt", i, err)
		}
	}
	if _, err := ReadNodes(mem, "absent"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("absent: got %v", err)
	}
	if err := WriteNodes(mem, "nodes.scr", NodesFile{Nodes: 3}); err != nil {
		t.Fatal(err)
	}
	if n, err := ReadNodes(mem, "nodes.scr"); err != nil || n.Nodes != 3 {
		t.Errorf("got %+v, %v", n, err)
	}
}
