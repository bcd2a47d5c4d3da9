package indexer

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/scrfs/scrfs/internal/disk"
	"github.com/scrfs/scrfs/scr"
)

// publications are the shapes that a dataset can have.
var publications = map[string]struct {
	before  tree // in the prefix directory
	dataset staged
	after   tree
	dir     string
}{
	"one root": {
		before: tree{"run/input": "in"},
		dataset: staged{id: 7, ckpt: 3, dirs: []string{"run/ckpt.7", "run/ckpt.7/sub"}, files: []tree{
			{"run/ckpt.7/a": "aaa", "run/ckpt.7/sub/b": "b"}, {"run/ckpt.7/c": ""}, {},
		}},
		after: tree{"run/input": "in", "run/ckpt.7/a": "aaa", "run/ckpt.7/sub/b": "b", "run/ckpt.7/c": ""},
		dir:   "run/ckpt.7",
	},
	"loose files": {
		before: tree{"restart.1": "old one", "latest": "-> restart.0"},
		dataset: staged{id: 8, ckpt: 4, links: tree{"latest": "restart.1"}, files: []tree{
			{"restart.1": "new one"}, {"deep/restart.1.x": "x"},
		}},
		after: tree{"restart.1": "new one", "deep/restart.1.x": "x", "latest": "-> restart.1"},
		dir:   ".scr/scr.dataset.8",
	},
	"two roots and a file": {
		before:  tree{"b/old": "old"},
		dataset: staged{id: 9, dirs: []string{"a", "b"}, files: []tree{{"a/1": "one"}, {"b/2": "two", "marker": "done"}}},
		after:   tree{"a/1": "one", "b/2": "two", "b/old": "old", "marker": "done"},
		dir:     ".scr/scr.dataset.9",
	},
	"root exists": {
		before: tree{
			"ckpt/a": "old a", "ckpt/keep": "kept", "ckpt/sub/x": "old x", "ckpt/sub/y": "old y", "ckpt/other/z": "z", "ckpt/l": "-> keep",
			"ckpt/was": "a file", "ckpt/.scr/summary.scr": "of another",
		},
		dataset: staged{id: 10, ckpt: 5, dirs: []string{"ckpt", "ckpt/sub", "ckpt/was"}, files: []tree{
			{"ckpt/a": "new a", "ckpt/sub/x": "new x", "ckpt/was/dir": "now"},
		}},
		after: tree{
			"ckpt/a": "new a", "ckpt/keep": "kept", "ckpt/sub/x": "new x", "ckpt/sub/y": "old y", "ckpt/other/z": "z", "ckpt/l": "-> keep",
			"ckpt/was/dir": "now",
		},
		dir: "ckpt",
	},
	"root was a file": {
		before:  tree{"ckpt": "a file"},
		dataset: staged{id: 11, dirs: []string{"ckpt"}, files: []tree{{"ckpt/a": "a"}}},
		after:   tree{"ckpt/a": "a"},
		dir:     "ckpt",
	},
	"file was a directory": {
		before:  tree{"out/x": "in a directory"},
		dataset: staged{id: 12, files: []tree{{"out": "a file"}}},
		after:   tree{"out": "a file"},
		dir:     ".scr/scr.dataset.12",
	},
	"no files": {
		dataset: staged{id: 13, dirs: []string{"empty", "empty/sub"}, files: []tree{{}, {}}},
		after:   tree{"empty/sub/": ""},
		dir:     "empty",
	},
}

func TestPublishBringsAllInto(t *testing.T) {
	for name, c := range publications {
		t.Run(name, func(t *testing.T) {
			mem := disk.NewMem()
			x := newTest(mem)
			build(t, mem, c.before)
			stage(t, x, c.dataset)
			mustPublish(t, x, c.dataset.id)
			checkPublished(t, mem, c.dataset, c.after, c.dir)
			mustPublish(t, x, c.dataset.id) // once more changes nothing
			checkPublished(t, mem, c.dataset, c.after, c.dir)
		})
	}
}

func checkPublished(t *testing.T, mem *disk.Mem, d staged, after tree, dir string) {
	t.Helper()
	fsys := mem.CrashClone() // what is published is durable
	if diff := cmp.Diff(after, read(t, fsys)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	index := indexOf(t, fsys, own)
	e, err := index.Find(dir)
	if err != nil || e.ID != d.id || e.Complete != scr.LimitOf(1) || e.Dataset.Checkpoint != d.ckpt {
		t.Errorf("index entry %+v, %v", e, err)
	}
	if current, ok := index.Current(); ok != (d.ckpt != 0) || ok && current != dir {
		t.Errorf("current is %q, %v", current, ok)
	}
	s, err := scr.ReadSummary(fsys, own, dir)
	if err != nil || !s.Complete || s.Dataset.ID != d.id {
		t.Errorf("summary %+v, %v", s, err)
	}
	checkTree(t, fsys, d, dir)
	list, err := mem.ReadDir(scrDir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		if strings.HasPrefix(e.Name(), "publish") || strings.HasPrefix(e.Name(), "stage") {
			t.Errorf("%s is left", e.Name())
		}
	}
}

// checkTree holds the directories in the rank2file map: relative to the dataset
// directory, in either form that filemaps may have.
func checkTree(t *testing.T, fsys disk.FS, d staged, dir string) {
	t.Helper()
	m, err := scr.ReadRank2File(fsys, own, dir)
	if err != nil {
		t.Error(err)
		return
	}
	var got, want []string
	for _, e := range m.Entries {
		for _, entry := range e.Tree.Dirs {
			name := dir
			if entry.Path != "." {
				if name, err = own.Resolve(dir, entry.Path); err != nil {
					t.Error(err)
				}
			}
			got = append(got, name)
		}
	}
	want = append(want, d.dirs...)
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("directories %q, want %q", got, want)
	}
}

func TestPublishTakesTreesRelativeToThePrefix(t *testing.T) {
	for name, c := range publications {
		t.Run(name, func(t *testing.T) {
			mem := disk.NewMem()
			x := newTest(mem)
			build(t, mem, c.before)
			d := c.dataset
			d.fromPrefix = true
			stage(t, x, d)
			mustPublish(t, x, d.id)
			checkPublished(t, mem, d, c.after, c.dir)
		})
	}
}

func TestPublishSurvivesCrashAtEveryStep(t *testing.T) {
	for name, c := range publications {
		t.Run(name, func(t *testing.T) {
			start := disk.NewMem()
			x := newTest(start)
			build(t, start, c.before)
			stage(t, x, c.dataset)
			eachCrash(t, start.CrashClone,
				func(fsys disk.FS) error {
					return newTest(fsys).PublishStage(context.Background(), c.dataset.id, PublishOptions{})
				},
				func(n int, op string, left *disk.Mem) {
					checkNoHalfRoot(t, n, op, left, c.dataset)
					x := newTest(left)
					if _, err := x.RollForward(context.Background()); err != nil {
						t.Fatalf("operation %d, after %s: %v", n, op, err)
					}
					if exists(t, left, x.StageDir(c.dataset.id)) {
						if diff := cmp.Diff(read(t, clean(t, c.before)), read(t, left)); diff != "" {
							t.Fatalf("operation %d, after %s: neither old nor new:\n%s", n, op, diff)
						}
					}
					mustPublish(t, x, c.dataset.id)
					checkPublished(t, left, c.dataset, c.after, c.dir)
					if t.Failed() {
						t.Fatalf("operation %d, after %s", n, op)
					}
				})
		})
	}
}

// clean is a tree in memory with nothing else.
func clean(t *testing.T, files tree) disk.FS {
	mem := disk.NewMem()
	build(t, mem, files)
	return mem
}

// checkNoHalfRoot holds the promise that a root is never seen without all of
// its bytes, even before anything rolled forward.
func checkNoHalfRoot(t *testing.T, n int, op string, fsys disk.FS, d staged) {
	t.Helper()
	for _, dir := range d.dirs {
		seen, all := 0, 0
		for _, files := range d.files {
			for name, data := range files {
				if !strings.HasPrefix(name, dir+"/") {
					continue
				}
				all++
				if got, err := disk.ReadFile(fsys, name); err == nil && same(got, data) {
					seen++
				}
			}
		}
		if seen != 0 && seen != all {
			t.Errorf("operation %d, after %s: %d of %d files of %s are there", n, op, seen, all, dir)
		}
	}
}

// A file system without RENAME_EXCHANGE gets file after file, and still ends
// right after a crash anywhere.
func TestPublishWithoutExchangeSurvivesCrash(t *testing.T) {
	c := publications["root exists"]
	start := disk.NewMem()
	build(t, start, c.before)
	stage(t, newTest(start), c.dataset)
	noExchange := func(fsys disk.FS) disk.FS {
		return disk.Inject(fsys, disk.Faults(disk.Fault{Kind: disk.OpExchange, Err: syscall.EINVAL}))
	}
	eachCrash(t, start.CrashClone,
		func(fsys disk.FS) error {
			return newTest(noExchange(fsys)).PublishStage(context.Background(), c.dataset.id, PublishOptions{})
		},
		func(n int, op string, left *disk.Mem) {
			mustPublish(t, newTest(noExchange(left)), c.dataset.id)
			checkPublished(t, left, c.dataset, c.after, c.dir)
			if t.Failed() {
				t.Fatalf("operation %d, after %s", n, op)
			}
		})
}

func TestPublishAgainAfterTheDatasetWasWrittenAgain(t *testing.T) {
	mem := disk.NewMem()
	x := newTest(mem)
	d := staged{id: 5, ckpt: 1, dirs: []string{"ckpt"}, files: []tree{{"ckpt/a": "first", "ckpt/b": "b"}}}
	stage(t, x, d)
	mustPublish(t, x, 5)
	d.files = []tree{{"ckpt/a": "second"}}
	stage(t, x, d)
	mustPublish(t, x, 5)
	checkPublished(t, mem, d, tree{"ckpt/a": "second", "ckpt/b": "b"}, "ckpt")
	d = staged{id: 6, ckpt: 2, files: []tree{{"f": "loose"}}}
	for range 2 {
		stage(t, x, d)
		mustPublish(t, x, 6)
		checkPublished(t, mem, d, tree{"ckpt/a": "second", "ckpt/b": "b", "f": "loose"}, ".scr/scr.dataset.6")
	}
}

func TestPublishRefusesWhatIsNotWhole(t *testing.T) {
	whole := staged{id: 4, dirs: []string{"d"}, files: []tree{{"d/a": "aaaa"}, {"d/b": "b"}}}
	for name, c := range map[string]struct {
		harm func(stage disk.FS) error
		want error
		says string
	}{
		"file absent":     {func(s disk.FS) error { return s.Remove("d/b") }, scr.ErrIncomplete, `rank 1: file "b": is absent`},
		"file short":      {func(s disk.FS) error { return disk.WriteFile(s, "d/a", []byte("aa"), 0o644) }, scr.ErrIncomplete, "2 bytes, expected 4"},
		"file altered":    {func(s disk.FS) error { return disk.WriteFile(s, "d/a", []byte("aaab"), 0o644) }, scr.ErrIncomplete, "crc"},
		"rank absent":     {func(s disk.FS) error { return s.Remove("d/.scr/1.scrfilemap") }, scr.ErrIncomplete, "ranks [1]"},
		"filemap damaged": {func(s disk.FS) error { return disk.WriteFile(s, "d/.scr/1.scrfilemap", []byte("x"), 0o644) }, scr.ErrIncomplete, "rank 1: filemap"},
		"no filemap":      {func(s disk.FS) error { return disk.RemoveAll(s, "d/.scr") }, scr.ErrIncomplete, "no filemap"},
		"link for a file": {func(s disk.FS) error { return errors.Join(s.Remove("d/b"), s.Symlink("/etc/passwd", "d/b")) }, scr.ErrIncomplete, "no regular file"},
	} {
		t.Run(name, func(t *testing.T) {
			mem := disk.NewMem()
			x := newTest(mem)
			build(t, mem, tree{"here": "before"})
			stage(t, x, whole)
			fsys, err := x.OpenStage(4)
			if err != nil {
				t.Fatal(err)
			}
			if err := c.harm(fsys); err != nil {
				t.Fatal(err)
			}
			err = x.PublishStage(context.Background(), 4, PublishOptions{VerifyCRC: true})
			if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("got %v, want %v with %q", err, c.want, c.says)
			}
			if diff := cmp.Diff(tree{"here": "before"}, read(t, mem)); diff != "" {
				t.Errorf("prefix directory changed:\n%s", diff)
			}
			if exists(t, mem, own.Index()) {
				t.Error("an index was made")
			}
		})
	}
}

func TestTwoPublishersOfOneStage(t *testing.T) {
	mem := disk.NewMem()
	d := publications["root exists"]
	build(t, mem, d.before)
	stage(t, newTest(mem), d.dataset)
	var running sync.WaitGroup
	errs := make([]error, 4)
	for i := range errs {
		running.Go(func() {
			errs[i] = newTest(mem).PublishStage(context.Background(), d.dataset.id, PublishOptions{})
		})
	}
	running.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Error(err)
	}
	checkPublished(t, mem, d.dataset, d.after, d.dir)
}

func TestCurrentIsTheNewestCheckpoint(t *testing.T) {
	mem := disk.NewMem()
	x := newTest(mem)
	for _, d := range []staged{
		{id: 20, ckpt: 2, dirs: []string{"c20"}, files: []tree{{"c20/a": "a"}}},
		{id: 10, ckpt: 1, dirs: []string{"c10"}, files: []tree{{"c10/a": "a"}}}, // late
		{id: 30, dirs: []string{"out30"}, files: []tree{{"out30/a": "a"}}},      // no checkpoint
	} {
		stage(t, x, d)
		mustPublish(t, x, d.id)
	}
	if current, _ := indexOf(t, mem, own).Current(); current != "c20" {
		t.Errorf("current is %s", current)
	}
}

func TestStageKeepsWhatIsThereUntilDropped(t *testing.T) {
	mem := disk.NewMem()
	x := newTest(mem)
	s, err := x.OpenStage(3)
	if err != nil {
		t.Fatal(err)
	}
	build(t, s, tree{"a": "half"})
	if s, err = x.OpenStage(3); err != nil || !exists(t, s, "a") {
		t.Errorf("a is gone, %v", err)
	}
	if err := x.DropStage(3); err != nil {
		t.Fatal(err)
	}
	if err := x.DropStage(3); err != nil {
		t.Errorf("drop of what is not there: %v", err)
	}
	if exists(t, mem, x.StageDir(3)) || exists(t, mem, ".scr/dropped.3") {
		t.Error("stage is left")
	}
}
