package scavenger

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/scrfs/scrfs/indexer"
	"github.com/scrfs/scrfs/internal/disk"
	"github.com/scrfs/scrfs/scavenger/rescuetest"
	"github.com/scrfs/scrfs/scr"
)

// world runs the rescue of a job in this process.
type world struct {
	t      *testing.T
	j      *rescuetest.Job
	o      Options
	steps  []Step
	copied map[string]int // calls of Copy, by node
	// spoil changes the prefix directory as a node sees it.
	spoil func(node string, prefix disk.FS) disk.FS
	mu    sync.Mutex
}

func newWorld(t *testing.T, j *rescuetest.Job) *world {
	t.Helper()
	w := &world{t: t, j: j, copied: map[string]int{}}
	w.o = Options{
		Prefix: w.prefix(), PrefixDir: j.Prefix(), Width: 2, Now: time.Now,
		List: w.list, Copy: w.copy, Report: func(s Step) { w.steps = append(w.steps, s) },
	}
	for i := range j.Nodes {
		w.o.Nodes = append(w.o.Nodes, rescuetest.Node(i))
	}
	return w
}

func (w *world) open(dir string) disk.FS {
	f, err := disk.Open(dir)
	if err != nil {
		w.t.Fatal(err)
	}
	return f
}

func (w *world) prefix() disk.FS { return w.open(w.j.Prefix()) }

func (w *world) control(node string) string { return path.Join(w.j.Root, node, "control") }

func (w *world) list(_ context.Context, node string) (NodeCache, error) {
	control, err := disk.Open(w.control(node))
	if err != nil {
		return NodeCache{}, err
	}
	return Holdings(control, disk.Open)
}

func (w *world) copy(ctx context.Context, node string, order CopyOrder) (Copied, error) {
	w.mu.Lock()
	w.copied[node]++
	w.mu.Unlock()
	control, err := disk.Open(w.control(node))
	if err != nil {
		return Copied{}, err
	}
	prefix, err := disk.Open(w.j.Prefix())
	if err != nil {
		return Copied{}, err
	}
	if w.spoil != nil {
		prefix = w.spoil(node, prefix)
	}
	return Copy(ctx, CopyOptions{Control: control, Open: disk.Open, Prefix: prefix, PrefixDir: w.j.Prefix(), Order: order})
}

func (w *world) run() (Outcome, error) { return Run(context.Background(), w.o) }

// text is all steps, for messages and to look into.
func (w *world) text() string {
	var b strings.Builder
	for _, s := range w.steps {
		fmt.Fprintln(&b, s)
	}
	return b.String()
}

// mustPublish runs and wants exactly these datasets published, in this order.
func (w *world) mustPublish(ids ...scr.DatasetID) {
	w.t.Helper()
	out, err := w.run()
	if err != nil {
		w.t.Fatalf("run: %v\n%s", err, w.text())
	}
	if !slices.Equal(out.Published, ids) {
		w.t.Fatalf("published %v, want %v\n%s", out.Published, ids, w.text())
	}
}

// compare holds the prefix directory against what was written.
func (w *world) compare(files []rescuetest.Files) {
	w.t.Helper()
	prefix := w.prefix()
	for rank, list := range files {
		for name, want := range list {
			got, err := disk.ReadFile(prefix, name)
			if err != nil || !bytes.Equal(got, want) {
				w.t.Errorf("rank %d: %s: %d bytes, %v; want %d bytes", rank, name, len(got), err, len(want))
			}
		}
	}
}

// absent wants nothing of a dataset to be seen, and no stage left.
func (w *world) absent(id scr.DatasetID, dir string) {
	w.t.Helper()
	for _, name := range []string{dir, ".scr/stage." + id.String(), ".scr/publish." + id.String()} {
		if there, err := disk.Exists(w.prefix(), name); there || err != nil {
			w.t.Errorf("%s is there: %v", name, err)
		}
	}
}

func (w *world) current() string {
	w.t.Helper()
	index, err := scr.ReadIndex(w.prefix(), own)
	if err != nil {
		w.t.Fatal(err)
	}
	name, _ := index.Current()
	return name
}

func TestRescueOfAWholeJob(t *testing.T) {
	j := newJob(t)
	five := write(t, j, 5, "run/ckpt.5")
	six := write(t, j, 6, "run/ckpt.6")
	loose, tree := rescuetest.Restart("pp.7", 7, ranks)
	if err := j.Write(7, loose, tree); err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, j)
	w.mustPublish(5, 6, 7)
	w.compare(five)
	w.compare(six)
	w.compare(loose)
	if got := w.current(); got != ".scr/scr.dataset.7" {
		t.Errorf("current is %q", got)
	}
	for _, name := range []string{"run/ckpt.5/empty", "run/ckpt.6/latest"} {
		if there, err := disk.Exists(w.prefix(), name); !there || err != nil {
			t.Errorf("%s: %v, %v", name, there, err)
		}
	}
	f, err := scr.ReadFlush(w.prefix(), own.Flush(), own.Family)
	if err != nil || !f.At(6, scr.InPrefix) {
		t.Errorf("the flush file does not have dataset 6 in the prefix directory: %v", err)
	}
	if e, err := f.Entry(6); err != nil || e.Name != "run/ckpt.6" {
		t.Errorf("the flush file has dataset 6 as %+v, %v", e, err)
	}
	// Nothing was lost, so no redundancy file was copied.
	if there, _ := disk.Exists(w.prefix(), "run/ckpt.5/.scr/1_of_4_in_0.xor"); there {
		t.Error("a redundancy file was copied for nothing")
	}
	// Once more: all is there already.
	w.steps = nil
	out, err := w.run()
	if err != nil || len(out.Published) != 0 {
		t.Errorf("again: published %v, %v", out.Published, err)
	}
}

func TestRescueRebuildsAnyOneLostNode(t *testing.T) {
	for lost := range ranks {
		t.Run(rescuetest.Node(lost), func(t *testing.T) {
			j := newJob(t)
			five := write(t, j, 5, "run/ckpt.5")
			loose, tree := rescuetest.Restart("pp.6", 6, ranks)
			if err := j.Write(6, loose, tree); err != nil {
				t.Fatal(err)
			}
			if err := j.Lose(lost); err != nil {
				t.Fatal(err)
			}
			w := newWorld(t, j)
			w.o.Down = []string{rescuetest.Node(lost)}
			w.mustPublish(5, 6)
			w.compare(five)
			w.compare(loose)
			verify(t, w, "5", "6")
		})
	}
}

// verify reads every published file again.
func verify(t *testing.T, w *world, ids ...string) {
	t.Helper()
	x := indexer.New(w.prefix(), w.j.Prefix(), indexer.Options{})
	for _, id := range ids {
		if _, err := x.Verify(context.Background(), id); err != nil {
			t.Errorf("verify dataset %s: %v", id, err)
		}
	}
}

func TestTwoLostNodesAreUnrecoverable(t *testing.T) {
	j := newJob(t)
	write(t, j, 5, "run/ckpt.5")
	for _, n := range []int{1, 2} {
		if err := j.Lose(n); err != nil {
			t.Fatal(err)
		}
	}
	w := newWorld(t, j)
	w.o.Down = []string{"n1"}
	w.o.List = func(ctx context.Context, node string) (NodeCache, error) {
		if node == "n2" {
			return NodeCache{}, errors.New("connection refused")
		}
		return w.list(ctx, node)
	}
	_, err := w.run()
	if !errors.Is(err, scr.ErrUnrecoverable) {
		t.Fatalf("got %v, want ErrUnrecoverable", err)
	}
	for _, word := range []string{"dataset 5", "ranks 1, 2", "n1, n2"} {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("error %q does not say %q", err, word)
		}
	}
	w.absent(5, "run")
}

// The newest is lost, the one before is not: that is a success with a warning.
func TestTheNextOlderDatasetIsRescued(t *testing.T) {
	j := newJob(t)
	five := write(t, j, 5, "run/ckpt.5")
	write(t, j, 6, "run/ckpt.6")
	for _, n := range []int{1, 2} {
		if err := j.FS().Remove(j.Cache(n, 6, fmt.Sprintf("run/ckpt.6/rank_%d", n))); err != nil {
			t.Fatal(err)
		}
	}
	w := newWorld(t, j)
	w.mustPublish(5)
	w.compare(five)
	w.absent(6, "run/ckpt.6")
	if !strings.Contains(w.text(), "ranks 1 (node n1: rank_1: is gone), 2 (node n2: rank_2: is gone) are lost") {
		t.Errorf("steps do not say what is lost:\n%s", w.text())
	}
}

func TestADatasetBeingWrittenIsNotPublished(t *testing.T) {
	j := newJob(t)
	five := write(t, j, 5, "run/ckpt.5")
	if err := j.Make(3, 6, rescuetest.Files{"run/ckpt.6/rank_3": []byte("half")}); err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, j)
	w.mustPublish(5)
	w.compare(five)
	w.absent(6, "run/ckpt.6")
}

// Who stops a run keeps what was copied.
func TestARunThatIsStopped(t *testing.T) {
	j := newJob(t)
	five := write(t, j, 5, "run/ckpt.5")
	w := newWorld(t, j)
	w.o.Width = 1
	ctx, cancel := context.WithCancel(context.Background())
	w.o.Copy = func(ctx context.Context, node string, order CopyOrder) (Copied, error) {
		got, err := w.copy(ctx, node, order)
		cancel()
		return got, err
	}
	if _, err := Run(ctx, w.o); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v, want Canceled", err)
	}
	if there, _ := disk.Exists(w.prefix(), ".scr/stage.5/run/ckpt.5/rank_0"); !there {
		t.Error("what was copied is gone")
	}
	w.o.Copy = w.copy
	w.mustPublish(5)
	w.compare(five)
}

func TestNoNodeAnswers(t *testing.T) {
	j := newJob(t)
	w := newWorld(t, j)
	w.o.List = func(context.Context, string) (NodeCache, error) { return NodeCache{}, errors.New("no route") }
	if _, err := w.run(); !errors.Is(err, ErrNoNode) {
		t.Errorf("got %v, want ErrNoNode", err)
	}
	w.o.List = func(context.Context, string) (NodeCache, error) {
		return NodeCache{}, fmt.Errorf("control directory: %w", scr.ErrNotFound)
	}
	if _, err := w.run(); !errors.Is(err, scr.ErrNotFound) {
		t.Errorf("got %v, want ErrNotFound", err)
	}
}

func TestADryRunChangesNothing(t *testing.T) {
	j := newJob(t)
	write(t, j, 5, "run/ckpt.5")
	w := newWorld(t, j)
	w.o.Prefix = disk.Inject(w.prefix(), func(op disk.Op) error {
		if op.Changes() {
			return syscall.EROFS
		}
		return nil
	})
	w.o.DryRun = true
	w.mustPublish()
	if !strings.Contains(w.text(), "dataset 5 (run/ckpt.5) will be copied from 4 nodes") {
		t.Errorf("steps:\n%s", w.text())
	}
	if list, err := w.prefix().ReadDir("."); err != nil || len(list) != 0 {
		t.Errorf("the prefix directory has %v, %v", list, err)
	}
}
