package posix

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

var (
	seed       = flag.Uint64("seed", 0, "of the random operations; 0 takes a new one")
	operations = flag.Int("operations", 100_000, "random operations in each area")
)

// maxBytes bounds the file that is operated on.
const maxBytes = 256 << 10

// model is a file and the array it is to be equal to.
type model struct {
	rand *rand.Rand
	dir  string
	name int
	file *os.File
	m    []byte // a shared mapping of maxBytes, nil if none
	want []byte
	buf  []byte
}

// TestRandomOperations does the same to a file and to an array in memory and
// compares them all the time.
func TestRandomOperations(t *testing.T) {
	m := startMount(t, "SCRFS_QUIET=1h")
	s := *seed
	if s == 0 {
		s = rand.Uint64()
	}
	t.Logf("repeat with -seed %d", s)
	for area, dir := range map[area]string{
		plainArea: scratch(t), bypassedArea: filepath.Join(m.dir, "results"), claimedArea: filepath.Join(m.dir, "ckpt.1"),
	} {
		t.Run(string(area), func(t *testing.T) {
			if err := os.MkdirAll(dir, 0o777); err != nil {
				t.Fatal(err)
			}
			f := &model{rand: rand.New(rand.NewPCG(s, 1)), dir: dir, buf: make([]byte, maxBytes)}
			if err := f.open(); err != nil {
				t.Fatal(err)
			}
			defer f.close()
			for i := range *operations {
				what, err := f.step()
				if err != nil {
					t.Fatalf("seed %d, operation %d: %s: %v", s, i, what, err)
				}
			}
			if err := f.compare(0, len(f.want)); err != nil {
				t.Errorf("seed %d, at the end: %v", s, err)
			}
		})
	}
}

func (f *model) path() string { return filepath.Join(f.dir, fmt.Sprintf("f%d", f.name)) }

func (f *model) open() (err error) {
	f.file, err = os.OpenFile(f.path(), os.O_RDWR|os.O_CREATE, 0o666)
	return err
}

func (f *model) close() error {
	if f.m != nil {
		if err := unix.Munmap(f.m); err != nil {
			return err
		}
		f.m = nil
	}
	return f.file.Close()
}

// span is a random range below limit.
func (f *model) span(limit int) (at, n int) {
	if limit == 0 {
		return 0, 0
	}
	at = f.rand.IntN(limit)
	return at, 1 + f.rand.IntN(min(limit-at, 1<<f.rand.IntN(17)))
}

func (f *model) random(n int) []byte {
	p := f.buf[:n]
	v := f.rand.Uint64()
	for i := range p {
		p[i] = byte(v >> (i % 8 * 8))
	}
	return p
}

func (f *model) put(at int, p []byte) {
	if end := at + len(p); end > len(f.want) {
		f.want = append(f.want, make([]byte, end-len(f.want))...)
	}
	copy(f.want[at:], p)
}

// step does one operation.
func (f *model) step() (what string, err error) {
	switch f.rand.IntN(40) {
	case 0, 1:
		what, err = "truncate", f.truncate()
	case 2:
		what, err = "punch", f.punch()
	case 3:
		what, err = "reopen", f.reopen()
	case 4:
		what, err = "rename", f.rename()
	case 5, 6:
		what, err = "append", f.append()
	case 7:
		what, err = "fallocate", f.allocate()
	case 8:
		var st unix.Stat_t
		if err = unix.Stat(f.path(), &st); err == nil && st.Size != int64(len(f.want)) {
			err = fmt.Errorf("%d bytes, want %d", st.Size, len(f.want))
		}
		what = "stat"
	case 9, 10, 11, 12, 13:
		what, err = "write through the mapping", f.mapped(true)
	case 14, 15, 16, 17:
		what, err = "read through the mapping", f.mapped(false)
	case 18:
		at, n := f.span(len(f.want))
		what, err = "read by another descriptor", f.compareBy(at, n)
	case 19, 20, 21, 22, 23, 24, 25, 26, 27, 28:
		at, n := f.span(len(f.want))
		what, err = fmt.Sprintf("read %d at %d", n, at), f.compare(at, n)
	default:
		at, n := f.span(maxBytes)
		p := f.random(n)
		f.put(at, p)
		_, err = f.file.WriteAt(p, int64(at))
		what = fmt.Sprintf("write %d at %d", n, at)
	}
	return what, err
}

func (f *model) truncate() error {
	n := f.rand.IntN(maxBytes)
	if n <= len(f.want) {
		f.want = f.want[:n:n]
	} else {
		f.want = append(f.want, make([]byte, n-len(f.want))...)
	}
	if f.rand.IntN(2) == 0 {
		return os.Truncate(f.path(), int64(n))
	}
	return f.file.Truncate(int64(n))
}

func (f *model) punch() error {
	at, n := f.span(len(f.want))
	if n == 0 {
		return nil
	}
	clear(f.want[at : at+n])
	return unix.Fallocate(int(f.file.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, int64(at), int64(n))
}

func (f *model) allocate() error {
	at, n := f.span(maxBytes)
	f.put(at+n, nil)
	return unix.Fallocate(int(f.file.Fd()), 0, int64(at), int64(n))
}

func (f *model) reopen() error {
	if err := f.close(); err != nil {
		return err
	}
	if err := f.open(); err != nil {
		return err
	}
	return f.compare(0, len(f.want))
}

func (f *model) rename() error {
	old := f.path()
	f.name = (f.name + 1) % 5
	return os.Rename(old, f.path())
}

func (f *model) append() error {
	n := 1 + f.rand.IntN(5000)
	if len(f.want)+n > maxBytes {
		return nil
	}
	p := f.random(n)
	f.want = append(f.want, p...)
	end, err := os.OpenFile(f.path(), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	if _, err := end.Write(p); err != nil {
		return err
	}
	return end.Close()
}

// mapped reads or writes through a shared mapping, within the file: what lies
// behind its end cannot be touched.
func (f *model) mapped(write bool) (err error) {
	if f.m == nil {
		if f.m, err = unix.Mmap(int(f.file.Fd()), 0, maxBytes, readWrite, unix.MAP_SHARED); err != nil {
			return err
		}
	}
	at, n := f.span(len(f.want))
	if write {
		p := f.random(n)
		copy(f.m[at:], p)
		copy(f.want[at:], p)
	}
	return same(f.m[at:at+n], f.want[at:at+n], at)
}

func (f *model) compare(at, n int) error { return f.read(f.file, at, n) }

func (f *model) compareBy(at, n int) error {
	r, err := os.Open(f.path())
	if err != nil {
		return err
	}
	defer r.Close()
	return f.read(r, at, n)
}

func (f *model) read(r io.ReaderAt, at, n int) error {
	got := f.buf[:n]
	if _, err := r.ReadAt(got, int64(at)); err != nil {
		return err
	}
	return same(got, f.want[at:at+n], at)
}

func same(got, want []byte, at int) error {
	if bytes.Equal(got, want) {
		return nil
	}
	for i := range want {
		if got[i] != want[i] {
			return fmt.Errorf("byte %d is %#x, want %#x", at+i, got[i], want[i])
		}
	}
	return nil
}
