package disktest

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"syscall"

	"github.com/scrfs/scrfs/internal/disk"
)

func readsBack(w world) {
	w.put("f", "abcdef")
	w.has("f", "abcdef")
	w.put("f", "xy")
	w.has("f", "xy")
	f := w.open("f", os.O_RDWR)
	equal(w, "name", f.Name(), "f")
	w.ok(f.Allocate(0, 1<<16))
	fi, err := f.Stat()
	w.ok(err)
	equal(w, "size after allocate", fi.Size(), 2)
	w.ok(f.Truncate(5))
	w.ok(f.Sync())
	w.has("f", "xy\x00\x00\x00")
	w.ok(f.Truncate(1))
	w.ok(f.Truncate(3))
	w.has("f", "x\x00\x00")
	w.fails(f.Truncate(-1), syscall.EINVAL)
	w.fails(f.Allocate(0, 0), syscall.EINVAL)
	w.ok(f.Close())
}

func offsets(w world) {
	f := w.open("f", os.O_RDWR|os.O_CREATE)
	_, err := f.WriteAt([]byte("end"), 4)
	w.ok(err)
	_, err = f.Write([]byte("ab"))
	w.ok(err)
	w.has("f", "ab\x00\x00end")
	b := make([]byte, 8)
	n, err := f.Read(b)
	equal(w, "read", string(b[:n]), "\x00\x00end")
	w.ok(err)
	n, err = f.Read(b)
	equal(w, "read at the end", n, 0)
	equal(w, "error at the end", err, io.EOF)
	n, err = f.ReadAt(b, 4)
	equal(w, "read at 4", string(b[:n]), "end")
	equal(w, "error of a short ReadAt", err, io.EOF)
	n, err = f.ReadAt(b[:3], 4)
	equal(w, "read at 4", string(b[:n]), "end")
	w.ok(err)
	if _, err = f.ReadAt(b, -1); err == nil {
		w.t.Error("read at -1: got no error")
	}
	for _, s := range []struct {
		off    int64
		whence int
		want   int64
	}{{1, io.SeekStart, 1}, {2, io.SeekCurrent, 3}, {-1, io.SeekEnd, 6}, {100, io.SeekStart, 100}} {
		pos, err := f.Seek(s.off, s.whence)
		w.ok(err)
		equal(w, "position", pos, s.want)
	}
	_, err = f.Seek(-101, io.SeekCurrent)
	w.fails(err, syscall.EINVAL)
	_, err = f.Read(b)
	equal(w, "error behind the end", err, io.EOF)
}

func appends(w world) {
	w.put("f", "abc")
	f := w.open("f", os.O_RDWR|os.O_APPEND)
	g := w.open("f", os.O_RDWR|os.O_APPEND)
	for _, x := range []io.Writer{f, g, f} {
		_, err := x.Write([]byte("d"))
		w.ok(err)
	}
	w.has("f", "abcddd")
	if _, err := f.WriteAt([]byte("x"), 0); err == nil {
		w.t.Error("WriteAt with O_APPEND: got no error")
	}
}

func accessModes(w world) {
	w.put("f", "abc")
	r, wr := w.open("f", os.O_RDONLY), w.open("f", os.O_WRONLY)
	b := make([]byte, 1)
	_, err := r.Write(b)
	w.fails(err, syscall.EBADF)
	_, err = wr.Read(b)
	w.fails(err, syscall.EBADF)
	_, err = wr.ReadAt(b, 0)
	w.fails(err, syscall.EBADF)
	w.fails(r.Truncate(0), syscall.EINVAL)
	w.fails(r.Allocate(0, 1), syscall.EBADF)
	w.has("f", "abc")
}

func closed(w world) {
	f := w.open("f", os.O_RDWR|os.O_CREATE)
	w.ok(f.Close())
	_, err := f.Write([]byte("x"))
	w.fails(err, fs.ErrClosed)
	_, err = f.Read(make([]byte, 1))
	w.fails(err, fs.ErrClosed)
	_, err = f.Stat()
	w.fails(err, fs.ErrClosed)
	w.fails(f.Sync(), fs.ErrClosed)
	w.fails(f.Truncate(0), fs.ErrClosed)
	w.fails(f.Close(), fs.ErrClosed)
	if _, ok := f.Fd(); ok {
		w.t.Error("Fd of a closed file: got one")
	}
}

func unlinked(w world) {
	w.put("f", "abc")
	f := w.open("f", os.O_RDWR)
	w.ok(w.Remove("f"))
	w.put("f", "new")
	b, err := io.ReadAll(f)
	w.ok(err)
	equal(w, "unlinked file", string(b), "abc")
	_, err = f.Write([]byte("d"))
	w.ok(err)
	w.has("f", "new")
	fi, err := f.Stat()
	w.ok(err)
	equal(w, "links", fi.Sys().(*syscall.Stat_t).Nlink, 0)
}

func openFlags(w world) {
	w.put("f", "abc")
	w.ok(w.Symlink("f", "link"))
	w.ok(w.Symlink("made", "dangling"))
	for _, c := range []struct {
		name string
		flag int
		want error
	}{
		{"none", os.O_RDWR, syscall.ENOENT},
		{"none/f", os.O_RDWR | os.O_CREATE, syscall.ENOENT},
		{"f/f", os.O_RDWR | os.O_CREATE, syscall.ENOTDIR},
		{"f", os.O_RDWR | os.O_CREATE | os.O_EXCL, syscall.EEXIST},
		{"dangling", os.O_RDWR | os.O_CREATE | os.O_EXCL, syscall.EEXIST},
		{"link", os.O_RDWR | os.O_CREATE | os.O_EXCL, syscall.EEXIST},
		{"link", os.O_RDONLY | syscall.O_NOFOLLOW, syscall.ELOOP},
		{"link", os.O_RDWR | os.O_CREATE | syscall.O_NOFOLLOW, syscall.ELOOP},
		{"f", os.O_RDONLY | syscall.O_DIRECTORY, syscall.ENOTDIR},
		{"dangling", os.O_RDONLY, syscall.ENOENT},
		{"link", os.O_RDWR, nil},
		{"f", os.O_RDWR | syscall.O_NOFOLLOW, nil},
		{"fresh", os.O_RDWR | os.O_CREATE | syscall.O_NOFOLLOW, nil},
		{"dangling", os.O_RDWR | os.O_CREATE, nil},
		{"fresh2", os.O_RDWR | os.O_CREATE | os.O_EXCL, nil},
	} {
		f, err := w.OpenFile(c.name, c.flag, 0o644)
		if err == nil {
			w.ok(f.Close())
		}
		if !errors.Is(err, c.want) {
			w.t.Errorf("open %s flags %#x: got %v, want %v", c.name, c.flag, err, c.want)
		}
	}
	w.has("f", "abc")
	w.has("made", "")
	w.ok(w.open("f", os.O_WRONLY|os.O_TRUNC).Close())
	w.has("f", "")
	_, err := w.OpenFile("g", os.O_RDWR|os.O_CREATE, 0o644|fs.ModeSetuid)
	w.fails(err, syscall.EINVAL)
	w.absent("g")
}

func directoriesAreNoFiles(w world) {
	w.put("d/", "")
	for _, flag := range []int{os.O_WRONLY, os.O_RDWR, os.O_RDONLY | os.O_CREATE, os.O_RDWR | os.O_CREATE} {
		_, err := w.OpenFile("d", flag, 0o644)
		w.fails(err, syscall.EISDIR)
	}
	_, err := disk.ReadFile(w, "d")
	w.fails(err, syscall.EISDIR)
	d := w.open("d", os.O_RDONLY|syscall.O_DIRECTORY)
	w.ok(d.Sync())
	w.ok(d.Close())
	w.fails(w.SyncDir("none"), syscall.ENOENT)
	w.put("f", "")
	w.fails(w.SyncDir("f"), syscall.ENOTDIR)
}
