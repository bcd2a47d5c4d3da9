package fusefs_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// eachArea runs a test on a plain directory, which says what is right, and in
// every kind of place a mount has.
func eachArea(t *testing.T, run func(t *testing.T, dir string)) {
	t.Run("plain directory", func(t *testing.T) { run(t, scratch(t)) })
	for _, area := range []struct {
		name, dir string
		cfg       serverConfig
	}{
		{"bypassed", "d", serverConfig{}},
		{"cached", "ckptd", serverConfig{}},
		{"bypassed without passthrough", "d", serverConfig{NoPassthrough: true}},
		{"cached without passthrough", "ckptd", serverConfig{NoPassthrough: true}},
	} {
		t.Run(area.name, func(t *testing.T) {
			m := startMount(t, area.cfg)
			run(t, mkdir(t, filepath.Join(m.dir, area.dir)))
		})
	}
}

func open(tb testing.TB, file string, flags int) *os.File {
	tb.Helper()
	f, err := os.OpenFile(file, flags, 0o644)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { f.Close() })
	return f
}

func TestAppendersDoNotOverwriteEachOther(t *testing.T) {
	eachArea(t, func(t *testing.T, dir string) {
		file := filepath.Join(dir, "log")
		a := open(t, file, os.O_CREATE|os.O_WRONLY|os.O_APPEND)
		b := open(t, file, os.O_WRONLY|os.O_APPEND)
		for range 3 {
			for _, w := range []struct {
				f    *os.File
				text string
			}{{a, "aaa\n"}, {b, "b\n"}} {
				if _, err := w.f.WriteString(w.text); err != nil {
					t.Fatal(err)
				}
			}
		}
		wantContent(t, file, []byte(strings.Repeat("aaa\nb\n", 3)))
	})
}

func TestSharedMapping(t *testing.T) {
	eachArea(t, func(t *testing.T, dir string) {
		file := filepath.Join(dir, "m")
		f := open(t, file, os.O_CREATE|os.O_RDWR)
		if err := f.Truncate(3 * 4096); err != nil {
			t.Fatal(err)
		}
		mem, err := unix.Mmap(int(f.Fd()), 0, 3*4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
		if err != nil {
			t.Fatal(err)
		}
		copy(mem[4000:], "across a page")
		if err := unix.Msync(mem, unix.MS_SYNC); err != nil {
			t.Error(err)
		}
		got := make([]byte, 13)
		if _, err := f.ReadAt(got, 4000); err != nil || string(got) != "across a page" {
			t.Errorf("read of what was stored: %q, %v", got, err)
		}
		if _, err := f.WriteAt([]byte("WRITTEN"), 8192); err != nil {
			t.Error(err)
		}
		if got := string(mem[8192:8199]); got != "WRITTEN" {
			t.Errorf("the mapping shows %q", got)
		}
		if err := unix.Munmap(mem); err != nil {
			t.Error(err)
		}
		want := make([]byte, 3*4096)
		copy(want[4000:], "across a page")
		copy(want[8192:], "WRITTEN")
		wantContent(t, file, want)
	})
}

func TestHolesAndAllocation(t *testing.T) {
	eachArea(t, func(t *testing.T, dir string) {
		f := open(t, filepath.Join(dir, "f"), os.O_CREATE|os.O_RDWR)
		if _, err := f.Write(bytes.Repeat([]byte{7}, 1<<20)); err != nil {
			t.Fatal(err)
		}
		fd := int(f.Fd())
		if err := unix.Fallocate(fd, unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, 256<<10, 256<<10); err != nil {
			t.Fatal(err)
		}
		if err := unix.Fallocate(fd, unix.FALLOC_FL_KEEP_SIZE, 1<<20, 4096); err != nil {
			t.Error(err)
		}
		if fi, _ := f.Stat(); fi.Size() != 1<<20 {
			t.Errorf("size after KEEP_SIZE: %d", fi.Size())
		}
		if at, err := unix.Seek(fd, 0, unix.SEEK_HOLE); at != 256<<10 || err != nil {
			t.Errorf("SEEK_HOLE: %d, %v", at, err)
		}
		if at, err := unix.Seek(fd, 256<<10, unix.SEEK_DATA); at != 512<<10 || err != nil {
			t.Errorf("SEEK_DATA: %d, %v", at, err)
		}
		b := make([]byte, 2)
		if _, err := f.ReadAt(b, 256<<10-1); err != nil || b[0] != 7 || b[1] != 0 {
			t.Errorf("read at the hole: %v, %v", b, err)
		}
		if err := unix.Fallocate(fd, 0, 0, 2<<20); err != nil {
			t.Error(err)
		}
		if fi, _ := f.Stat(); fi.Size() != 2<<20 {
			t.Errorf("size after fallocate: %d", fi.Size())
		}
	})
}

func TestCopyFileRange(t *testing.T) {
	eachArea(t, func(t *testing.T, dir string) {
		from, to := filepath.Join(dir, "from"), filepath.Join(dir, "to")
		data := pattern(300_000)
		write(t, from, data)
		in, out := open(t, from, os.O_RDONLY), open(t, to, os.O_CREATE|os.O_WRONLY)
		for done := 0; done < len(data); {
			n, err := unix.CopyFileRange(int(in.Fd()), nil, int(out.Fd()), nil, len(data)-done, 0)
			if err != nil || n == 0 {
				t.Fatalf("after %d bytes: %d, %v", done, n, err)
			}
			done += n
		}
		wantContent(t, to, data)
	})
}

func TestCopyFileRangeOverTheBorder(t *testing.T) {
	for _, cfg := range []serverConfig{{}, {Remote: true}} {
		m := startMount(t, cfg)
		from, to := filepath.Join(m.dir, "plain"), filepath.Join(m.dir, "ckpt")
		data := pattern(300_000)
		write(t, from, data)
		in, out := open(t, from, os.O_RDONLY), open(t, to, os.O_CREATE|os.O_WRONLY)
		for done := 0; done < len(data); {
			n, err := unix.CopyFileRange(int(in.Fd()), nil, int(out.Fd()), nil, len(data)-done, 0)
			if err != nil || n == 0 {
				t.Fatalf("after %d bytes: %d, %v", done, n, err)
			}
			done += n
		}
		wantContent(t, to, data)
	}
}

func TestSpecialFilesAndSync(t *testing.T) {
	eachArea(t, func(t *testing.T, dir string) {
		if !strings.Contains(dir, "ckpt") {
			fifo := filepath.Join(dir, "fifo")
			if err := unix.Mkfifo(fifo, 0o600); err != nil {
				t.Fatal(err)
			}
			if got := inodeOf(t, fifo).Mode; got != syscall.S_IFIFO|0o600 {
				t.Errorf("mode of the FIFO: %o", got)
			}
		}
		f := open(t, filepath.Join(dir, "f"), os.O_CREATE|os.O_WRONLY|os.O_SYNC)
		if _, err := f.Write(pattern(100)); err != nil {
			t.Error(err)
		}
		if err := f.Sync(); err != nil {
			t.Error(err)
		}
		if err := unix.Fdatasync(int(f.Fd())); err != nil {
			t.Error(err)
		}
		if err := open(t, dir, os.O_RDONLY).Sync(); err != nil {
			t.Errorf("fsync of a directory: %v", err)
		}
		if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
			t.Error(err)
		}
		g := open(t, filepath.Join(dir, "f"), os.O_WRONLY)
		if err := unix.Flock(int(g.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != unix.EWOULDBLOCK {
			t.Errorf("second lock: %v, want EWOULDBLOCK", err)
		}
		if _, err := os.Stat(filepath.Join(dir, strings.Repeat("n", 256))); !strings.Contains(err.Error(), "too long") {
			t.Errorf("name of 256 bytes: %v", err)
		}
		write(t, filepath.Join(dir, strings.Repeat("n", 255)), nil)
		var s unix.Statfs_t
		if err := unix.Statfs(dir, &s); err != nil || s.Blocks == 0 || s.Namelen != 255 {
			t.Errorf("statfs: %+v, %v", s, err)
		}
	})
}

func TestUnnamedFileGetsAName(t *testing.T) {
	for _, dir := range []string{scratch(t), startMount(t, serverConfig{}).dir} {
		fd, err := unix.Open(dir, unix.O_TMPFILE|unix.O_RDWR, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		f := os.NewFile(uintptr(fd), "tmpfile")
		if _, err := f.Write(pattern(5000)); err != nil {
			t.Error(err)
		}
		if n := names(t, dir); len(n) != 0 {
			t.Errorf("names: %v, want none", n)
		}
		file := filepath.Join(dir, "named")
		if err := unix.Linkat(unix.AT_FDCWD, fmt.Sprintf("/proc/self/fd/%d", fd), unix.AT_FDCWD, file, unix.AT_SYMLINK_FOLLOW); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
		wantContent(t, file, pattern(5000))
		if st := inodeOf(t, file); st.Nlink != 1 || st.Mode&0o777 != 0o600 {
			t.Errorf("%d links, mode %o", st.Nlink, st.Mode)
		}
	}
}

func TestDirectIO(t *testing.T) {
	eachArea(t, func(t *testing.T, dir string) {
		file := filepath.Join(dir, "f")
		buf := alignedBytes(t, 64<<10)
		copy(buf, pattern(len(buf)))
		f := open(t, file, os.O_CREATE|os.O_RDWR|syscall.O_DIRECT)
		if _, err := f.WriteAt(buf, 8192); err != nil {
			t.Fatal(err)
		}
		wantContent(t, file, append(make([]byte, 8192), buf...))
	})
}

// alignedBytes returns n bytes that begin on a page, as O_DIRECT wants them.
func alignedBytes(tb testing.TB, n int) []byte {
	tb.Helper()
	mem, err := unix.Mmap(-1, 0, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { unix.Munmap(mem) })
	return mem
}
