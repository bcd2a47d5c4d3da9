package indexer

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/scrfs/scrfs/internal/disk"
	"github.com/scrfs/scrfs/scr"
)

// fastDir is a directory in memory, where the disk does not decide.
func fastDir(b *testing.B) string {
	b.Helper()
	base := "/dev/shm"
	if _, err := os.Stat(base); err != nil {
		base = ""
	}
	dir, err := os.MkdirTemp(base, "scrfs-bench-")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func openDir(b *testing.B, dir string) disk.FS {
	b.Helper()
	fsys, err := disk.Open(dir)
	if err != nil {
		b.Fatal(err)
	}
	return fsys
}

// BenchmarkRebuildAgainstCopy rebuilds one member of a set of four that reads
// 256 MiB, and copies the files that it reads with cp.
func BenchmarkRebuildAgainstCopy(b *testing.B) {
	const fileBytes = 64 << 20
	l := layouts["F14"]
	data := string(contents(1, fileBytes))
	files := make([]tree, 4)
	for r := range files {
		files[r] = tree{fmt.Sprintf("f%d", r): data[r:]}
	}
	dir := fastDir(b)
	fsys := openDir(b, dir)
	writeDataset(b, fsys, l, files, [][]scr.Rank{{0, 1, 2, 3}})
	for r := range files {
		clear(files[r])
	}
	read := int64(3 * (fileBytes + fileBytes/3))
	ranks := []string{"f0", "f2", "f3", ".scr/1_of_4_in_0.xor", ".scr/3_of_4_in_0.xor", ".scr/4_of_4_in_0.xor"}
	remove := func() {
		b.StopTimer()
		for _, name := range []string{"scr.dataset.9/f1", "scr.dataset.9/.scr/2_of_4_in_0.xor", "scr.dataset.9/.scr/1.scrfilemap", ".scr/index.scr", "scr.dataset.9/.scr/summary.scr"} {
			if err := disk.RemoveAll(fsys, name); err != nil {
				b.Fatal(err)
			}
		}
		b.StartTimer()
	}
	b.Run("rebuild", func(b *testing.B) {
		b.SetBytes(read)
		x := New(fsys, dir, Options{NoCRC: true})
		for b.Loop() {
			remove()
			if _, err := x.Rebuild(context.Background(), l.family, l.dir, 0, -1); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("add", func(b *testing.B) {
		b.SetBytes(read)
		x := New(fsys, dir, Options{})
		for b.Loop() {
			remove()
			if _, err := x.Add(context.Background(), "9"); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("cp", func(b *testing.B) {
		b.SetBytes(read)
		to := filepath.Join(dir, "copy")
		for b.Loop() {
			b.StopTimer()
			if err := os.RemoveAll(to); err != nil {
				b.Fatal(err)
			}
			if err := os.Mkdir(to, 0o755); err != nil {
				b.Fatal(err)
			}
			args := []string{"--reflink=never"}
			for _, name := range ranks {
				args = append(args, filepath.Join(dir, "scr.dataset.9", name))
			}
			b.StartTimer()
			if out, err := exec.Command("cp", append(args, to)...).CombinedOutput(); err != nil {
				b.Fatalf("%v: %s", err, out)
			}
		}
	})
	b.Run("verify against cksum", func(b *testing.B) {
		b.SetBytes(read)
		args := []string{"-a", "crc"}
		for _, name := range ranks {
			args = append(args, filepath.Join(dir, "scr.dataset.9", name))
		}
		for b.Loop() {
			if out, err := exec.Command("cksum", args...).CombinedOutput(); err != nil {
				b.Fatalf("%v: %s", err, out)
			}
		}
	})
	b.Run("verify", func(b *testing.B) {
		b.SetBytes(read)
		x := New(fsys, dir, Options{})
		for b.Loop() {
			if _, err := x.Scan(context.Background(), l.family, l.dir); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkAddPerFile adds a complete dataset of many small files, without
// checksums. SCRFS_BENCH_FILES sets how many.
func BenchmarkAddPerFile(b *testing.B) {
	total := 16384
	if s := os.Getenv("SCRFS_BENCH_FILES"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil {
			b.Fatal(err)
		}
		total = n
	}
	for _, perRank := range []int{1, 64, 1024} {
		b.Run(fmt.Sprintf("%d files, %d per rank", total, perRank), func(b *testing.B) {
			l := layouts["F14"]
			files := make([]tree, total/perRank)
			for r := range files {
				files[r] = tree{}
				for k := range perRank {
					files[r][fmt.Sprintf("rank_%d_file_%d", r, k)] = "x"
				}
			}
			dir := fastDir(b)
			fsys := openDir(b, dir)
			writeDataset(b, unsynced{fsys}, l, files, nil)
			x := New(fsys, dir, Options{NoCRC: true})
			var cpu time.Duration
			for b.Loop() {
				begin := processTime(b)
				if _, err := x.Add(context.Background(), "9"); err != nil {
					b.Fatal(err)
				}
				cpu += processTime(b) - begin
				b.StopTimer()
				if err := disk.RemoveAll(fsys, ".scr"); err != nil {
					b.Fatal(err)
				}
				if err := fsys.Remove("scr.dataset.9/.scr/summary.scr"); err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
			}
			b.ReportMetric(float64(cpu.Microseconds())/float64(b.N*total), "cpu-us/file")
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*total), "us/file")
		})
	}
}

// unsynced saves the time of syncing directories while a benchmark is set up.
type unsynced struct{ disk.FS }

func (unsynced) SyncDir(string) error { return nil }

// processTime is what all threads have used, which does not depend on what else
// the machine does.
func processTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
