package fusefs_test

import (
	"bytes"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

var (
	randomSeed = flag.Uint64("random.seed", 1, "seed of TestRandomOperations")
	randomOps  = flag.Int("random.ops", 3000, "operations of TestRandomOperations on each file")
)

// TestRandomOperations does the same operations to a file of the mount, by two
// descriptors and a mapping, and to an array, and compares all that is read.
func TestRandomOperations(t *testing.T) {
	for _, cfg := range []serverConfig{{}, {NoPassthrough: true}} {
		for _, name := range []string{"plain", "ckpt"} {
			t.Run(fmt.Sprintf("%s passthrough %v", name, !cfg.NoPassthrough), func(t *testing.T) {
				t.Logf("seed %d (-random.seed)", *randomSeed)
				m := startMount(t, cfg)
				x := exerciser{t: t, rnd: rand.New(rand.NewPCG(*randomSeed, 0)), file: filepath.Join(m.dir, name)}
				x.run(*randomOps)
			})
		}
	}
}

const randomFileBytes = 256 << 10

type exerciser struct {
	t    *testing.T
	rnd  *rand.Rand
	file string
	f, g *os.File // both lead to the file
	want []byte
	last string
}

func (x *exerciser) run(count int) {
	x.open()
	defer func() { x.f.Close(); x.g.Close() }()
	for i := range count {
		x.step()
		if x.t.Failed() {
			x.t.Fatalf("operation %d: %s", i, x.last)
		}
	}
	x.check(0, len(x.want))
}

func (x *exerciser) open() {
	var err error
	if x.f, err = os.OpenFile(x.file, os.O_CREATE|os.O_RDWR, 0o644); err != nil {
		x.t.Fatal(err)
	}
	if x.g, err = os.OpenFile(x.file, os.O_RDWR, 0); err != nil {
		x.t.Fatal(err)
	}
}

// place returns a random range; within tells that it lies inside the file.
func (x *exerciser) place(within bool) (off, n int) {
	limit := randomFileBytes
	if within {
		limit = len(x.want)
	}
	if limit == 0 {
		return 0, 0
	}
	off = x.rnd.IntN(limit)
	return off, 1 + x.rnd.IntN(min(limit-off, 40_000))
}

func (x *exerciser) file1() *os.File {
	if x.rnd.IntN(2) == 0 {
		return x.f
	}
	return x.g
}

func (x *exerciser) step() {
	switch x.rnd.IntN(9) {
	case 0, 1, 2:
		x.write()
	case 3:
		x.check(x.place(true))
	case 4:
		x.truncate()
	case 5:
		x.mapped()
	case 6:
		x.punch()
	case 7:
		x.copyRange()
	case 8:
		if x.rnd.IntN(5) == 0 {
			x.last = "reopen"
			x.must(x.f.Close())
			x.must(x.g.Close())
			x.open()
		}
	}
	if fi, err := x.file1().Stat(); err != nil || int(fi.Size()) != len(x.want) {
		x.t.Errorf("size: got %d, want %d (%v)", fi.Size(), len(x.want), err)
	}
}

func (x *exerciser) must(err error) {
	if err != nil {
		x.t.Errorf("%s: %v", x.last, err)
	}
}

func (x *exerciser) grow(size int) {
	if size > len(x.want) {
		x.want = append(x.want, make([]byte, size-len(x.want))...)
	}
}

func (x *exerciser) random(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(x.rnd.Uint32())
	}
	return b
}

func (x *exerciser) write() {
	off, n := x.place(false)
	x.last = fmt.Sprintf("write %d at %d", n, off)
	data := x.random(n)
	_, err := x.file1().WriteAt(data, int64(off))
	x.must(err)
	x.grow(off + n)
	copy(x.want[off:], data)
}

func (x *exerciser) check(off, n int) {
	x.last = fmt.Sprintf("read %d at %d", n, off)
	got := make([]byte, n)
	if n > 0 {
		_, err := x.file1().ReadAt(got, int64(off))
		x.must(err)
	}
	if !bytes.Equal(got, x.want[off:off+n]) {
		x.t.Errorf("%s: content differs", x.last)
	}
}

func (x *exerciser) truncate() {
	size := x.rnd.IntN(randomFileBytes)
	x.last = fmt.Sprintf("truncate %d", size)
	x.must(x.file1().Truncate(int64(size)))
	x.grow(size)
	x.want = x.want[:size]
}

func (x *exerciser) mapped() {
	if len(x.want) == 0 {
		return
	}
	off, n := x.place(true)
	x.last = fmt.Sprintf("store %d at %d in a mapping", n, off)
	mem, err := unix.Mmap(int(x.file1().Fd()), 0, len(x.want), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		x.must(err)
		return
	}
	if !bytes.Equal(mem[off:off+n], x.want[off:off+n]) {
		x.t.Errorf("%s: the mapping shows something else", x.last)
	}
	data := x.random(n)
	copy(mem[off:], data)
	copy(x.want[off:], data)
	if x.rnd.IntN(2) == 0 {
		x.must(unix.Msync(mem, unix.MS_SYNC))
	}
	x.must(unix.Munmap(mem))
}

func (x *exerciser) punch() {
	if len(x.want) == 0 {
		return
	}
	off, n := x.place(true)
	x.last = fmt.Sprintf("punch %d at %d", n, off)
	x.must(unix.Fallocate(int(x.file1().Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, int64(off), int64(n)))
	clear(x.want[off : off+n])
}

func (x *exerciser) copyRange() {
	if len(x.want) == 0 {
		return
	}
	from, n := x.place(true)
	to := x.rnd.IntN(randomFileBytes)
	if to < from+n && from < to+n {
		return // overlapping: EINVAL by definition
	}
	x.last = fmt.Sprintf("copy %d from %d to %d", n, from, to)
	src, dst := int64(from), int64(to)
	for left := n; left > 0; {
		got, err := unix.CopyFileRange(int(x.f.Fd()), &src, int(x.g.Fd()), &dst, left, 0)
		if err != nil || got == 0 {
			x.t.Errorf("%s: %d, %v", x.last, got, err)
			return
		}
		left -= got
	}
	x.grow(to + n)
	copy(x.want[to:], x.want[from:from+n])
}
