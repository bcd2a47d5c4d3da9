package xor_test

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/scrfs/scrfs/scr"
	"github.com/scrfs/scrfs/xor"
)

// fastest keeps the shortest of several times. Other work on the machine only
// ever adds to a time, so the ratio of two minima of one run means something
// where ns/op does not.
type fastest time.Duration

func (f *fastest) take(d time.Duration) {
	if *f == 0 || fastest(d) < *f {
		*f = fastest(d)
	}
}

// BenchmarkMerge reports the rate of Merge as a ratio to that of copy.
func BenchmarkMerge(b *testing.B) {
	for _, n := range []int{64 << 10, 256 << 10, 1 << 20, 16 << 20} {
		b.Run(fmt.Sprintf("%dKiB", n>>10), func(b *testing.B) {
			dst, src := make([]byte, n), make([]byte, n)
			rnd := rand.NewChaCha8([32]byte{1})
			_, _ = rnd.Read(src)
			_, _ = rnd.Read(dst)
			const repeat = 4
			var merging, copying fastest
			b.SetBytes(int64(repeat * n))
			for b.Loop() {
				start := time.Now()
				for range repeat {
					xor.Merge(dst, src)
				}
				middle := time.Now()
				for range repeat {
					copy(dst, src)
				}
				merging.take(middle.Sub(start))
				copying.take(time.Since(middle))
			}
			b.ReportMetric(float64(copying)/float64(merging), "of-copy")
		})
	}
}

const benchBytes = 256 << 20 // the whole set, without redundancy files

// BenchmarkRebuild rebuilds one of four members of 64 MiB each from files to
// files, CRC included, and reports the rate at which it gets through the bytes
// it must read as a ratio to a plain copy of these files in the same run.
func BenchmarkRebuild(b *testing.B) {
	const members = 4
	dir := b.TempDir()
	data, headers := writeBenchSet(b, dir, members)
	lost := 1
	survivors := append(append([]xor.MemberData{}, data[:lost]...), data[lost+1:]...)
	readBytes := int64(members-1)*benchBytes/members + int64(members-1)*headers[0].ChunkBytes
	for _, piece := range []int{64 << 10, 256 << 10, 1 << 20, 4 << 20} {
		for _, workers := range []int{1, 2, 4} {
			b.Run(fmt.Sprintf("piece=%dKiB/workers=%d", piece>>10, workers), func(b *testing.B) {
				var rebuilding, copying fastest
				for b.Loop() {
					start := time.Now()
					o := xor.Options{Family: scr.F14, PieceBytes: piece, Workers: workers}
					if _, err := xor.Rebuild(context.Background(), survivors, dirSink(dir), o); err != nil {
						b.Fatal(err)
					}
					middle := time.Now()
					copyFiles(b, dir, members, lost)
					rebuilding.take(middle.Sub(start))
					copying.take(time.Since(middle))
				}
				b.ReportMetric(float64(copying)/float64(rebuilding), "of-cp")
				b.ReportMetric(float64(readBytes)/1e6/time.Duration(rebuilding).Seconds(), "MB/s-read")
			})
		}
	}
}

// BenchmarkEncode does the same for the encoding of the whole set.
func BenchmarkEncode(b *testing.B) {
	const members = 4
	dir := b.TempDir()
	data, _ := writeBenchSet(b, dir, members)
	var encoding, copying fastest
	for b.Loop() {
		start := time.Now()
		create := func(h xor.Header) (io.WriteCloser, error) {
			return os.Create(filepath.Join(dir, "encoded."+h.Current.Rank.String()))
		}
		if _, err := xor.Encode(context.Background(), data, create, xor.Options{Family: scr.F14}); err != nil {
			b.Fatal(err)
		}
		middle := time.Now()
		copyFiles(b, dir, members, -1)
		encoding.take(middle.Sub(start))
		copying.take(time.Since(middle))
	}
	b.ReportMetric(float64(copying)/float64(encoding), "of-cp")
}

type dirSink string

func (d dirSink) File(_ int, meta scr.FileMeta) (io.WriteCloser, error) {
	return os.Create(filepath.Join(string(d), "rebuilt."+meta.File))
}

func (d dirSink) Redundancy(h xor.Header) (io.WriteCloser, error) {
	return os.Create(filepath.Join(string(d), "rebuilt.xor"))
}

func writeBenchSet(b *testing.B, dir string, members int) ([]xor.MemberData, []xor.Header) {
	b.Helper()
	rnd := rand.NewChaCha8([32]byte{2})
	list := make([]xor.Member, members)
	data := make([]xor.MemberData, members)
	buf := make([]byte, benchBytes/members)
	for i := range list {
		_, _ = rnd.Read(buf)
		name := benchName(i)
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, buf, 0o600); err != nil {
			b.Fatal(err)
		}
		list[i] = xor.Member{Rank: scr.Rank(i), Files: []scr.FileMeta{{File: name, SizeBytes: int64(len(buf)), Complete: true}}}
		data[i].Files = []io.ReaderAt{openForBench(b, path)}
	}
	headers, err := xor.Headers(scr.Dataset{ID: 1}, members, list)
	if err != nil {
		b.Fatal(err)
	}
	for i := range data {
		data[i].Header = headers[i]
	}
	names := make([]string, 0, members)
	_, err = xor.Encode(context.Background(), data, func(h xor.Header) (io.WriteCloser, error) {
		names = append(names, filepath.Join(dir, benchName(h.Index())+".xor"))
		return os.Create(names[len(names)-1])
	}, xor.Options{Family: scr.F14})
	if err != nil {
		b.Fatal(err)
	}
	for i := range data {
		f := openForBench(b, names[i])
		_, n, err := xor.ReadHeader(f)
		if err != nil {
			b.Fatal(err)
		}
		data[i].Payload = io.NewSectionReader(f, n, headers[i].ChunkBytes)
	}
	return data, headers
}

func benchName(i int) string { return fmt.Sprintf("rank_%d.ckpt", i) }

func openForBench(b *testing.B, path string) *os.File {
	b.Helper()
	f, err := os.Open(path)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = f.Close() })
	return f
}

// copyFiles lets cp copy the files that Rebuild, or Encode, reads. Sharing of
// blocks is forbidden to it: it would not copy anything.
func copyFiles(b *testing.B, dir string, members, lost int) {
	b.Helper()
	to := filepath.Join(dir, "copied")
	if err := os.MkdirAll(to, 0o700); err != nil {
		b.Fatal(err)
	}
	args := []string{"--reflink=never"}
	for i := range members {
		if i == lost {
			continue
		}
		args = append(args, filepath.Join(dir, benchName(i)))
		if lost >= 0 {
			args = append(args, filepath.Join(dir, benchName(i)+".xor"))
		}
	}
	if out, err := exec.Command("cp", append(args, to)...).CombinedOutput(); err != nil {
		b.Fatalf("cp: %v: %s", err, out)
	}
}
