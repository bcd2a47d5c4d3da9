package posix

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// The user who is served by the mounts, besides root.
const (
	userName = "nobody"
	userID   = 65534
)

// scrfsPath is the command under test, built by TestMain.
var scrfsPath string

func TestMain(m *testing.M) {
	if path := os.Getenv(lockEnv); path != "" {
		lockAndSay(path)
		return
	}
	code, err := buildAndRun(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func buildAndRun(m *testing.M) (int, error) {
	syscall.Umask(0)
	bin, err := os.MkdirTemp("", "scrfs-posix-")
	if err != nil {
		return 1, err
	}
	defer os.RemoveAll(bin)
	scrfsPath = filepath.Join(bin, "scrfs")
	if out, err := exec.Command("go", "build", "-o", scrfsPath, "../../cmd/scrfs").CombinedOutput(); err != nil {
		return 1, fmt.Errorf("build: %w\n%s", err, out)
	}
	return m.Run(), nil
}

// needMount skips a test where nothing can be mounted.
func needMount(t *testing.T) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("root is needed")
	}
	if _, err := os.Stat("/dev/fuse"); err != nil {
		t.Skip(err)
	}
}

// scratch is a directory in memory that everybody may search.
func scratch(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "scrfs-posix-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// mount is a running scrfs.
type mount struct {
	dir    string // where it is seen
	prefix string // what lies beneath
	cmd    *exec.Cmd
	log    lockedBuffer
}

// startMount mounts an empty prefix directory. It is unmounted at the end of
// the test, which fails if the daemon had anything to complain of.
func startMount(t *testing.T, settings ...string) *mount {
	t.Helper()
	needMount(t)
	base := scratch(t)
	m := &mount{dir: filepath.Join(base, "mnt"), prefix: filepath.Join(base, "prefix")}
	for _, dir := range []string{m.dir, m.prefix, filepath.Join(base, "cache"), filepath.Join(base, "control")} {
		if err := os.Mkdir(dir, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	args := []string{
		"mount", "--foreground", "--prefix", m.prefix, "--mountpoint", m.dir, "--job-id", "posix", "--user", userName,
		"--cache-base", filepath.Join(base, "cache"), "--control-base", filepath.Join(base, "control"),
	}
	for _, s := range settings {
		args = append(args, "--set", s)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	// The daemon must not outlive a test that is killed. The signal comes with
	// the end of the thread that started it, so that has to last.
	runtime.LockOSThread()
	m.cmd = exec.Command(scrfsPath, args...)
	m.cmd.Env = append(os.Environ(), "SCRFS_INTERNAL_READY_FD=3")
	m.cmd.ExtraFiles = []*os.File{w}
	m.cmd.Stdout, m.cmd.Stderr = &m.log, &m.log
	m.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	if err := errors.Join(m.cmd.Start(), w.Close()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.stop(t); runtime.UnlockOSThread() })
	answer, err := io.ReadAll(r)
	if err != nil || string(answer) != "ok\n" {
		t.Fatalf("mount: %s%v\n%s", answer, err, m.log.String())
	}
	return m
}

// scrfs runs the command.
func scrfs(t *testing.T, args ...string) string {
	t.Helper()
	out, err := exec.Command(scrfsPath, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("scrfs %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

func (m *mount) stop(t *testing.T) {
	if err := m.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Error(err)
	}
	end := time.AfterFunc(time.Minute, func() { m.cmd.Process.Kill() })
	defer end.Stop()
	if err := m.cmd.Wait(); err != nil {
		t.Errorf("daemon: %v", err)
	}
	for line := range strings.Lines(m.log.String()) {
		if strings.Contains(line, "level=WARN") || strings.Contains(line, "level=ERROR") {
			t.Errorf("the daemon says: %s", line)
		}
	}
}

// lockedBuffer takes a child's output while the test reads it.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
