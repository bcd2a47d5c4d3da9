package fusefs_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

func mkdir(tb testing.TB, dir string) string {
	tb.Helper()
	if err := os.Mkdir(dir, 0o755); err != nil {
		tb.Fatal(err)
	}
	return dir
}

func names(tb testing.TB, dir string) []string {
	tb.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		tb.Fatal(err)
	}
	list := []string{}
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}

func wantErr(tb testing.TB, what string, got error, want error) {
	tb.Helper()
	if !errors.Is(got, want) {
		tb.Errorf("%s: got %v, want %v", what, got, want)
	}
}

func TestListingMergesBothAndHidesSCR(t *testing.T) {
	m := startMount(t, serverConfig{})
	mkdir(t, filepath.Join(m.prefix, ".scr"))
	write(t, filepath.Join(m.prefix, "a.in"), nil)
	write(t, filepath.Join(m.dir, "b.log"), nil)
	write(t, filepath.Join(m.dir, "ckpt.1"), pattern(10))
	write(t, filepath.Join(m.prefix, "ckpt.1"), pattern(99)) // behind the mount's back: not seen
	mkdir(t, filepath.Join(m.dir, "ckpt.d"))
	if got, want := names(t, m.dir), []string{"a.in", "b.log", "ckpt.1", "ckpt.d"}; !slices.Equal(got, want) {
		t.Errorf("names: got %v, want %v", got, want)
	}
	wantContent(t, filepath.Join(m.dir, "ckpt.1"), pattern(10))
	_, err := os.Stat(filepath.Join(m.dir, ".scr"))
	wantErr(t, "stat of .scr", err, syscall.ENOENT)
	wantErr(t, "mkdir of .scr", os.Mkdir(filepath.Join(m.dir, ".scr"), 0o755), syscall.EPERM)
	wantErr(t, "mkdir of .scr in a dataset", os.Mkdir(filepath.Join(m.dir, "ckpt.d", ".scr"), 0o755), syscall.EPERM)
	if st := inodeOf(t, filepath.Join(m.dir, "ckpt.1")); st.Ino>>63 != 1 {
		t.Errorf("inode number of a cached file: got %#x, want bit 63 set", st.Ino)
	}
}

func inodeOf(tb testing.TB, file string) unix.Stat_t {
	tb.Helper()
	var st unix.Stat_t
	if err := unix.Lstat(file, &st); err != nil {
		tb.Fatalf("%s: %v", file, err)
	}
	return st
}

func TestExistingPrefixFileStaysThereThoughItsNameIsClaimed(t *testing.T) {
	m := startMount(t, serverConfig{})
	write(t, filepath.Join(m.prefix, "ckpt.old"), pattern(10))
	write(t, filepath.Join(m.dir, "ckpt.old"), pattern(20))
	wantContent(t, filepath.Join(m.prefix, "ckpt.old"), pattern(20))
	_, err := os.OpenFile(filepath.Join(m.dir, "ckpt.old"), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	wantErr(t, "exclusive create", err, syscall.EEXIST)
	wantErr(t, "mkdir", os.Mkdir(filepath.Join(m.dir, "ckpt.old"), 0o755), syscall.EEXIST)
}

func TestUnlinkedFileStaysUsableWhileOpen(t *testing.T) {
	for _, cfg := range []serverConfig{{}, {NoPassthrough: true}, {Forgetful: true}, {Descriptors: 1}} {
		for _, name := range []string{"plain", "ckpt"} {
			t.Run(fmt.Sprintf("%s %+v", name, cfg), func(t *testing.T) {
				m := startMount(t, cfg)
				file := filepath.Join(m.dir, name)
				write(t, file, pattern(100))
				f, err := os.OpenFile(file, os.O_RDWR, 0)
				if err != nil {
					t.Fatal(err)
				}
				defer f.Close()
				if err := os.Remove(file); err != nil {
					t.Fatal(err)
				}
				if _, err := f.WriteAt([]byte("after"), 200); err != nil {
					t.Error(err)
				}
				fi, err := f.Stat()
				if err != nil {
					t.Fatal(err)
				}
				if got := fi.Size(); got != 205 {
					t.Errorf("size: got %d, want 205", got)
				}
				if got := fi.Sys().(*syscall.Stat_t).Nlink; got != 0 {
					t.Errorf("links: got %d, want 0", got)
				}
				got := make([]byte, 5)
				if _, err := f.ReadAt(got, 200); err != nil || string(got) != "after" {
					t.Errorf("read: %q, %v", got, err)
				}
				if n := names(t, m.dir); len(n) != 0 {
					t.Errorf("names left: %v", n)
				}
				if err := f.Truncate(50); err != nil {
					t.Error(err)
				}
				if err := f.Chmod(0o600); err != nil {
					t.Error(err)
				}
				if fi, err := f.Stat(); err != nil || fi.Size() != 50 || fi.Mode() != 0o600 {
					t.Errorf("after truncation and chmod: %d bytes, %v, %v", fi.Size(), fi.Mode(), err)
				}
			})
		}
	}
}

// TestRename goes through what may be moved where. "p" is a name of the
// prefix, "ckpt..." one of the catalogue.
func TestRename(t *testing.T) {
	const noReplace, exchange = unix.RENAME_NOREPLACE, unix.RENAME_EXCHANGE
	for _, c := range []struct {
		old, new string
		flags    uint
		want     error
		names    []string // at the top, if it works
	}{
		{"p1", "p2", 0, nil, []string{"ckptdir", "ckptdir2", "ckptf", "ckptg", "p2", "pdir", "pfull"}},
		{"p1", "pnew", 0, nil, []string{"ckptdir", "ckptdir2", "ckptf", "ckptg", "p2", "pdir", "pfull", "pnew"}},
		{"p1", "p2", noReplace, syscall.EEXIST, nil},
		{"p1", "p2", exchange, nil, []string{"ckptdir", "ckptdir2", "ckptf", "ckptg", "p1", "p2", "pdir", "pfull"}},
		{"p1", "pdir", 0, syscall.EISDIR, nil},
		{"pdir", "p1", 0, syscall.ENOTDIR, nil},
		{"pdir", "pfull", 0, syscall.ENOTEMPTY, nil},
		{"pnone", "p1", 0, syscall.ENOENT, nil},
		{"p1", "ckptf", 0, nil, []string{"ckptdir", "ckptdir2", "ckptf", "ckptg", "p2", "pdir", "pfull"}},
		{"p1", "ckptf", noReplace, syscall.EEXIST, nil},
		{"p1", "ckptf", exchange, syscall.EXDEV, nil},
		{"p1", "ckptdir", 0, syscall.EISDIR, nil},
		{"p1", "ckptdir/x", 0, syscall.EXDEV, nil},
		{"pnone", "ckptdir/x", 0, syscall.ENOENT, nil},
		{"pdir", "ckptf", 0, syscall.ENOTDIR, nil},
		{"pdir", "ckptdir", 0, syscall.ENOTEMPTY, nil},
		{"pdir", "ckptdir2", 0, nil, []string{"ckptdir", "ckptdir2", "ckptf", "ckptg", "p1", "p2", "pfull"}},
		{"ckptf", "ckptg", 0, nil, []string{"ckptdir", "ckptdir2", "ckptg", "p1", "p2", "pdir", "pfull"}},
		{"ckptf", "ckptg", noReplace, syscall.EEXIST, nil},
		{"ckptf", "ckptg", exchange, nil, []string{"ckptdir", "ckptdir2", "ckptf", "ckptg", "p1", "p2", "pdir", "pfull"}},
		{"ckptf", "ckptdir/x", 0, nil, []string{"ckptdir", "ckptdir2", "ckptg", "p1", "p2", "pdir", "pfull"}},
		{"ckptf", "pnew", 0, nil, []string{"ckptdir", "ckptdir2", "ckptg", "p1", "p2", "pdir", "pfull", "pnew"}},
		{"ckptf", "p1", 0, nil, []string{"ckptdir", "ckptdir2", "ckptg", "p1", "p2", "pdir", "pfull"}},
		{"ckptf", "p1", noReplace, syscall.EEXIST, nil},
		{"ckptf", "p1", exchange, syscall.EXDEV, nil},
		{"ckptf", "pdir/x", 0, nil, []string{"ckptdir", "ckptdir2", "ckptg", "p1", "p2", "pdir", "pfull"}},
		{"ckptdir/in", "ckptf", 0, nil, []string{"ckptdir", "ckptdir2", "ckptf", "ckptg", "p1", "p2", "pdir", "pfull"}},
		{"ckptdir", "ckptdir2", 0, nil, []string{"ckptdir2", "ckptf", "ckptg", "p1", "p2", "pdir", "pfull"}},
	} {
		t.Run(fmt.Sprintf("%s to %s %d", c.old, c.new, c.flags), func(t *testing.T) {
			m := startMount(t, serverConfig{})
			at := func(name string) string { return filepath.Join(m.dir, name) }
			for _, dir := range []string{"pdir", "pfull", "ckptdir", "ckptdir2"} {
				mkdir(t, at(dir))
			}
			for _, file := range []string{"p1", "p2", "ckptf", "ckptg", "pfull/in", "ckptdir/in"} {
				write(t, at(file), []byte(file))
			}
			before := names(t, m.dir)
			// Open files are not disturbed by any of it.
			old, err := os.Open(at(c.old))
			if err == nil {
				defer old.Close()
			}
			err = unix.Renameat2(unix.AT_FDCWD, at(c.old), unix.AT_FDCWD, at(c.new), c.flags)
			if err != c.want && (err != nil || c.want != nil) {
				t.Fatalf("got %v, want %v", err, c.want)
			}
			want := c.names
			if c.want != nil {
				want = before
			}
			if got := names(t, m.dir); !slices.Equal(got, want) {
				t.Errorf("names: got %v, want %v", got, want)
			}
			if c.want == nil && old != nil && inodeOf(t, at(c.new)).Mode&syscall.S_IFMT == syscall.S_IFREG {
				wantContent(t, at(c.new), []byte(c.old))
				got := make([]byte, 20)
				if n, err := old.ReadAt(got, 0); string(got[:n]) != c.old {
					t.Errorf("open file: got %q, %v, want %q", got[:n], err, c.old)
				}
			}
			if c.want == nil && c.flags == 0 {
				if _, err := os.Lstat(at(c.old)); !errors.Is(err, syscall.ENOENT) {
					t.Errorf("old name: got %v, want ENOENT", err)
				}
			}
		})
	}
}

func TestRenamedPrefixDirectoryTakesCatalogueNamesAlong(t *testing.T) {
	m := startMount(t, serverConfig{})
	mkdir(t, filepath.Join(m.dir, "run"))
	mkdir(t, filepath.Join(m.dir, "run", "deep"))
	write(t, filepath.Join(m.dir, "run", "deep", "ckpt.1"), pattern(50))
	wantErr(t, "rmdir of a directory with a cached file in it", syscall.Rmdir(filepath.Join(m.dir, "run", "deep")), syscall.ENOTEMPTY)
	if err := os.Rename(filepath.Join(m.dir, "run"), filepath.Join(m.dir, "done")); err != nil {
		t.Fatal(err)
	}
	wantContent(t, filepath.Join(m.dir, "done", "deep", "ckpt.1"), pattern(50))
	_, err := os.Stat(filepath.Join(m.dir, "run", "deep", "ckpt.1"))
	wantErr(t, "old path", err, syscall.ENOENT)
}

func TestLinks(t *testing.T) {
	m := startMount(t, serverConfig{})
	at := func(name string) string { return filepath.Join(m.dir, name) }
	mkdir(t, at("ckptdir"))
	mkdir(t, at("dir"))
	write(t, at("plain"), pattern(5))
	write(t, at("ckpt"), pattern(6))
	for _, c := range []struct {
		old, new string
		want     error
	}{
		{"plain", "dir/second", nil},
		{"plain", "ckptdir/second", syscall.EXDEV},
		{"plain", "ckpt", syscall.EEXIST},
		{"ckpt", "ckptdir/second", nil},
		{"ckpt", "plain", syscall.EEXIST},
		{"dir", "dir2", syscall.EPERM},
	} {
		err := syscall.Link(at(c.old), at(c.new))
		if err != c.want && (err != nil || c.want != nil) {
			t.Errorf("link %s %s: got %v, want %v", c.old, c.new, err, c.want)
		}
		if c.want == nil {
			a, b := inodeOf(t, at(c.old)), inodeOf(t, at(c.new))
			if a.Ino != b.Ino || a.Nlink != 2 {
				t.Errorf("link %s %s: inodes %d and %d, %d links", c.old, c.new, a.Ino, b.Ino, a.Nlink)
			}
		}
	}
	// The node that was reached by its second name lives on under the first.
	if err := os.Remove(at("dir/second")); err != nil {
		t.Fatal(err)
	}
	wantContent(t, at("plain"), pattern(5))
}
