package flush

import (
	"context"
	"fmt"
	"os/exec"
	"path"
	"testing"

	"github.com/scrfs/scrfs/internal/disk"
	"github.com/scrfs/scrfs/scr"
)

const (
	benchFiles = 16
	benchBytes = 8 << 20
)

// benchWorld is one rank with some large files on a real file system.
func benchWorld(b *testing.B) (*world, string) {
	b.Helper()
	dir := b.TempDir()
	root, err := disk.Open(dir)
	must(b, err)
	w := &world{root: root, fm: scr.NewFilemap(), files: map[string]string{}}
	for _, d := range []string{"cache/d", "prefix/stage"} {
		must(b, disk.MkdirAll(root, d, 0o777))
	}
	var names []string
	for i := range benchFiles {
		name := fmt.Sprintf("d/%d", i)
		w.files[name] = random(uint64(i), benchBytes)
		must(b, disk.WriteFile(root, path.Join("cache", name), []byte(w.files[name]), 0o600))
		names = append(names, name)
	}
	w.rank(0, names...)
	b.SetBytes(benchFiles * benchBytes)
	b.ResetTimer()
	return w, dir
}

func BenchmarkCopyPart(b *testing.B) {
	w, _ := benchWorld(b)
	for b.Loop() {
		if _, err := CopyPart(b.Context(), w.part(b), w.stage(b), Options{}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkCp is the same with cp, and sync to be as durable; no checksums.
func BenchmarkCp(b *testing.B) {
	_, dir := benchWorld(b)
	for b.Loop() {
		run(b, dir, "cp", "-a", "cache/d", "prefix/stage/")
		for i := range benchFiles {
			run(b, dir, "sync", fmt.Sprintf("prefix/stage/d/%d", i))
		}
	}
}

func run(b *testing.B, dir, name string, args ...string) {
	c := exec.CommandContext(context.Background(), name, args...)
	c.Dir = dir
	if out, err := c.CombinedOutput(); err != nil {
		b.Fatalf("%s: %v: %s", name, err, out)
	}
}
