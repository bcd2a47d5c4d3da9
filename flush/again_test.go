package flush

import (
	"context"
	"errors"
	"syscall"
	"testing"

	"github.com/scrfs/scrfs/internal/disk"
	"github.com/scrfs/scrfs/scr"
)

func TestOnlyWhatIsCertainIsNotCopiedAgain(t *testing.T) {
	w := newWorld(t, disk.NewMem())
	copied := func() int64 {
		total := int64(0)
		done, err := CopyPart(context.Background(), w.part(t), w.stage(t), Options{Progress: func(n int64) { total = n }})
		must(t, err)
		for r, files := range done {
			for _, f := range files {
				if got, err := disk.ReadFile(w.stage(t), f.File); err != nil || string(got) != w.files[f.File] {
					t.Fatalf("rank %d: %s differs, %v", r, f.File, err)
				}
				w.setMeta(r, f.File, func(m *scr.FileMeta) { m.CRC, m.HasCRC = f.CRC, true })
			}
		}
		return total
	}
	if got := copied(); got != 5300 {
		t.Errorf("first: %d bytes", got)
	}
	if got := copied(); got != 0 {
		t.Errorf("again, with all checksums known: %d bytes", got)
	}
	w.setMeta(1, "d/s/c", func(m *scr.FileMeta) { m.HasCRC = false })
	if got := copied(); got != 300 {
		t.Errorf("one checksum not known: %d bytes", got)
	}
	must(t, w.stage(t).Remove("d/a"))
	if got := copied(); got != 5000 {
		t.Errorf("one file gone: %d bytes", got)
	}
	must(t, disk.WriteFile(w.stage(t), "d/.scr/0.scrfilemap", []byte("damaged"), 0o644))
	if got := copied(); got != 5000 {
		t.Errorf("filemap damaged: %d bytes", got)
	}
	// Written anew, with the size it had.
	w.files["d/a"] = random(9, 5000)
	must(t, disk.WriteFile(w.root, "cache/d/a", []byte(w.files["d/a"]), 0o600))
	w.setMeta(0, "d/a", func(m *scr.FileMeta) { m.CRC = crcOf(w.files["d/a"]) })
	if got := copied(); got != 5000 {
		t.Errorf("changed: %d bytes", got)
	}
}

func TestOldFilemapGoesBeforeItsFiles(t *testing.T) {
	mem := disk.NewMem()
	w := newWorld(t, mem)
	_, err := CopyPart(context.Background(), w.part(t), w.stage(t), Options{})
	must(t, err)
	stage := disk.Inject(w.stage(t), disk.Faults(disk.Fault{Kind: disk.OpWrite, PathPattern: "a", ShortWrite: 3}))
	if _, err := CopyPart(context.Background(), w.part(t), stage, Options{}); !errors.Is(err, syscall.EIO) {
		t.Fatalf("got %v", err)
	}
	cut, err := mem.CrashClone().Sub("prefix/stage")
	must(t, err)
	for name, f := range map[string]disk.FS{"stage": w.stage(t), "after a power cut": cut} {
		if there, _ := disk.Exists(f, "d/.scr/0.scrfilemap"); there {
			t.Errorf("%s: the filemap speaks of a file that is half written", name)
		}
	}
}

// A file in the stage may have a second name, that of a published file.
func TestOldFilesAreReplacedNotWrittenOver(t *testing.T) {
	w := newWorld(t, disk.NewMem())
	must(t, disk.MkdirAll(w.stage(t), "d", 0o755))
	must(t, w.root.Link("prefix/other", "prefix/stage/d/a"))
	_, err := CopyPart(context.Background(), w.part(t), w.stage(t), Options{})
	must(t, err)
	if got, err := disk.ReadFile(w.root, "prefix/other"); err != nil || string(got) != "untouched" {
		t.Errorf("got %q, %v", got, err)
	}
}
