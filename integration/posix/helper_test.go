package posix

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// call is one system call and the error it is to give; nil for none.
type call struct {
	what string
	want error
	do   func() error
}

func try(t *testing.T, calls ...call) {
	t.Helper()
	for _, c := range calls {
		if got := c.do(); !errors.Is(got, c.want) {
			t.Errorf("%s: %v, want %v", c.what, said(got), said(c.want))
		}
	}
}

func said(err error) string {
	var errno unix.Errno
	switch {
	case err == nil:
		return "no error"
	case errors.As(err, &errno):
		return unix.ErrnoName(errno)
	}
	return err.Error()
}

// do fails the test if something that is to work does not.
func do(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, path string, data []byte) {
	t.Helper()
	do(t, os.WriteFile(path, data, 0o666))
}

func touch(t *testing.T, path string) string {
	t.Helper()
	write(t, path, []byte("x"))
	return path
}

func mkdir(t *testing.T, path string) string {
	t.Helper()
	do(t, os.Mkdir(path, 0o777))
	return path
}

func wantContent(t *testing.T, path string, want []byte) {
	t.Helper()
	got, err := os.ReadFile(path)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s: %d bytes, %v; want %d others", path, len(got), err, len(want))
	}
}

func lstat(t *testing.T, path string) unix.Stat_t {
	t.Helper()
	var st unix.Stat_t
	if err := unix.Lstat(path, &st); err != nil {
		t.Fatalf("lstat %s: %v", path, err)
	}
	return st
}

func open(t *testing.T, path string, flags int) *os.File {
	t.Helper()
	f, err := os.OpenFile(path, flags, 0o666)
	do(t, err)
	t.Cleanup(func() { f.Close() })
	return f
}

// tryOpen opens and closes.
func tryOpen(path string, flags int) error {
	fd, err := unix.Open(path, flags|unix.O_CLOEXEC, 0o666)
	if err != nil {
		return err
	}
	return unix.Close(fd)
}

// as runs f as an ordinary user with a group and no others. The thread is not
// used again.
func as(t *testing.T, uid int, gids []int, f func()) {
	t.Helper()
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends
		done <- func() error {
			if err := become(uid, gids); err != nil {
				return err
			}
			f()
			return nil
		}()
	}()
	do(t, <-done)
}

// become changes the calling thread alone.
func become(uid int, gids []int) error {
	list := make([]uint32, len(gids))
	for i, g := range gids {
		list[i] = uint32(g)
	}
	if _, _, errno := unix.RawSyscall(unix.SYS_SETGROUPS, uintptr(len(list)), uintptr(unsafe.Pointer(&list[0])), 0); errno != 0 {
		return fmt.Errorf("setgroups: %w", errno)
	}
	gid, id := uintptr(gids[0]), uintptr(uid)
	if _, _, errno := unix.RawSyscall(unix.SYS_SETRESGID, gid, gid, gid); errno != 0 {
		return fmt.Errorf("setresgid: %w", errno)
	}
	if _, _, errno := unix.RawSyscall(unix.SYS_SETRESUID, id, id, id); errno != 0 {
		return fmt.Errorf("setresuid: %w", errno)
	}
	return nil
}

// kinds of things a name can be.
var kinds = map[string]func(path string) error{
	"file":    func(p string) error { return os.WriteFile(p, []byte("x"), 0o666) },
	"dir":     func(p string) error { return unix.Mkdir(p, 0o777) },
	"symlink": func(p string) error { return unix.Symlink("nowhere", p) },
	"fifo":    func(p string) error { return unix.Mkfifo(p, 0o666) },
	"socket":  func(p string) error { return unix.Mknod(p, unix.S_IFSOCK|0o666, 0) },
}

func makeKind(t *testing.T, kind, path string) string {
	t.Helper()
	do(t, kinds[kind](path))
	return path
}

func kindOf(t *testing.T, path string) string {
	t.Helper()
	switch lstat(t, path).Mode & unix.S_IFMT {
	case unix.S_IFREG:
		return "file"
	case unix.S_IFDIR:
		return "dir"
	case unix.S_IFLNK:
		return "symlink"
	case unix.S_IFIFO:
		return "fifo"
	case unix.S_IFSOCK:
		return "socket"
	}
	return "?"
}

// long are names at and beyond what one may have.
var (
	longest = strings.Repeat("n", 255)
	tooLong = strings.Repeat("n", 256)
)

func itoa(n int) string { return strconv.Itoa(n) }

func pattern(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i*7 + i>>8*13 + 1)
	}
	return b
}
