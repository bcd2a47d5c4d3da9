package disk

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

func realTree(t *testing.T) (*Real, string) {
	t.Helper()
	dir := t.TempDir()
	f, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	r := f.(*Real)
	t.Cleanup(func() { r.Close() })
	return r, dir
}

func TestNothingOutsideIsTouchedThroughAnAbsoluteLink(t *testing.T) {
	r, _ := realTree(t)
	outside := t.TempDir()
	secret := filepath.Join(outside, "secret")
	if err := os.WriteFile(secret, []byte("s"), 0o600); err != nil {
		t.Fatal(err)
	}
	for link, target := range map[string]string{"d": outside, "f": secret, "n": filepath.Join(outside, "new")} {
		if err := r.Symlink(target, link); err != nil {
			t.Fatal(err)
		}
	}
	for call, err := range map[string]error{
		"write through": withCreate(r, "f"),
		"create":        withCreate(r, "n"),
		"create below":  withCreate(r, "d/new"),
		"remove":        r.Remove("d/secret"),
		"rename out":    r.Rename("f", "d/f"),
		"rename in":     r.Rename("d/secret", "stolen"),
		"noreplace":     r.RenameNoReplace("d/secret", "stolen"),
		"exchange":      r.Exchange("d/secret", "f"),
		"link":          r.Link("d/secret", "stolen"),
		"chmod":         r.Chmod("f", 0o777),
		"syncdir":       r.SyncDir("d"),
		"replace below": WriteFile(r, "d/secret", []byte("x"), 0o600),
	} {
		if !errors.Is(err, ErrEscape) {
			t.Errorf("%s: got %v, want ErrEscape", call, err)
		}
	}
	if err := RemoveAll(r, "d"); err != nil { // removes the link
		t.Error(err)
	}
	if b, err := os.ReadFile(secret); string(b) != "s" {
		t.Errorf("secret is now %q, %v", b, err)
	}
	if list, err := os.ReadDir(outside); len(list) != 1 {
		t.Errorf("outside: got %v, %v", list, err)
	}
}

func withCreate(f FS, name string) error {
	o, err := f.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	return o.Close()
}

// Where RENAME_NOREPLACE is missing the fallback must keep its promise.
func TestRenameByLinkNeverReplaces(t *testing.T) {
	r, _ := realTree(t)
	why := errors.New("no RENAME_NOREPLACE here")
	for _, n := range []string{"a", "b"} {
		if err := WriteFile(r, n, []byte(n), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, n := range []string{"d", "e"} {
		if err := r.Mkdir(n, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.Symlink("nowhere", "l"); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		from, to string
		want     error
	}{
		{"a", "b", fs.ErrExist}, {"a", "d", fs.ErrExist}, {"d", "e", fs.ErrExist}, {"d", "a", fs.ErrExist}, {"a", "l", fs.ErrExist},
		{"none", "x", fs.ErrNotExist}, {"a", "../x", ErrEscape}, {"d", "d/x", why},
		{"a", "c", nil}, {"d", "e/d", nil}, {"l", "m", nil},
	} {
		if err := r.renameByLink(c.from, c.to, why); !errors.Is(err, c.want) {
			t.Errorf("%s to %s: got %v, want %v", c.from, c.to, err, c.want)
		}
	}
	for name, want := range map[string]bool{"a": false, "b": true, "c": true, "d": false, "e/d": true, "l": false, "m": true} {
		if got, err := Exists(r, name); got != want || err != nil {
			t.Errorf("%s: got %v, %v, want %v", name, got, err, want)
		}
	}
	if b, err := ReadFile(r, "b"); string(b) != "b" {
		t.Errorf("b: got %q, %v", b, err)
	}
}

func TestDescriptorIsRawAndNotInherited(t *testing.T) {
	r, _ := realTree(t)
	for _, flag := range []int{os.O_RDWR | os.O_CREATE, os.O_RDWR | unix.O_NOFOLLOW} {
		f, err := r.OpenFile("f", flag, 0o644)
		if err != nil {
			t.Fatal(err)
		}
		fd, ok := f.Fd()
		flags, err := unix.FcntlInt(fd, unix.F_GETFD, 0)
		if !ok || err != nil || flags&unix.FD_CLOEXEC == 0 {
			t.Errorf("got %v, flags %#x, %v", ok, flags, err)
		}
		if n, err := unix.Pwrite(int(fd), []byte("raw"), 0); n != 3 || err != nil {
			t.Errorf("pwrite: %d, %v", n, err)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestOpenRefusesWhatIsNoDirectory(t *testing.T) {
	dir := t.TempDir()
	file, fifo := filepath.Join(dir, "file"), filepath.Join(dir, "fifo")
	if err := errors.Join(os.WriteFile(file, nil, 0o644), unix.Mkfifo(fifo, 0o644)); err != nil {
		t.Fatal(err)
	}
	r, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]error{"file": syscall.ENOTDIR, "fifo": syscall.ENOTDIR, "none": fs.ErrNotExist} {
		_, err := Open(filepath.Join(dir, name))
		var pe *fs.PathError
		if !errors.Is(err, want) || !errors.As(err, &pe) || pe.Path != filepath.Join(dir, name) {
			t.Errorf("open %s: got %v, want %v", name, err, want)
		}
		if _, err := r.Sub(name); !errors.Is(err, want) {
			t.Errorf("sub %s: got %v, want %v", name, err, want)
		}
	}
}

func TestProcHasATypeAndNothingToSync(t *testing.T) {
	f, err := Open("/proc")
	if err != nil {
		t.Fatal(err)
	}
	if u, err := f.Usage(); err != nil || u.FSType != "0x9fa0" {
		t.Errorf("got %+v, %v", u, err)
	}
	if err := f.SyncDir("."); err != nil { // EINVAL from the kernel: nothing to sync
		t.Errorf("syncdir: got %v", err)
	}
}

func TestOpenFdErrorsNameTheDirectory(t *testing.T) {
	fd, err := unix.Open(t.TempDir(), unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	f, err := OpenFd(fd, "/p/sim1")
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(f.Mkdir("d", 0o755), WriteFile(f, "d/f", nil, 0o644)); err != nil {
		t.Fatal(err)
	}
	view, err := f.Sub("d")
	if err != nil {
		t.Fatal(err)
	}
	o, err := view.OpenFile("f", os.O_RDONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	var pe *fs.PathError
	if _, err := o.Write([]byte("x")); !errors.As(err, &pe) || pe.Path != "/p/sim1/d/f" {
		t.Errorf("got %v, want the path /p/sim1/d/f", err)
	}
}
