package disktest

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/scrfs/scrfs/internal/disk"
)

var someTime = time.Unix(1234567890, 123456789)

func attributes(w world) {
	w.put("f", "abc")
	w.ok(w.Symlink("f", "l"))
	w.ok(w.Chmod("l", 0o640|fs.ModeSetgid))
	w.ok(w.Chtimes("l", someTime, someTime.Add(time.Second)))
	w.ok(w.Chtimes("f", time.Time{}, time.Time{}))
	fi, err := w.Stat("f")
	w.ok(err)
	st := fi.Sys().(*syscall.Stat_t)
	equal(w, "mode", fi.Mode(), 0o640|fs.ModeSetgid)
	equal(w, "raw mode", st.Mode, syscall.S_IFREG|syscall.S_ISGID|0o640)
	equal(w, "mtime", fi.ModTime().UnixNano(), someTime.Add(time.Second).UnixNano())
	equal(w, "atime", st.Atim.Nano(), someTime.UnixNano())
	equal(w, "name", fi.Name(), "f")
	equal(w, "size", st.Size, 3)
	w.ok(w.Chown("f", -1, -1))
	w.ok(w.Chown("f", int(st.Uid), int(st.Gid)))
	w.fails(w.Chmod("none", 0o600), syscall.ENOENT)
	w.put("f", "abcd")
	fi, err = w.Stat("f")
	w.ok(err)
	equal(w, "write moves mtime", fi.ModTime().After(someTime.Add(time.Second)), true)
	w.ok(w.Mkdir("d", 0o700))
	fi, err = w.Stat("d")
	w.ok(err)
	equal(w, "directory", fi.Mode(), 0o700|fs.ModeDir)
	w.ok(w.Chmod("d", 0o711|fs.ModeSticky))
	fi, err = w.Stat("d")
	w.ok(err)
	equal(w, "directory", fi.Mode(), 0o711|fs.ModeDir|fs.ModeSticky)
}

func sub(w world) {
	w.put("a/", "")
	w.put("a/b/", "")
	w.put("secret", "s")
	inner, err := w.Sub("a/b")
	w.ok(err)
	v := world{inner, w.t}
	v.put("f", "abc")
	w.has("a/b/f", "abc")
	w.ok(v.Symlink("../../secret", "up"))
	w.has("a/b/up", "s") // from outside the link stays inside
	_, err = disk.ReadFile(v, "up")
	v.fails(err, disk.ErrEscape)
	w.ok(w.Rename("a", "moved"))
	v.has("f", "abc")
	for _, n := range []string{"secret", "none"} {
		_, err := w.Sub(n)
		if !errors.Is(err, syscall.ENOTDIR) && !errors.Is(err, syscall.ENOENT) {
			w.t.Errorf("sub %s: got %v", n, err)
		}
	}
	w.ok(disk.RemoveAll(w, "moved"))
	w.fails(v.Mkdir("x", 0o755), syscall.ENOENT)
	_, err = v.OpenFile("x", os.O_RDWR|os.O_CREATE, 0o644)
	w.fails(err, syscall.ENOENT)
}

func locks(w world) {
	a, err := w.Lock("l", false)
	w.ok(err)
	b, err := w.Lock("l", false)
	w.ok(err)
	fi, err := w.Stat("l")
	w.ok(err)
	equal(w, "mode", fi.Mode(), 0o600)
	var released atomic.Bool
	got := make(chan error)
	go func() {
		x, err := w.Lock("l", true)
		if err == nil && !released.Load() {
			err = errors.New("exclusive beside shared")
		}
		if err == nil {
			err = x.Close()
		}
		got <- err
	}()
	w.ok(a.Close())
	other, err := w.Lock("other", true) // another file does not wait
	w.ok(err)
	w.ok(other.Close())
	released.Store(true)
	w.ok(b.Close())
	w.ok(<-got)
	w.fails(b.Close(), fs.ErrClosed)

	const each = 50
	var holders atomic.Int32
	done := make(chan error)
	for range 4 {
		go func() {
			var err error
			for i := 0; i < each && err == nil; i++ {
				var l io.Closer
				if l, err = w.Lock("l", true); err != nil {
					break
				}
				if holders.Add(1) != 1 {
					err = errors.New("two exclusive holders")
				}
				holders.Add(-1)
				err = errors.Join(err, l.Close())
			}
			done <- err
		}()
	}
	for range 4 {
		w.ok(<-done)
	}
}

// lockReplaced: writers that replace the very file they lock lose no update.
func lockReplaced(w world) {
	const each = 20
	done := make(chan error)
	for range 4 {
		go func() {
			var err error
			for i := 0; i < each && err == nil; i++ {
				err = appendLocked(w)
			}
			done <- err
		}()
	}
	for range 4 {
		w.ok(<-done)
	}
	w.has("index", strings.Repeat("+", 4*each))
}

func appendLocked(f disk.FS) error {
	l, err := f.Lock("index", true)
	if err != nil {
		return err
	}
	b, err := disk.ReadFile(f, "index")
	if err == nil {
		err = disk.WriteFile(f, "index", append(b, '+'), 0o644)
	}
	return errors.Join(err, l.Close())
}

func usage(w world) {
	u, err := w.Usage()
	w.ok(err)
	if u.TotalBytes <= 0 || u.FreeBytes < 0 || u.FreeBytes > u.TotalBytes || u.FSType == "" {
		w.t.Errorf("got %+v", u)
	}
	fi, err := w.Stat(".")
	w.ok(err)
	equal(w, "device", u.Device, uint64(fi.Sys().(*syscall.Stat_t).Dev))
}

func errorsNamePath(w world) {
	w.put("d/", "")
	view, err := w.Sub("d")
	w.ok(err)
	_, err = view.OpenFile("sub/none", os.O_RDONLY, 0)
	var pe *fs.PathError
	if !errors.As(err, &pe) || !strings.HasSuffix(pe.Path, "d/sub/none") {
		w.t.Errorf("got %#v, want a PathError of d/sub/none", err)
	}
	equal(w, "count of the name", strings.Count(err.Error(), "none"), 1)
	err = view.Rename("old", "new")
	var le *os.LinkError
	if !errors.As(err, &le) || !strings.HasSuffix(le.Old, "d/old") || !strings.HasSuffix(le.New, "d/new") {
		w.t.Errorf("got %#v, want a LinkError of d/old and d/new", err)
	}
}

func helpers(w world) {
	w.ok(disk.MkdirAll(w, "a/b/c", 0o755))
	w.ok(disk.MkdirAll(w, "a/b/c/", 0o755))
	w.ok(disk.MkdirAll(w, ".", 0o755))
	w.put("a/f", "abc")
	w.fails(disk.MkdirAll(w, "a/f", 0o755), syscall.ENOTDIR)
	w.fails(disk.MkdirAll(w, "a/f/x", 0o755), syscall.ENOTDIR)
	w.put("keep", "k")
	w.ok(w.Symlink("../../keep", "a/b/l"))
	w.ok(w.Symlink("nowhere", "dangling"))
	for name, want := range map[string]bool{"a/f": true, "a/b": true, "dangling": true, "none": false, "none/x": false} {
		ok, err := disk.Exists(w, name)
		w.ok(err)
		equal(w, "exists "+name, ok, want)
	}
	w.ok(disk.WriteFile(w, "a/f", []byte("new"), 0o600))
	w.has("a/f", "new")
	w.fails(disk.WriteFile(w, "a/b", []byte("new"), 0o600), syscall.EISDIR)
	w.fails(disk.WriteFile(w, "none/x", nil, 0o600), syscall.ENOENT)
	equal(w, "names", w.names("a"), "d b/ - f ")
	w.ok(disk.RemoveAll(w, "a"))
	w.ok(disk.RemoveAll(w, "a"))
	w.ok(disk.RemoveAll(w, "dangling"))
	equal(w, "names", w.names("."), "- keep ")
	w.has("keep", "k")
}
