package spill

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/scrfs/scrfs/internal/disk"
)

// both runs a test on the operating system's files and on memory.
func both(t *testing.T, test func(t *testing.T, cache, place disk.FS)) {
	t.Helper()
	t.Run("real", func(t *testing.T) {
		open := func() disk.FS {
			f, err := disk.Open(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			return f
		}
		test(t, open(), open())
	})
	t.Run("memory", func(t *testing.T) { test(t, disk.NewMem(), disk.NewMem()) })
}

// spilled lays a file of a dataset in the cache and spills it.
func spilled(t *testing.T, s *FS, name, at, text string) {
	t.Helper()
	if err := disk.MkdirAll(s.FS, "d/sub", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := disk.WriteFile(s.FS, name, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := s.Create(at)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt([]byte(text), 0); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.Replace(name, at); err != nil {
		t.Fatal(err)
	}
}

func want(t *testing.T, f disk.FS, name, text string) {
	t.Helper()
	if b, err := disk.ReadFile(f, name); err != nil || string(b) != text {
		t.Errorf("%s: got %q, %v, want %q", name, b, err, text)
	}
}

func gone(t *testing.T, f disk.FS, name string) {
	t.Helper()
	if _, err := f.Lstat(name); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%s: %v, want that it is gone", name, err)
	}
}

func TestASpilledFileLooksLikeAnyOther(t *testing.T) {
	both(t, func(t *testing.T, cache, place disk.FS) {
		s := New(cache, place, "/p/.scr")
		spilled(t, s, "d/sub/a", "spill.7/3/12", "bytes")
		sub, err := s.Sub("d")
		if err != nil {
			t.Fatal(err)
		}
		want(t, s, "d/sub/a", "bytes")
		want(t, sub, "sub/a", "bytes")
		if f, err := sub.OpenFile("sub/a", os.O_RDONLY|syscall.O_NOFOLLOW, 0); err != nil {
			t.Error(err)
		} else if err := f.Close(); err != nil {
			t.Error(err)
		}
		if fi, err := s.Lstat("d/sub/a"); err != nil || !fi.Mode().IsRegular() || fi.Size() != 5 || fi.Name() != "a" {
			t.Errorf("got %v, %v", fi, err)
		}
		list, err := s.ReadDir("d/sub")
		if err != nil || len(list) != 1 || list[0].Name() != "a" || !list[0].Type().IsRegular() {
			t.Errorf("got %v, %v", list, err)
		}
		when := time.Unix(1000, 0)
		if err := s.Chtimes("d/sub/a", time.Time{}, when); err != nil {
			t.Error(err)
		}
		if fi, err := place.Lstat("spill.7/3/12"); err != nil || !fi.ModTime().Equal(when) {
			t.Errorf("got %v, %v", fi, err)
		}
		if !s.Spilled("d/sub/a") || s.Spilled("d/sub") || s.Spilled("d/none") {
			t.Error("what is spilled is not known")
		}
		if _, err := s.OpenFile("d/sub/a", os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600); !errors.Is(err, fs.ErrExist) {
			t.Errorf("an exclusive creation gives %v", err)
		}
	})
}

func TestALinkTellsWhereThePlaceIs(t *testing.T) {
	cache, place := disk.NewMem(), disk.NewMem()
	spilled(t, New(cache, place, "/p/.scr"), "d/sub/a", "spill.7/3/12", "bytes")
	open := Opener(func(dir string) (disk.FS, error) {
		switch dir {
		case "/cache":
			return cache, nil
		case "/p/.scr":
			return place, nil
		}
		return nil, fs.ErrNotExist
	})
	s, err := open("/cache")
	if err != nil {
		t.Fatal(err)
	}
	want(t, s, "d/sub/a", "bytes")
}

func TestNamesOfSpilledFilesMoveAndGo(t *testing.T) {
	both(t, func(t *testing.T, cache, place disk.FS) {
		s := New(cache, place, "/p/.scr")
		spilled(t, s, "d/sub/a", "spill.7/3/12", "one")
		spilled(t, s, "d/sub/b", "spill.7/3/13", "two")
		if err := s.Rename("d/sub", "d/other"); err != nil {
			t.Fatal(err)
		}
		want(t, s, "d/other/a", "one")
		if err := s.Rename("d/other/a", "d/other/b"); err != nil {
			t.Fatal(err)
		}
		want(t, s, "d/other/b", "one")
		gone(t, place, "spill.7/3/13")
		if err := disk.RemoveAll(s, "d"); err != nil {
			t.Fatal(err)
		}
		gone(t, cache, "d")
		gone(t, place, "spill.7")
	})
}

func TestAFileIsLinkedNotCopied(t *testing.T) {
	both(t, func(t *testing.T, cache, place disk.FS) {
		s := New(cache, place, "/p/.scr")
		spilled(t, s, "d/sub/a", "spill.7/3/12", "bytes")
		if err := disk.MkdirAll(place, "stage.3", 0o700); err != nil {
			t.Fatal(err)
		}
		for range 2 { // a flush may be repeated
			if ok, err := s.LinkInto("d/sub/a", "stage.3/a"); !ok || err != nil {
				t.Fatalf("got %v, %v", ok, err)
			}
		}
		if ok, err := s.LinkInto("d/sub", "stage.3/b"); ok || err != nil {
			t.Errorf("a directory: got %v, %v", ok, err)
		}
		if err := s.Remove("d/sub/a"); err != nil {
			t.Fatal(err)
		}
		want(t, place, "stage.3/a", "bytes")
	})
}

func TestALinkElsewhereIsNotFollowed(t *testing.T) {
	both(t, func(t *testing.T, cache, place disk.FS) {
		s := New(cache, place, "/p/.scr")
		if err := disk.WriteFile(place, "index.scr", []byte("keep"), 0o600); err != nil {
			t.Fatal(err)
		}
		for name, target := range map[string]string{
			"up": "/p/.scr/spill.7/../index.scr", "beside": "/p/.scr/index.scr", "out": "/etc/passwd",
		} {
			if err := cache.Symlink(target, name); err != nil {
				t.Fatal(err)
			}
			if f, err := s.OpenFile(name, os.O_RDONLY, 0); err == nil {
				f.Close()
				t.Errorf("%s is followed", target)
			}
			if err := s.Remove(name); err != nil {
				t.Error(err)
			}
		}
		want(t, place, "index.scr", "keep")
	})
}

func TestACacheWithoutRoomForTheLink(t *testing.T) {
	both(t, func(t *testing.T, cache, place disk.FS) {
		full := true
		inner := disk.Inject(cache, func(op disk.Op) error {
			if full && op.Kind == disk.OpSymlink {
				full = false
				return syscall.ENOSPC
			}
			return nil
		})
		s := New(inner, place, "/p/.scr")
		spilled(t, s, "d/sub/a", "spill.7/3/12", "bytes")
		want(t, s, "d/sub/a", "bytes")
		if full {
			t.Error("the link was never refused")
		}
	})
}
