package scavenger

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/scrfs/scrfs/flush"
	"github.com/scrfs/scrfs/indexer"
	"github.com/scrfs/scrfs/internal/disk"
	"github.com/scrfs/scrfs/scavenger/rescuetest"
	"github.com/scrfs/scrfs/scr"
)

// flushed is what daemons do in a run: these nodes bring their part of a
// dataset into the stage, without redundancy files.
func flushed(t *testing.T, w *world, id scr.DatasetID, nodes ...int) {
	t.Helper()
	x := indexer.New(w.prefix(), w.j.Prefix(), indexer.Options{})
	stage, err := x.OpenStage(id)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range nodes {
		fm, err := scr.ReadNodeFilemap(w.open(w.j.Control(n)))
		if err != nil {
			t.Fatal(err)
		}
		dir := path.Join(w.j.Root, rescuetest.Node(n), "cache", scr.DatasetName(id))
		part := flush.Part{Dataset: id, Filemap: fm, Cache: w.open(dir), CacheDir: dir, Prefix: w.j.Prefix()}
		if _, err := flush.CopyPart(context.Background(), part, stage, flush.Options{}); err != nil {
			t.Fatal(err)
		}
	}
}

// Daemons were killed in the middle of a flush: one node was done, another in
// the middle of a file, and a file of an older writing lies there too.
func TestAFlushThatWasCutShortIsEnded(t *testing.T) {
	j := newJob(t)
	five := write(t, j, 5, "run/ckpt.5")
	w := newWorld(t, j)
	flushed(t, w, 5, 0)
	for name, data := range map[string]string{"run/ckpt.5/rank_1": "half", "run/ckpt.5/old/one": "x", "gone": "x"} {
		name = ".scr/stage.5/" + name
		if err := disk.MkdirAll(w.prefix(), path.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := disk.WriteFile(w.prefix(), name, []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	w.mustPublish(5)
	w.compare(five)
	verify(t, w, "5")
	for _, name := range []string{"run/ckpt.5/old", "gone"} {
		if there, err := disk.Exists(w.prefix(), name); there || err != nil {
			t.Errorf("%s is published: %v", name, err)
		}
	}
}

// A rank that was flushed has no redundancy file in the stage. Where its set is
// to be rebuilt its filemap must be written anew.
func TestFlushedRanksGetTheirRedundancyForARebuild(t *testing.T) {
	j := newJob(t)
	five := write(t, j, 5, "run/ckpt.5")
	w := newWorld(t, j)
	flushed(t, w, 5, 0, 1)
	if err := j.Lose(2); err != nil {
		t.Fatal(err)
	}
	w.o.Down = []string{"n2"}
	w.mustPublish(5)
	w.compare(five)
	verify(t, w, "5")
}

func TestWhatLostNodesHadFlushedIsUsed(t *testing.T) {
	j := newJob(t)
	five := write(t, j, 5, "run/ckpt.5")
	w := newWorld(t, j)
	flushed(t, w, 5, 1, 2)
	for _, n := range []int{1, 2} {
		if err := j.Lose(n); err != nil {
			t.Fatal(err)
		}
	}
	w.o.Down = []string{"n1", "n2"}
	w.mustPublish(5)
	w.compare(five)
	if !strings.Contains(w.text(), "ranks 1, 2 had been copied by the job") {
		t.Errorf("steps:\n%s", w.text())
	}
}

// What only the stage has is verified before it is published, and kept if it is
// not enough.
func TestWhatOnlyTheStageHasIsVerifiedAndKept(t *testing.T) {
	j := newJob(t)
	write(t, j, 5, "run/ckpt.5")
	w := newWorld(t, j)
	flushed(t, w, 5, 1, 2)
	for _, n := range []int{1, 2} {
		if err := j.Lose(n); err != nil {
			t.Fatal(err)
		}
	}
	name := ".scr/stage.5/run/ckpt.5/rank_1"
	data, err := disk.ReadFile(w.prefix(), name)
	if err != nil {
		t.Fatal(err)
	}
	data[3] ^= 1
	if err := disk.WriteFile(w.prefix(), name, data, 0o600); err != nil {
		t.Fatal(err)
	}
	w.o.Down = []string{"n1", "n2"}
	if _, err := w.run(); err == nil {
		t.Fatalf("published a damaged file\n%s", w.text())
	}
	if there, _ := disk.Exists(w.prefix(), "run"); there {
		t.Error("something is published")
	}
	if there, _ := disk.Exists(w.prefix(), ".scr/stage.5/run/ckpt.5/rank_2"); !there {
		t.Error("the only copy of rank 2 is gone")
	}
}

func TestAPublicationThatWasCutShortIsEnded(t *testing.T) {
	j := newJob(t)
	five := write(t, j, 5, "run/ckpt.5")
	w := newWorld(t, j)
	w.o.Prefix = disk.Inject(w.prefix(), func(op disk.Op) error {
		if op.To == "run/ckpt.5" || op.To == "run" {
			return syscall.EIO
		}
		return nil
	})
	if _, err := w.run(); !errors.Is(err, syscall.EIO) {
		t.Fatalf("got %v, want EIO\n%s", err, w.text())
	}
	if there, _ := disk.Exists(w.prefix(), ".scr/publish.5"); !there {
		t.Fatal("the test does not stop after the fence")
	}
	w.o.Prefix = w.prefix()
	w.mustPublish(5)
	w.compare(five)
	w.absent(5, "nothing")
	if !strings.Contains(w.text(), "dataset 5 was just being published: done") {
		t.Errorf("steps:\n%s", w.text())
	}
}

// Everything dies after the n-th change of the prefix directory; then it is run
// again. Before, the dataset is seen whole or not at all; after, it is there.
func TestARescueThatWasKilledIsRepeated(t *testing.T) {
	j := newJob(t)
	five := write(t, j, 5, "run/ckpt.5")
	if err := j.Lose(3); err != nil {
		t.Fatal(err)
	}
	for n := int64(0); ; n += 3 {
		w := newWorld(t, j)
		w.o.Down = []string{"n3"}
		var done atomic.Int64
		var killed atomic.Bool
		die := func(op disk.Op) error {
			if op.Changes() && done.Add(1) > n {
				killed.Store(true)
				return syscall.EIO
			}
			return nil
		}
		w.o.Prefix = disk.Inject(w.prefix(), die)
		w.spoil = func(_ string, prefix disk.FS) disk.FS { return disk.Inject(prefix, die) }
		_, err := w.run()
		if !killed.Load() {
			if err != nil {
				t.Fatalf("after %d changes: %v", n, err)
			}
			break
		}
		if there, _ := disk.Exists(w.prefix(), "run/ckpt.5"); there {
			w.compare(five)
		}
		again := newWorld(t, j)
		again.o.Down = []string{"n3"}
		if _, err := again.run(); err != nil {
			t.Fatalf("killed after %d changes, then: %v\n%s", n, err, again.text())
		}
		again.compare(five)
		verify(t, again, "5")
		if got := again.current(); got != "run/ckpt.5" {
			t.Fatalf("killed after %d changes: current is %q", n, got)
		}
		again.absent(5, "nothing")
		if t.Failed() {
			t.Fatalf("killed after %d changes", n)
		}
		for _, dir := range []string{"run", ".scr"} {
			if err := disk.RemoveAll(w.prefix(), dir); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// With little time the newest comes first, and an older one only if that fails.
func TestLittleTimeGoesToTheNewest(t *testing.T) {
	j := newJob(t)
	for id := scr.DatasetID(5); id <= 7; id++ {
		write(t, j, id, fmt.Sprintf("run/ckpt.%d", id))
	}
	w := newWorld(t, j)
	w.o.TimeLeft, w.o.Rate = time.Millisecond, 1
	w.spoil = func(_ string, prefix disk.FS) disk.FS {
		return disk.Inject(prefix, disk.Faults(disk.Fault{
			Kind: disk.OpWrite, Match: func(op disk.Op) bool { return strings.Contains(op.Name, "ckpt.7/rank") },
		}))
	}
	out, err := w.run()
	if !errors.Is(err, scr.ErrUnrecoverable) && err != nil {
		t.Fatal(err)
	}
	if len(out.Published) != 1 || out.Published[0] != 6 {
		t.Errorf("published %v, want 6 alone\n%s", out.Published, w.text())
	}
}

// The clock shows that copying is slower than was thought.
func TestASlowCopyLeavesOutOlderDatasets(t *testing.T) {
	j := newJob(t)
	for id := scr.DatasetID(5); id <= 7; id++ {
		write(t, j, id, fmt.Sprintf("run/ckpt.%d", id))
	}
	w := newWorld(t, j)
	w.o.Width = 1
	now := time.Unix(0, 0)
	w.o.Now = func() time.Time { return now }
	w.o.TimeLeft = 10 * time.Minute
	w.o.Copy = func(ctx context.Context, node string, order CopyOrder) (Copied, error) {
		now = now.Add(time.Minute)
		return w.copy(ctx, node, order)
	}
	out, err := w.run()
	if err != nil {
		t.Fatal(err)
	}
	if len(out.Published) != 2 || out.Published[1] != 7 {
		t.Errorf("published %v, want 5 and 7\n%s", out.Published, w.text())
	}
}
