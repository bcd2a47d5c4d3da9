package fusefs_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// benchFileBytes is the size of the file each measurement writes or reads.
const benchFileBytes = 128 << 20

// BenchmarkWriteAgainstCache writes one file through the mount and one
// straight into the cache's file system in turn, and reports the median of the
// ratios (1 = as fast as the cache). Run it with
//
//	go test -run '^$' -bench AgainstCache -benchtime 41x ./fusefs
func BenchmarkWriteAgainstCache(b *testing.B) {
	for _, road := range []struct {
		name string
		cfg  serverConfig
	}{{"passthrough", serverConfig{}}, {"daemon", serverConfig{NoPassthrough: true}}} {
		b.Run(road.name, func(b *testing.B) {
			for _, block := range []int{4 << 10, 64 << 10, 1 << 20, 4 << 20} {
				b.Run(blockName(block), func(b *testing.B) {
					m := startMount(b, road.cfg)
					cacheAgainst(b, m, func(tb testing.TB, dir string) cost { return writeFile(tb, dir, block) })
				})
			}
		})
	}
}

// BenchmarkWriteAgainstPrefix is the same for a bypassed file and the prefix
// directory.
func BenchmarkWriteAgainstPrefix(b *testing.B) {
	for _, road := range []struct {
		name string
		cfg  serverConfig
	}{{"passthrough", serverConfig{}}, {"daemon", serverConfig{NoPassthrough: true}}} {
		for _, block := range []int{4 << 10, 1 << 20} {
			b.Run(road.name+"/"+blockName(block), func(b *testing.B) {
				m := startMount(b, road.cfg)
				against(b, filepath.Join(m.dir, "bypassed"), filepath.Join(m.prefix, "bare"),
					func(tb testing.TB, dir string) cost { return writeFile(tb, dir, block) })
			})
		}
	}
}

// BenchmarkReadAgainstCache reads a file that was written before.
func BenchmarkReadAgainstCache(b *testing.B) {
	for _, block := range []int{64 << 10, 1 << 20} {
		b.Run(blockName(block), func(b *testing.B) {
			m := startMount(b, serverConfig{})
			cacheAgainst(b, m, func(tb testing.TB, dir string) cost {
				writeFile(tb, dir, 1<<20)
				return readFile(tb, dir, block)
			})
		})
	}
}

// BenchmarkCreateAgainstCache makes files of 4 KiB. MB/s has no meaning here.
func BenchmarkCreateAgainstCache(b *testing.B) {
	m := startMount(b, serverConfig{})
	var files []float64
	cacheAgainst(b, m, func(tb testing.TB, dir string) cost {
		took := createFiles(tb, dir)
		if strings.HasPrefix(dir, m.dir) {
			files = append(files, float64(took.wall.Microseconds())/createCount)
		}
		return took
	})
	b.ReportMetric(median(files), "us/file")
}

func blockName(block int) string {
	if block >= 1<<20 {
		return fmt.Sprintf("%dMiB", block>>20)
	}
	return fmt.Sprintf("%dKiB", block>>10)
}

func cacheAgainst(b *testing.B, m *testMount, run func(testing.TB, string) cost) {
	against(b, filepath.Join(m.dir, "ckpt.bench"), filepath.Join(m.cache, "bare"), run)
}

// against runs a load in a directory of a mount and in a bare one in turn.
func against(b *testing.B, mount, bare string, run func(testing.TB, string) cost) {
	for _, dir := range []string{mount, bare} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			b.Fatal(err)
		}
		run(b, dir) // memory is there from now on
	}
	runtime.LockOSThread() // for threadTime
	defer runtime.UnlockOSThread()
	var ratios, cpuRatios, through []float64
	for i := range b.N {
		dirs := []string{mount, bare}
		var took [2]cost
		for k := range 2 {
			which := (i + k) % 2 // neither always comes first
			took[which] = run(b, dirs[which])
		}
		ratios = append(ratios, took[1].wall.Seconds()/took[0].wall.Seconds())
		cpuRatios = append(cpuRatios, took[1].thread.Seconds()/took[0].thread.Seconds())
		through = append(through, took[0].wall.Seconds())
	}
	b.ReportMetric(median(ratios), "ratio")
	b.ReportMetric(median(cpuRatios), "cpu-ratio")
	b.ReportMetric(benchFileBytes/median(through)/1e6, "MB/s")
	b.ReportMetric(0, "ns/op")
}

func median(v []float64) float64 {
	slices.Sort(v)
	return v[len(v)/2]
}

// cost is what a load took.
type cost struct{ wall, thread time.Duration }

type instant struct {
	clock  time.Time
	thread time.Duration
}

func begin(tb testing.TB) instant { return instant{time.Now(), threadTime(tb)} }

func (i instant) since(tb testing.TB) cost {
	return cost{wall: time.Since(i.clock), thread: threadTime(tb) - i.thread}
}

// threadTime is the processor time of this thread. On a machine that does
// other work as well it says more than the clock, where the thread alone does
// the work: through the kernel it does.
func threadTime(tb testing.TB) time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_THREAD, &u); err != nil {
		tb.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func writeFile(tb testing.TB, dir string, block int) cost {
	file := filepath.Join(dir, "f")
	// The pages of the last round are given back now and not while we measure,
	// by the server.
	if err := os.Truncate(file, 0); err != nil && !os.IsNotExist(err) {
		tb.Fatal(err)
	}
	buf := pattern(block)
	start := begin(tb)
	fd, err := syscall.Open(file, syscall.O_CREAT|syscall.O_WRONLY, 0o644)
	if err != nil {
		tb.Fatal(err)
	}
	for done := 0; done < benchFileBytes; done += block {
		if n, err := syscall.Write(fd, buf); err != nil || n != block {
			tb.Fatalf("write: %d, %v", n, err)
		}
	}
	if err := syscall.Close(fd); err != nil {
		tb.Fatal(err)
	}
	return start.since(tb)
}

func readFile(tb testing.TB, dir string, block int) cost {
	buf := make([]byte, block)
	start := begin(tb)
	fd, err := syscall.Open(filepath.Join(dir, "f"), syscall.O_RDONLY, 0)
	if err != nil {
		tb.Fatal(err)
	}
	defer syscall.Close(fd)
	for {
		n, err := syscall.Read(fd, buf)
		if err != nil {
			tb.Fatal(err)
		}
		if n == 0 {
			return start.since(tb)
		}
	}
}

const createCount = 500

func createFiles(tb testing.TB, dir string) cost {
	buf := pattern(4096)
	start := begin(tb)
	for i := range createCount {
		file := filepath.Join(dir, fmt.Sprintf("c%d", i))
		fd, err := syscall.Open(file, syscall.O_CREAT|syscall.O_WRONLY|syscall.O_EXCL, 0o644)
		if err != nil {
			tb.Fatal(err)
		}
		if _, err := syscall.Write(fd, buf); err != nil {
			tb.Fatal(err)
		}
		if err := syscall.Close(fd); err != nil {
			tb.Fatal(err)
		}
	}
	took := start.since(tb)
	names, err := os.ReadDir(dir)
	if err != nil {
		tb.Fatal(err)
	}
	for _, e := range names {
		if strings.HasPrefix(e.Name(), "c") {
			if err := os.Remove(filepath.Join(dir, e.Name())); err != nil {
				tb.Fatal(err)
			}
		}
	}
	return took
}
