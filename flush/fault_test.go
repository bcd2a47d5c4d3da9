package flush

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"syscall"
	"testing"

	"github.com/scrfs/scrfs/internal/disk"
	"github.com/scrfs/scrfs/scr"
)

func TestDamagedSourceIsNamedAndNotTaken(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(*world) error
		want  error
		text  string
	}{
		"short": {func(w *world) error { return disk.WriteFile(w.root, "cache/d/a", []byte("x"), 0o600) }, scr.ErrCorrupt, "rank 0: d/a: 1 bytes"},
		"long": {func(w *world) error {
			return disk.WriteFile(w.root, "cache/d/a", []byte(w.files["d/a"]+"x"), 0o600)
		}, scr.ErrCorrupt, "rank 0: d/a: 5001 bytes"},
		"changed": {func(w *world) error {
			w.setMeta(0, "d/a", func(m *scr.FileMeta) { m.CRC, m.HasCRC = crcOf(w.files["d/a"]), true })
			data := []byte(w.files["d/a"])
			data[4000] ^= 1
			return disk.WriteFile(w.root, "cache/d/a", data, 0o600)
		}, scr.ErrCorrupt, "rank 0: d/a: checksum"},
		"gone": {func(w *world) error { return w.root.Remove("cache/d/a") }, scr.ErrIncomplete, "rank 0: d/a:"},
		"a link": {func(w *world) error {
			return errors.Join(w.root.Remove("cache/d/a"), w.root.Symlink("s/c", "cache/d/a"))
		}, syscall.ELOOP, "rank 0: d/a:"},
		"touched":   {func(w *world) error { w.setMeta(0, "d/a", func(m *scr.FileMeta) { m.Complete = false }); return nil }, scr.ErrIncomplete, "rank 0: d/a: was written after"},
		"not known": {func(w *world) error { w.fm.SetExpectedFiles(18, 0, 3); return nil }, scr.ErrIncomplete, "rank 0: 2 files, expected 3"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, disk.NewMem())
			must(t, c.spoil(w))
			p := w.part(t)
			_, err := CopyPart(context.Background(), p, w.stage(t), Options{})
			if !errors.Is(err, c.want) || !strings.Contains(err.Error(), "flush dataset 18: "+c.text) {
				t.Fatalf("got %v", err)
			}
			if there, _ := disk.Exists(w.stage(t), "d/.scr/0.scrfilemap"); there {
				t.Error("the rank has a filemap")
			}
			// After a run the other ranks are rescued, this one can be rebuilt.
			p.Redundancy = true
			done, err := CopyPart(context.Background(), p, w.stage(t), Options{})
			if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.text) {
				t.Fatalf("with redundancy: got %v", err)
			}
			if _, ok := done[0]; ok || len(done) != 2 {
				t.Errorf("with redundancy: got ranks %v", done)
			}
			checkFilemap(t, w.stage(t), 1, true)
			if there, _ := disk.Exists(w.stage(t), "d/.scr/0.scrfilemap"); there {
				t.Error("with redundancy: the rank has a filemap")
			}
		})
	}
}

func TestUnreadableSourceIsNamed(t *testing.T) {
	for _, kind := range []disk.Kind{disk.OpOpen, disk.OpRead, disk.OpFstat} {
		w := newWorld(t, disk.NewMem())
		p := w.part(t)
		p.Cache = disk.Inject(p.Cache, disk.Faults(disk.Fault{Kind: kind, PathPattern: "a"}))
		_, err := CopyPart(context.Background(), p, w.stage(t), Options{})
		if !errors.Is(err, syscall.EIO) || !strings.Contains(err.Error(), "flush dataset 18: rank 0: d/a: ") {
			t.Errorf("%s: got %v", kind, err)
		}
		p.Redundancy = true
		done, err := CopyPart(context.Background(), p, w.stage(t), Options{})
		if _, ok := done[0]; !errors.Is(err, syscall.EIO) || ok || len(done) != 2 {
			t.Errorf("%s: with redundancy: got ranks %v, %v", kind, done, err)
		}
	}
}

func TestNamesStayBelowThePrefix(t *testing.T) {
	for name, spoil := range map[string]func(*world) error{
		"path outside": func(w *world) error { w.setMeta(0, "d/a", func(m *scr.FileMeta) { m.Path = "/etc" }); return nil },
		"name outside": func(w *world) error { w.setMeta(0, "d/a", func(m *scr.FileMeta) { m.Name = "../../x" }); return nil },
		"SCR's own file": func(w *world) error {
			w.setMeta(0, "d/a", func(m *scr.FileMeta) { m.Path = "/p/.scr"; m.Name = "index.scr" })
			return nil
		},
		"no name":                   func(w *world) error { w.setMeta(0, "d/a", func(m *scr.FileMeta) { m.Name = "" }); return nil },
		"dataset directory outside": func(w *world) error { return w.fm.SetTag(18, 0, scr.TagDatasetDir, "../x") },
		"source outside": func(w *world) error {
			w.fm.RemoveFile(18, 0, "/c/d/a")
			w.fm.SetMeta(18, 0, "/c/../prefix/other", scr.FileMeta{File: "a", Path: "/p", Name: "a", SizeBytes: 9, Complete: true})
			return nil
		},
		"source elsewhere": func(w *world) error {
			w.fm.RemoveFile(18, 0, "/c/d/a")
			w.fm.SetMeta(18, 0, "/etc/passwd", scr.FileMeta{File: "a", Path: "/p", Name: "a", SizeBytes: 9, Complete: true})
			return nil
		},
	} {
		w := newWorld(t, disk.NewMem())
		must(t, spoil(w))
		before := tree(t, w.root, ".")
		if _, err := CopyPart(context.Background(), w.part(t), w.stage(t), Options{}); !errors.Is(err, scr.ErrEscape) {
			t.Errorf("%s: got %v", name, err)
		}
		if after := tree(t, w.root, "."); !reflect.DeepEqual(after, before) {
			t.Errorf("%s: something was written", name)
		}
	}
	w := newWorld(t, disk.NewMem())
	w.setMeta(1, "d/s/c", func(m *scr.FileMeta) { m.Path, m.Name = "/p/d", "a" })
	if _, err := CopyPart(context.Background(), w.part(t), w.stage(t), Options{}); !errors.Is(err, scr.ErrInvalid) {
		t.Errorf("one name for two files: got %v", err)
	}
}

// Any call on the prefix directory may fail: the error is clear, nothing beside
// the stage is touched, no filemap claims what is not there, and the next try
// succeeds.
func TestAnyFaultOfTheStageIsSurvived(t *testing.T) {
	for _, errno := range []syscall.Errno{syscall.EIO, syscall.ENOSPC} {
		for n := 1; ; n++ {
			mem := disk.NewMem()
			w := newWorld(t, mem)
			outside := func() map[string]string {
				all := tree(t, mem, ".")
				for name := range all {
					if strings.HasPrefix(name, "prefix/stage/") {
						delete(all, name)
					}
				}
				return all
			}
			before := outside()
			var failed *disk.Op
			seen := 0
			stage := disk.Inject(w.stage(t), func(op disk.Op) error {
				if seen++; seen == n {
					failed = &op
					return errno
				}
				return nil
			})
			p := w.part(t)
			p.Redundancy = n%2 == 0 // a stage that fails is no matter of a rank
			_, err := CopyPart(context.Background(), p, stage, Options{Width: 1, BufBytes: 1024})
			if failed == nil {
				if err != nil {
					t.Fatal(err)
				}
				break
			}
			// Looking whether an old file or filemap may be kept is the only
			// thing that may fail without harm.
			if err == nil && failed.Kind != disk.OpLstat && failed.Kind != disk.OpStat {
				t.Fatalf("%v: no error", *failed)
			}
			if err != nil && (!errors.Is(err, errno) || !strings.Contains(err.Error(), "flush dataset 18: ") || errors.Is(err, scr.ErrNoSpace) != (errno == syscall.ENOSPC)) {
				t.Fatalf("%v: got %v", *failed, err)
			}
			if after := outside(); !reflect.DeepEqual(after, before) {
				t.Fatalf("%v: something beside the stage was changed", *failed)
			}
			cut, cerr := mem.CrashClone().Sub("prefix/stage")
			must(t, cerr)
			for _, f := range []disk.FS{w.stage(t), cut} {
				for r := range scr.Rank(3) {
					if there, _ := disk.Exists(f, fmt.Sprintf("d/.scr/%d.scrfilemap", r)); there {
						checkFilemap(t, f, r, p.Redundancy)
					}
				}
			}
			if _, err := CopyPart(context.Background(), p, w.stage(t), Options{}); err != nil {
				t.Fatalf("%v: second try: %v", *failed, err)
			}
			for r := range scr.Rank(3) {
				checkFilemap(t, w.stage(t), r, p.Redundancy)
			}
		}
	}
}
