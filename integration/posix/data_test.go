package posix

import (
	"bytes"
	"errors"
	"io"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

func init() {
	add(map[string]func(*testing.T, place){
		"data/holes":                    dataHoles,
		"data/fallocate":                dataFallocate,
		"data/truncate clears the rest": dataTruncate,
		"data/mapped shared":            dataShared,
		"data/mapped private":           dataPrivate,
		"data/mapping outlives file":    dataMapOutlives,
		"data/mapped and written":       dataMapAndWrite,
		"data/vectors":                  dataVectors,
		"data/copied":                   dataCopy,
		"data/large offsets":            dataLarge,
		"data/synced":                   dataSync,
		"data/executed":                 dataExec,
		"data/size limit of a process":  dataLimit,
	})
}

func seek(t *testing.T, fd int, from int64, whence int) int64 {
	t.Helper()
	at, err := unix.Seek(fd, from, whence)
	if err != nil {
		t.Errorf("seek from %d: %v", from, err)
	}
	return at
}

func dataHoles(t *testing.T, p place) {
	f := open(t, p.at("f"), unix.O_RDWR|unix.O_CREAT)
	fd := int(f.Fd())
	const block = 64 << 10
	for _, at := range []int64{2, 5} {
		if _, err := f.WriteAt(pattern(block), at*block); err != nil {
			t.Fatal(err)
		}
	}
	do(t, f.Truncate(8*block))
	for _, c := range []struct {
		from   int64
		whence int
		want   int64
	}{
		{0, unix.SEEK_DATA, 2}, {0, unix.SEEK_HOLE, 0}, {2, unix.SEEK_HOLE, 3}, {3, unix.SEEK_DATA, 5}, {5, unix.SEEK_HOLE, 6}, {6, unix.SEEK_HOLE, 6},
	} {
		if got := seek(t, fd, c.from*block, c.whence); got != c.want*block {
			t.Errorf("seek %d from block %d: at %d, want block %d", c.whence, c.from, got, c.want)
		}
	}
	try(t,
		call{"data in the last hole", unix.ENXIO, func() error { _, err := unix.Seek(fd, 6*block, unix.SEEK_DATA); return err }},
		call{"hole behind the end", unix.ENXIO, func() error { _, err := unix.Seek(fd, 8*block, unix.SEEK_HOLE); return err }},
		call{"unknown whence", unix.EINVAL, func() error { _, err := unix.Seek(fd, 0, 9); return err }},
	)
	want := make([]byte, 8*block)
	copy(want[2*block:], pattern(block))
	copy(want[5*block:], pattern(block))
	wantContent(t, p.at("f"), want)
}

func dataFallocate(t *testing.T, p place) {
	f := open(t, p.at("f"), unix.O_RDWR|unix.O_CREAT)
	fd := int(f.Fd())
	const block = 64 << 10
	size := func(want int64) {
		t.Helper()
		if st := lstat(t, p.at("f")); st.Size != want {
			t.Errorf("%d bytes, want %d", st.Size, want)
		}
	}
	do(t, unix.Fallocate(fd, unix.FALLOC_FL_KEEP_SIZE, 0, block))
	size(0)
	do(t, unix.Fallocate(fd, 0, 0, 4*block))
	size(4 * block)
	if st := lstat(t, p.at("f")); st.Blocks < 4*block/512 {
		t.Errorf("%d blocks", st.Blocks)
	}
	data := pattern(4 * block)
	if _, err := f.WriteAt(data, 0); err != nil {
		t.Fatal(err)
	}
	do(t, unix.Fallocate(fd, unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, block, block))
	clear(data[block : 2*block])
	wantContent(t, p.at("f"), data)
	if got := seek(t, fd, 0, unix.SEEK_HOLE); got != block {
		t.Errorf("the hole is at %d", got)
	}
	try(t,
		call{"punch and grow", unix.EOPNOTSUPP, func() error { return unix.Fallocate(fd, unix.FALLOC_FL_PUNCH_HOLE, 0, block) }},
		call{"negative", unix.EINVAL, func() error { return unix.Fallocate(fd, 0, -1, block) }},
		call{"no length", unix.EINVAL, func() error { return unix.Fallocate(fd, 0, 0, 0) }},
	)
}

func dataTruncate(t *testing.T, p place) {
	write(t, p.at("f"), pattern(10_000))
	do(t, unix.Truncate(p.at("f"), 5000))
	do(t, unix.Truncate(p.at("f"), 10_000))
	want := append(pattern(10_000)[:5000], make([]byte, 5000)...)
	wantContent(t, p.at("f"), want)
}

func mapFile(t *testing.T, f *os.File, size, prot, flags int) []byte {
	t.Helper()
	m, err := unix.Mmap(int(f.Fd()), 0, size, prot, flags)
	do(t, err)
	return m
}

const readWrite = unix.PROT_READ | unix.PROT_WRITE

func dataShared(t *testing.T, p place) {
	write(t, p.at("f"), pattern(10_000))
	f := open(t, p.at("f"), unix.O_RDWR)
	m := mapFile(t, f, 10_000, readWrite, unix.MAP_SHARED)
	if !bytes.Equal(m, pattern(10_000)) {
		t.Error("the mapping shows something else")
	}
	copy(m[5000:], "through the mapping")
	want := pattern(10_000)
	copy(want[5000:], "through the mapping")
	wantContent(t, p.at("f"), want) // without msync
	if _, err := f.WriteAt([]byte("through the file"), 100); err != nil {
		t.Error(err)
	}
	if string(m[100:116]) != "through the file" {
		t.Errorf("the mapping shows %q", m[100:116])
	}
	copy(want[100:], "through the file")
	other := open(t, p.at("f"), unix.O_RDONLY)
	m2 := mapFile(t, other, 10_000, unix.PROT_READ, unix.MAP_SHARED)
	m[0] = 'Z'
	want[0] = 'Z'
	if m2[0] != 'Z' {
		t.Error("two mappings differ")
	}
	do(t, errors.Join(unix.Msync(m, unix.MS_SYNC), unix.Munmap(m), unix.Munmap(m2)))
	wantContent(t, p.at("f"), want)
	try(t,
		call{"shared writable mapping of a reader", unix.EACCES, func() error {
			_, err := unix.Mmap(int(other.Fd()), 0, 10, readWrite, unix.MAP_SHARED)
			return err
		}},
		call{"mapping of a directory", unix.ENODEV, func() error {
			_, err := unix.Mmap(int(open(t, p.dir, unix.O_RDONLY).Fd()), 0, 10, unix.PROT_READ, unix.MAP_SHARED)
			return err
		}},
	)
}

func dataPrivate(t *testing.T, p place) {
	write(t, p.at("f"), pattern(10_000))
	f := open(t, p.at("f"), unix.O_RDONLY)
	m := mapFile(t, f, 10_000, readWrite, unix.MAP_PRIVATE)
	copy(m, "private")
	wantContent(t, p.at("f"), pattern(10_000))
	do(t, unix.Munmap(m))
}

func dataMapOutlives(t *testing.T, p place) {
	write(t, p.at("f"), pattern(10_000))
	f, err := os.OpenFile(p.at("f"), os.O_RDWR, 0)
	do(t, err)
	m := mapFile(t, f, 10_000, readWrite, unix.MAP_SHARED)
	do(t, f.Close())
	copy(m, "after close")
	want := pattern(10_000)
	copy(want, "after close")
	wantContent(t, p.at("f"), want)
	do(t, os.Remove(p.at("f")))
	copy(m[9000:], "after removal")
	if string(m[:11]) != "after close" || string(m[9000:9013]) != "after removal" {
		t.Error("the mapping has lost what was written")
	}
	do(t, unix.Munmap(m))
}

func dataMapAndWrite(t *testing.T, p place) {
	f := open(t, p.at("f"), unix.O_RDWR|unix.O_CREAT)
	do(t, f.Truncate(1<<20))
	m := mapFile(t, f, 1<<20, readWrite, unix.MAP_SHARED)
	defer unix.Munmap(m)
	for i := 0; i < 1<<20; i += 4096 {
		m[i] = byte(i >> 12)
	}
	// A write whose source is the mapping of its own target.
	if _, err := f.WriteAt(m[:1<<19], 1<<19); err != nil {
		t.Error(err)
	}
	if m[1<<19+4096] != 1 {
		t.Error("the mapping does not show the write")
	}
	do(t, unix.Truncate(p.at("f"), 1<<19))
	do(t, unix.Truncate(p.at("f"), 1<<20))
	if m[1<<19+4096] != 0 {
		t.Error("truncation has left old bytes")
	}
}

func dataVectors(t *testing.T, p place) {
	f := open(t, p.at("f"), unix.O_RDWR|unix.O_CREAT)
	fd := int(f.Fd())
	if n, err := unix.Writev(fd, [][]byte{[]byte("one"), nil, []byte("two")}); n != 6 || err != nil {
		t.Errorf("writev: %d, %v", n, err)
	}
	if n, err := unix.Pwritev(fd, [][]byte{[]byte("THREE")}, 6); n != 5 || err != nil {
		t.Errorf("pwritev: %d, %v", n, err)
	}
	a, b := make([]byte, 4), make([]byte, 20)
	if n, err := unix.Preadv(fd, [][]byte{a, b}, 0); n != 11 || err != nil || string(a)+string(b[:7]) != "onetwoTHREE" {
		t.Errorf("preadv: %d, %v: %q %q", n, err, a, b)
	}
}

func dataCopy(t *testing.T, p place) {
	write(t, p.at("a"), pattern(1<<20))
	a, b := open(t, p.at("a"), unix.O_RDONLY), open(t, p.at("b"), unix.O_RDWR|unix.O_CREAT)
	for left, at := 1<<20, int64(0); left > 0; {
		from, to := at, at
		n, err := unix.CopyFileRange(int(a.Fd()), &from, int(b.Fd()), &to, left, 0)
		if err != nil || n == 0 {
			t.Fatalf("copy_file_range: %d, %v", n, err)
		}
		left, at = left-n, at+int64(n)
	}
	wantContent(t, p.at("b"), pattern(1<<20))
	c := open(t, p.at("c"), unix.O_WRONLY|unix.O_CREAT)
	if n, err := unix.Sendfile(int(c.Fd()), int(a.Fd()), nil, 1000); n != 1000 || err != nil {
		t.Errorf("sendfile: %d, %v", n, err)
	}
	wantContent(t, p.at("c"), pattern(1 << 20)[:1000])
}

func dataLarge(t *testing.T, p place) {
	f := open(t, p.at("f"), unix.O_RDWR|unix.O_CREAT)
	const far = 5 << 30
	if _, err := f.WriteAt([]byte("far"), far); err != nil {
		t.Fatal(err)
	}
	if st := lstat(t, p.at("f")); st.Size != far+3 {
		t.Errorf("%d bytes", st.Size)
	}
	buf := make([]byte, 10)
	if n, err := f.ReadAt(buf, far-2); n != 5 || err != io.EOF || string(buf[:5]) != "\x00\x00far" {
		t.Errorf("%q, %v", buf[:n], err)
	}
}

func dataSync(t *testing.T, p place) {
	f := open(t, p.at("f"), unix.O_RDWR|unix.O_CREAT)
	if _, err := f.Write(pattern(10_000)); err != nil {
		t.Error(err)
	}
	fd := int(f.Fd())
	do(t, errors.Join(unix.Fsync(fd), unix.Fdatasync(fd), unix.SyncFileRange(fd, 0, 0, 2), unix.Syncfs(fd)))
	r := open(t, p.at("f"), unix.O_RDONLY)
	do(t, unix.Fsync(int(r.Fd())))
	d := open(t, p.dir, unix.O_RDONLY)
	do(t, unix.Fsync(int(d.Fd())))
	s := open(t, p.at("s"), unix.O_RDWR|unix.O_CREAT|unix.O_SYNC)
	if _, err := s.Write(pattern(100)); err != nil {
		t.Error(err)
	}
	do(t, unix.Fadvise(fd, 0, 0, unix.FADV_DONTNEED))
	wantContent(t, p.at("f"), pattern(10_000))
}

func dataExec(t *testing.T, p place) {
	do(t, os.WriteFile(p.at("script"), []byte("#!/bin/sh\necho ran\n"), 0o755))
	if out, err := command(p.at("script")); out != "ran\n" || err != nil {
		t.Errorf("%q, %v", out, err)
	}
	do(t, unix.Chmod(p.at("script"), 0o644))
	if _, err := command(p.at("script")); !errors.Is(err, unix.EACCES) {
		t.Errorf("without the right: %v", err)
	}
}

func dataLimit(t *testing.T, p place) {
	// The limit is the process's, so a shell has it.
	out, err := command("/bin/sh", "-c", `trap '' XFSZ; ulimit -f 1; head -c 100000 /dev/zero > "$0"; echo $?`, p.at("f"))
	if err != nil || out == "0\n" {
		t.Errorf("%q, %v", out, err)
	}
	if st := lstat(t, p.at("f")); st.Size != 512 && st.Size != 1024 {
		t.Errorf("%d bytes", st.Size)
	}
}
