package indexer

import (
	"context"
	"errors"
	"maps"
	"path"
	"strings"
	"testing"

	"github.com/scrfs/scrfs/internal/disk"
	"github.com/scrfs/scrfs/kvtree"
	"github.com/scrfs/scrfs/scr"
)

// change rewrites the filemap of a rank.
func change(t *testing.T, fsys disk.FS, p scr.Paths, dir string, r scr.Rank, do func(*scr.Filemap, *kvtree.Tree)) {
	t.Helper()
	m, err := scr.ReadFilemap(fsys, p.RankFilemap(dir, r))
	if err != nil {
		t.Fatal(err)
	}
	m.InFamily(p.Family)
	do(m, m.Entry(9, r))
	if err := scr.WriteFilemap(fsys, p.RankFilemap(dir, r), m); err != nil {
		t.Fatal(err)
	}
}

// Records that nobody should have written give an error that names the file or
// the rank, and change nothing at all.
func TestHostileRecordsChangeNothing(t *testing.T) {
	type harm func(t *testing.T, fsys disk.FS, l layout, p scr.Paths)
	named := func(name string) harm {
		return func(t *testing.T, fsys disk.FS, l layout, p scr.Paths) {
			change(t, fsys, p, l.dir, 1, func(m *scr.Filemap, e *kvtree.Tree) {
				meta, err := m.Meta(9, 1, m.Files(9, 1)[len(m.Files(9, 1))-1])
				if err != nil {
					t.Fatal(err)
				}
				m.SetMeta(9, 1, name, meta)
			})
		}
	}
	xorName := func(p scr.Paths, l layout, member int) string {
		return p.Redundancy(l.dir, p.XORName(scr.SetMember{Set: 0, Member: member, Size: 4}))
	}
	for what, c := range map[string]struct {
		harm harm
		want error
		says string
	}{
		"name outside":   {named("../../../../etc/x"), scr.ErrEscape, "rank 1"},
		"absolute name":  {named("/etc/passwd"), scr.ErrEscape, "rank 1"},
		"name of .scr":   {named("x/.scr/index.scr"), scr.ErrEscape, "rank 1"},
		"too many files": {named("one more"), scr.ErrInvalid, "rank 1: "},
		"two jobs": {func(t *testing.T, fsys disk.FS, l layout, p scr.Paths) {
			change(t, fsys, p, l.dir, 3, func(m *scr.Filemap, e *kvtree.Tree) {
				for _, file := range e.Get("FILE").All() {
					file.Get("META").PutInt("RANKS", 5)
				}
			})
		}, scr.ErrInvalid, "rank 3"},
		"two datasets": {func(t *testing.T, fsys disk.FS, l layout, p scr.Paths) {
			change(t, fsys, p, l.dir, 0, func(m *scr.Filemap, e *kvtree.Tree) { m.SetExpectedFiles(10, 0, 1) })
		}, scr.ErrInvalid, "rank 0"},
		"filemap of another rank": {func(t *testing.T, fsys disk.FS, l layout, p scr.Paths) {
			data, err := disk.ReadFile(fsys, p.RankFilemap(l.dir, 1))
			if err != nil {
				t.Fatal(err)
			}
			build(t, fsys, tree{p.RankFilemap(l.dir, 2): string(data)})
		}, scr.ErrInvalid, "rank 2"},
		"header of another member": {func(t *testing.T, fsys disk.FS, l layout, p scr.Paths) {
			data, err := disk.ReadFile(fsys, xorName(p, l, 0))
			if err != nil {
				t.Fatal(err)
			}
			build(t, fsys, tree{xorName(p, l, 1): string(data)})
			recordSize(t, fsys, l, p, 1, xorName(p, l, 1), len(data))
			lose(t, fsys, l, nil, 3)
		}, scr.ErrInvalid, "rank 1"},
		"two members lost": {func(t *testing.T, fsys disk.FS, l layout, p scr.Paths) {
			lose(t, fsys, l, nil, 3)
			lose(t, fsys, l, nil, 0)
		}, scr.ErrUnrecoverable, "[0 3]"},
		"a member lost and another damaged": {func(t *testing.T, fsys disk.FS, l layout, p scr.Paths) {
			lose(t, fsys, l, nil, 0)
			build(t, fsys, tree{path.Join(l.in, "a3"): "?"})
		}, scr.ErrUnrecoverable, `rank 3: file "`},
		"all filemaps damaged": {func(t *testing.T, fsys disk.FS, l layout, p scr.Paths) {
			for r := range scr.Rank(4) {
				build(t, fsys, tree{p.RankFilemap(l.dir, r): "no hash"})
			}
		}, scr.ErrUnrecoverable, "rank 0: filemap"},
		"no descriptor": {func(t *testing.T, fsys disk.FS, l layout, p scr.Paths) {
			for r := range scr.Rank(4) {
				change(t, fsys, p, l.dir, r, func(m *scr.Filemap, e *kvtree.Tree) { m.UnsetDataset(9, r); m.SetExpectedFiles(9, r, 99) })
			}
		}, scr.ErrUnrecoverable, "[0 1 2 3]"},
		"link out of the prefix directory": {func(t *testing.T, fsys disk.FS, l layout, p scr.Paths) {
			for _, base := range []string{"a3", "a1"} {
				if err := errors.Join(fsys.Remove(path.Join(l.in, base)), fsys.Symlink("/etc/passwd", path.Join(l.in, base))); err != nil {
					t.Fatal(err)
				}
			}
		}, scr.ErrUnrecoverable, "no regular file"},
	} {
		for name, l := range layouts {
			t.Run(what+" "+name, func(t *testing.T) {
				p := scr.Paths{Family: l.family}
				files, sets := sample()
				mem := disk.NewMem()
				writeDataset(t, mem, l, files, sets)
				c.harm(t, mem, l, p)
				was := everything(t, mem)
				_, err := newTest(mem).Add(context.Background(), l.name())
				if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.says) {
					t.Errorf("got %v, want %v that says %q", err, c.want, c.says)
				}
				now := everything(t, mem)
				maps.DeleteFunc(now, func(name, _ string) bool { return strings.HasSuffix(name, ".lock") })
				if !maps.Equal(was, now) {
					t.Error("something changed")
				}
			})
		}
	}
}

// recordSize makes a filemap agree with a file that was replaced.
func recordSize(t *testing.T, fsys disk.FS, l layout, p scr.Paths, r scr.Rank, rel string, size int) {
	t.Helper()
	change(t, fsys, p, l.dir, r, func(m *scr.Filemap, _ *kvtree.Tree) {
		name := p.NameIn(l.dir, rel)
		meta, err := m.Meta(9, r, name)
		if err != nil {
			t.Fatal(err)
		}
		meta.SizeBytes, meta.HasCRC = int64(size), false
		m.SetMeta(9, r, name, meta)
	})
}

// A header may name any file: what is outside, or SCR's own, is never written.
func TestHeadersThatNameForeignFilesAreRefused(t *testing.T) {
	for name, l := range layouts {
		for _, bad := range []string{"../../../../x", "/etc/x", ".scr/index.scr", "a/../../../.."} {
			s := Scan{Family: l.family, Dir: l.dir}
			m := scr.FileMeta{File: bad, Path: "/p/" + path.Dir(bad), Name: path.Base(bad), Orig: bad, Type: scr.UserFile}
			if bad == "/etc/x" {
				m.Path = "/etc"
			}
			if rel, _, err := s.place("/p", m); !errors.Is(err, scr.ErrEscape) {
				t.Errorf("%s: %q goes to %q, %v", name, bad, rel, err)
			}
		}
	}
}

func TestRebuildByHand(t *testing.T) {
	l := layouts["F14 root"]
	files := []tree{{"a0": "0"}, {"a1": "11"}, {"a2": "222"}, {"a3": "3333"}}
	sets := [][]scr.Rank{{0, 1}, {2, 3}}
	mem := disk.NewMem()
	writeDataset(t, mem, l, files, sets)
	lose(t, mem, l, files, 0)
	lose(t, mem, l, files, 2)
	lose(t, mem, l, files, 3) // the other set is beyond help
	x := newTest(mem)
	ctx := context.Background()
	if _, err := x.Rebuild(ctx, l.family, l.dir, 7, -1); !errors.Is(err, scr.ErrNotFound) {
		t.Errorf("set 7: %v", err)
	}
	if _, err := x.Rebuild(ctx, l.family, l.dir, 0, 1); !errors.Is(err, scr.ErrInvalid) {
		t.Errorf("rank 1 of set 0, whose rank 0 is lost: %v", err)
	}
	done, err := x.Rebuild(ctx, l.family, l.dir, 0, -1)
	if err != nil || len(done) != 1 || done[0].Rank != 0 {
		t.Fatalf("%+v, %v", done, err)
	}
	holds(t, mem, userFiles(l, files[:1]))
	if done, err = x.Rebuild(ctx, l.family, l.dir, 0, -1); err != nil || len(done) != 0 {
		t.Errorf("once more: %+v, %v", done, err)
	}
	if done, err = x.Rebuild(ctx, l.family, l.dir, 0, 1); err != nil || len(done) != 1 {
		t.Errorf("a rank that is there: %+v, %v", done, err)
	}
	holds(t, mem, userFiles(l, files[:2]))
}

func TestScanHashListsWhatIsToBeDone(t *testing.T) {
	l := layouts["F14"]
	files, sets := sample()
	mem := disk.NewMem()
	writeDataset(t, mem, l, files, sets)
	lose(t, mem, l, files, 3)
	was := everything(t, mem)
	s, err := newTest(mem).DryRun(context.Background(), "9")
	if err != nil {
		t.Fatal(err)
	}
	h := s.Tree("/p/a b")
	at := h.Get("DLIST", "9")
	if at.Get("MISSING", "3") == nil || at.Get("XOR", "0", "MEMBER", "4") != nil || at.Get("XOR", "0", "MEMBER", "1", "FILE", ".scr/1_of_4_in_0.xor") == nil ||
		at.Get("RANK2FILE", "RANK", "1", "FILE", "a1", "SIZE", "700") == nil {
		t.Errorf("scan hash %v", h)
	}
	if got, want := at.Get("BUILD").Keys(), "scrfs rebuild --dataset '/p/a b/scr.dataset.9' --set 0 --missing 3"; len(got) != 1 || got[0] != want {
		t.Errorf("commands %q, want %q", got, want)
	}
	if !maps.Equal(was, everything(t, mem)) {
		t.Error("something changed")
	}
}

func TestIndexKeepsSeveralDirectoriesOfOneID(t *testing.T) {
	l := layouts["F14"]
	files, sets := sample()
	mem := disk.NewMem()
	writeDataset(t, mem, l, files, sets)
	if err := mem.Rename("scr.dataset.9", "first"); err != nil {
		t.Fatal(err)
	}
	writeDataset(t, mem, l, files, sets)
	x, ctx := newTest(mem), context.Background()
	for _, name := range []string{"first", "scr.dataset.9"} {
		if _, err := x.Add(ctx, name); err != nil {
			t.Fatal(err)
		}
	}
	for what, do := range map[string]func(string) error{
		"add":     func(n string) error { _, err := x.Add(ctx, n); return err },
		"verify":  func(n string) error { _, err := x.Verify(ctx, n); return err },
		"current": func(n string) error { _, err := x.SetCurrent(ctx, n); return err },
		"remove":  func(n string) error { _, err := x.Remove(ctx, n); return err },
	} {
		err := do("9")
		if !errors.Is(err, scr.ErrAmbiguous) || !strings.Contains(err.Error(), "first") || !strings.Contains(err.Error(), "scr.dataset.9") {
			t.Errorf("%s 9: %v", what, err)
		}
	}
	if _, err := x.SetCurrent(ctx, "first"); err != nil {
		t.Error(err)
	}
	if _, err := x.Remove(ctx, "first"); err != nil {
		t.Error(err)
	}
	entries, err := x.List(ctx)
	if err != nil || len(entries) != 1 || entries[0].Name != "scr.dataset.9" || entries[0].Current {
		t.Errorf("%+v, %v", entries, err)
	}
}

func TestOnlyACompleteCheckpointBecomesCurrent(t *testing.T) {
	mem := disk.NewMem()
	if err := scr.UpdateIndex(mem, own, func(x *scr.Index) error {
		return errors.Join(
			x.Put(scr.IndexEntry{ID: 1, Name: "half", Complete: scr.LimitOf(0), Dataset: &scr.Dataset{ID: 1, Checkpoint: 1}}),
			x.Put(scr.IndexEntry{ID: 2, Name: "output", Complete: scr.LimitOf(1), Dataset: &scr.Dataset{ID: 2}}))
	}); err != nil {
		t.Fatal(err)
	}
	x := newTest(mem)
	for name, want := range map[string]error{"half": scr.ErrIncomplete, "output": scr.ErrInvalid, "none": scr.ErrNotFound} {
		if _, err := x.SetCurrent(context.Background(), name); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", name, err, want)
		}
	}
}

// The link of the oldest family is moved in one step, at any crash.
func TestCurrentLinkSurvivesCrashAtEveryStep(t *testing.T) {
	l := layouts["F11"]
	files, sets := sample()
	start := disk.NewMem()
	writeDataset(t, start, l, files, sets)
	if _, err := newTest(start).Add(context.Background(), "9"); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(start.Symlink("scr.dataset.8", "scr.current"), start.SyncDir(".")); err != nil {
		t.Fatal(err)
	}
	for n := 1; ; n++ {
		mem := start.CrashClone()
		errCut := errors.New("power cut")
		count := 0
		_, err := newTest(disk.Inject(mem, func(op disk.Op) error {
			if op.Changes() {
				count++
			}
			if count >= n {
				return errCut
			}
			return nil
		})).SetCurrent(context.Background(), "9")
		for _, left := range []*disk.Mem{mem.CrashClone(), mem.CrashCloneSeed(uint64(n)), mem} {
			target, lerr := left.Readlink("scr.current")
			if lerr != nil || target != "scr.dataset.8" && target != "scr.dataset.9" || err == nil && target != "scr.dataset.9" {
				t.Fatalf("operation %d: link to %q, %v", n, target, lerr)
			}
		}
		if err == nil {
			return
		}
	}
}
