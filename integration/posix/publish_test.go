package posix

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestPublicationChangesNothingSeen looks at a dataset with the eyes of a
// program while it is written, when it is published, and when it has left the
// cache.
func TestPublicationChangesNothingSeen(t *testing.T) {
	m := startMount(t, "SCRFS_QUIET=100ms", "SCR_FLUSH=1", "SCR_CACHE_SIZE=1", "SCR_COPY_TYPE=SINGLE")
	dir := filepath.Join(m.dir, "ckpt.1")
	open := openNew(t, filepath.Join(m.dir, "ckpt.1"))
	mkdir(t, filepath.Join(dir, "sub"))
	for name, size := range map[string]int{"a": 0, "b": 1, "sub/c": 100_000} {
		write(t, filepath.Join(dir, name), pattern(size))
	}
	do(t, unix.Chmod(filepath.Join(dir, "a"), 0o4750))
	do(t, unix.Chmod(filepath.Join(dir, "sub"), 0o2770))
	do(t, unix.Chown(filepath.Join(dir, "b"), userID, otherGroup))
	do(t, unix.Symlink("sub/c", filepath.Join(dir, "link")))
	ts := []unix.Timespec{{Sec: 1_000_000_000}, {Sec: 1_100_000_000, Nsec: 5}}
	do(t, unix.UtimesNanoAt(unix.AT_FDCWD, filepath.Join(dir, "b"), ts, 0))
	before := seen(t, dir)
	do(t, open.Close())
	await(t, m, "ckpt.1", func(s state) bool { return s.Published })
	compare(t, "published", seen(t, dir), before, true)
	held, err := os.Open(filepath.Join(dir, "sub", "c"))
	do(t, err)
	defer held.Close()
	// The next checkpoint drives this one out of the cache.
	mkdir(t, filepath.Join(m.dir, "ckpt.2"))
	touch(t, filepath.Join(m.dir, "ckpt.2", "f"))
	await(t, m, "ckpt.2", func(s state) bool { return s.Published })
	for end := time.Now().Add(time.Minute); ; {
		if _, err := unix.Getxattr(dir, "user.scr.state", make([]byte, 100)); err == unix.ENODATA {
			break // the directory is the prefix's own
		}
		if time.Now().After(end) {
			t.Fatal("ckpt.1 does not leave the cache")
		}
	}
	compare(t, "evicted", seen(t, dir), before, false)
	got := make([]byte, 100_000)
	if _, err := held.ReadAt(got, 0); err != nil || string(got) != string(pattern(100_000)) {
		t.Errorf("a file open all the while: %v", err)
	}
	// Written again, it is the one on the prefix directory.
	write(t, filepath.Join(dir, "sub", "c"), []byte("new"))
	wantContent(t, filepath.Join(m.prefix, "ckpt.1", "sub", "c"), []byte("new"))
	if out, err := exec.Command("tar", "-C", m.dir, "-cf", "/dev/null", "ckpt.1").CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("tar: %v, %s", err, out)
	}
}

// openNew makes a directory and holds a file in it open, so that it does not
// end yet.
func openNew(t *testing.T, dir string) *os.File {
	t.Helper()
	mkdir(t, dir)
	f, err := os.Create(filepath.Join(dir, "open"))
	do(t, err)
	return f
}

// seen is what stat(2) says of a tree.
func seen(t *testing.T, dir string) map[string]unix.Stat_t {
	t.Helper()
	all := map[string]unix.Stat_t{}
	do(t, filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		if err == nil {
			all[path[len(dir):]] = lstat(t, path)
		}
		return err
	}))
	return all
}

// compare compares what is to stay: inode numbers while it is cached, times of
// modification of what is no directory.
func compare(t *testing.T, when string, got, want map[string]unix.Stat_t, sameIno bool) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s: %d names, want %d", when, len(got), len(want))
	}
	for name, w := range want {
		g := got[name]
		if g.Mode != w.Mode || g.Uid != w.Uid || g.Gid != w.Gid {
			t.Errorf("%s: %q has mode %o of %d:%d, want %o of %d:%d", when, name, g.Mode, g.Uid, g.Gid, w.Mode, w.Uid, w.Gid)
		}
		if w.Mode&unix.S_IFMT == unix.S_IFREG && (g.Size != w.Size || g.Mtim != w.Mtim) {
			t.Errorf("%s: %q has %d bytes of %v, want %d of %v", when, name, g.Size, g.Mtim, w.Size, w.Mtim)
		}
		if sameIno && g.Ino != w.Ino {
			t.Errorf("%s: %q is inode %d, was %d", when, name, g.Ino, w.Ino)
		}
	}
}

// state is what scrfs status says of a dataset.
type state struct {
	Name      string
	Published bool
}

func await(t *testing.T, m *mount, name string, ok func(state) bool) {
	t.Helper()
	var text string
	for end := time.Now().Add(time.Minute); time.Now().Before(end); {
		text = scrfs(t, "status", "--json", m.dir)
		var st struct{ Datasets []state }
		do(t, json.Unmarshal([]byte(text), &st))
		for _, d := range st.Datasets {
			if d.Name == name && ok(d) {
				return
			}
		}
	}
	t.Fatalf("%s does not get there:\n%s\n%s", name, text, m.log.String())
}
