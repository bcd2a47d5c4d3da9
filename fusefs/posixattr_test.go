package fusefs_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestTruncation(t *testing.T) {
	eachArea(t, func(t *testing.T, dir string) {
		file := filepath.Join(dir, "f")
		write(t, file, pattern(10_000))
		write(t, file, pattern(10)) // O_TRUNC
		wantContent(t, file, pattern(10))
		f := open(t, file, os.O_RDWR)
		if err := os.Chmod(file, 0o400); err != nil {
			t.Fatal(err)
		}
		if err := f.Truncate(5000); err != nil {
			t.Error(err)
		}
		if err := os.Truncate(file, 5); err != nil {
			t.Error(err)
		}
		wantContent(t, file, pattern(5))
	})
}

func TestTimesOwnerAndMode(t *testing.T) {
	eachArea(t, func(t *testing.T, dir string) {
		for _, name := range []string{"file", "dir"} {
			file := filepath.Join(dir, name)
			if name == "dir" {
				mkdir(t, file)
			} else {
				write(t, file, pattern(10))
			}
			at, mt := time.Unix(1_000_000_000, 123_456_789), time.Unix(1_200_000_000, 987_654_321)
			if err := os.Chtimes(file, at, mt); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(file, 0o750); err != nil {
				t.Error(err)
			}
			if err := os.Chown(file, 77, 88); err != nil {
				t.Error(err)
			}
			st := inodeOf(t, file)
			if st.Uid != 77 || st.Gid != 88 || st.Mode&0o7777 != 0o750 {
				t.Errorf("%s: %d:%d %o", name, st.Uid, st.Gid, st.Mode)
			}
			if got := time.Unix(st.Mtim.Unix()); !got.Equal(mt) {
				t.Errorf("%s: mtime %v, want %v", name, got, mt)
			}
			if got := time.Unix(st.Atim.Unix()); !got.Equal(at) {
				t.Errorf("%s: atime %v, want %v", name, got, at)
			}
		}
	})
}

func TestWritesMoveTheModificationTime(t *testing.T) {
	eachArea(t, func(t *testing.T, dir string) {
		file := filepath.Join(dir, "f")
		write(t, file, pattern(10))
		long := time.Unix(1_000_000_000, 0)
		if err := os.Chtimes(file, long, long); err != nil {
			t.Fatal(err)
		}
		f := open(t, file, os.O_WRONLY)
		if _, err := f.Write(pattern(20)); err != nil {
			t.Fatal(err)
		}
		if fi, err := f.Stat(); err != nil || fi.Size() != 20 || !fi.ModTime().After(long) {
			t.Errorf("after a write: %d bytes, %v, %v", fi.Size(), fi.ModTime(), err)
		}
	})
}

// TestWritesClearSetUserIDAsThePlainDirectoryDoes writes as an ordinary user
// and as root, who keeps the bits if he has CAP_FSETID.
func TestWritesClearSetUserIDAsThePlainDirectoryDoes(t *testing.T) {
	scripts := []string{"echo x >> %s", "echo x > %s", "truncate -s 3 %s", "fallocate -l 9000 %s"}
	modes := func(dir string, uid uint32) (got []string) {
		for d := dir; d != "/dev/shm"; d = filepath.Dir(d) {
			if err := os.Chmod(d, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		file := filepath.Join(dir, "ckpt")
		if !strings.HasSuffix(dir, "ckptd") {
			file = filepath.Join(dir, "plain")
		}
		for _, script := range scripts {
			for _, mode := range []uint32{0o6777, 0o2777, 0o4777} {
				write(t, file, pattern(10))
				if err := unix.Chmod(file, mode); err != nil {
					t.Fatal(err)
				}
				cmd := exec.Command("/bin/sh", "-c", strings.ReplaceAll(script, "%s", file))
				cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Fatalf("%s: %v %s", script, err, out)
				}
				got = append(got, fmt.Sprintf("%s: %o becomes %o", script, mode, inodeOf(t, file).Mode&0o7777))
			}
		}
		return got
	}
	for _, uid := range []uint32{0, 1234} {
		want := modes(scratch(t), uid)
		for _, cfg := range []serverConfig{{}, {NoPassthrough: true}} {
			cfg.AllowUID = 1234
			m := startMount(t, cfg)
			for _, dir := range []string{"d", "ckptd"} {
				got := modes(mkdir(t, filepath.Join(m.dir, dir)), uid)
				for i := range want {
					if got[i] != want[i] {
						t.Errorf("uid %d, %s, %+v: got %s, want %s", uid, dir, cfg, got[i], want[i])
					}
				}
			}
		}
	}
}

func TestExtendedAttributes(t *testing.T) {
	eachArea(t, func(t *testing.T, dir string) {
		file := filepath.Join(dir, "f")
		write(t, file, nil)
		for _, at := range []string{file, dir} {
			if err := unix.Setxattr(at, "user.one", []byte("1"), unix.XATTR_CREATE); err != nil {
				t.Fatal(err)
			}
			if err := unix.Setxattr(at, "user.two", nil, 0); err != nil {
				t.Fatal(err)
			}
			buf := make([]byte, 100)
			n, err := unix.Listxattr(at, buf)
			if got := string(buf[:max(n, 0)]); err != nil || !strings.Contains(got, "user.one\x00") || !strings.Contains(got, "user.two\x00") {
				t.Errorf("list: %q, %v", got, err)
			}
			if _, err := unix.Getxattr(at, "user.none", buf); err != unix.ENODATA {
				t.Errorf("absent: %v, want ENODATA", err)
			}
			if n, err := unix.Getxattr(at, "user.two", buf); n != 0 || err != nil {
				t.Errorf("empty: %d, %v", n, err)
			}
		}
	})
}
