package fusefs_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/scrfs/scrfs/fusefs"
	"github.com/scrfs/scrfs/prefixfs"
	"golang.org/x/sys/unix"
)

// serverConfig is what a mount of the tests is started with, in a process of
// its own: a process that serves a mount and uses it can deadlock.
type serverConfig struct {
	Mountpoint, Prefix, Cache string
	AllowUID                  uint32
	NoPassthrough             bool
	Remote                    bool // catalogue files are not local
	Descriptors               int
	Forgetful                 bool // the catalogue knows nothing of removed files
}

// serverState is the answer to "stats".
type serverState struct {
	Passthrough   bool
	Reason        string
	Reads, Writes int64
	Events        []fusefs.PrefixEvent
	OpenFds       int
	Err           string
}

const serverEnv = "SCRFS_TEST_SERVER"

func TestMain(m *testing.M) {
	if text := os.Getenv(serverEnv); text != "" {
		if err := serve(text); err != nil {
			fmt.Fprintln(os.Stderr, "server:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// serve mounts, and obeys the lines of standard input until it ends: stats,
// unmount, lazy, invalidate INO DIR NAME.
func serve(text string) error {
	var cfg serverConfig
	if err := json.Unmarshal([]byte(text), &cfg); err != nil {
		return err
	}
	prefix, err := prefixfs.Open(cfg.Prefix, prefixfs.Options{Descriptors: cfg.Descriptors})
	if err != nil {
		return err
	}
	defer prefix.Close()
	ns := newDirNamespace(cfg.Cache, !cfg.Remote)
	ns.keep = !cfg.Forgetful
	m, err := fusefs.New(fusefs.Options{
		Mountpoint: cfg.Mountpoint, Prefix: prefix, Namespace: ns, AllowUID: cfg.AllowUID,
		NoPassthrough: cfg.NoPassthrough, Debug: os.Getenv("SCRFS_TEST_DEBUG") != "",
		Log: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: logLevel()})),
	})
	if err != nil {
		return err
	}
	go m.Serve()
	out := json.NewEncoder(os.Stdout)
	report := func(err error) {
		st := serverState{}
		st.Passthrough, st.Reason = m.Passthrough()
		st.Reads, st.Writes = m.DataRequests()
		ns.mu.Lock()
		st.Events = append(st.Events, ns.events...)
		ns.mu.Unlock()
		fds, _ := os.ReadDir("/proc/self/fd")
		st.OpenFds = len(fds)
		if err != nil {
			st.Err = err.Error()
		}
		_ = out.Encode(st)
	}
	report(nil)
	lazy := false
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		words := strings.Fields(in.Text())
		switch words[0] {
		case "unmount":
			err := m.Unmount()
			report(err)
			if err == nil {
				m.Wait()
				return nil
			}
		case "lazy":
			report(m.LazyUnmount())
			lazy = true
		case "invalidate": // INO DIR NAME
			ino, err := strconv.ParseUint(words[1], 10, 64)
			m.Invalidate(ino)
			m.InvalidateEntry(fusefs.Dir{Path: strings.Trim(words[2], "/")}, words[3])
			report(err)
		default:
			report(nil)
		}
	}
	if lazy {
		m.Wait()
		return nil
	}
	return m.LazyUnmount()
}

// mountOnce tries to mount in this process, which must not work.
func mountOnce(tb testing.TB, prefixDir, mountpoint string) error {
	tb.Helper()
	prefix, err := prefixfs.Open(prefixDir, prefixfs.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	defer prefix.Close()
	m, err := fusefs.New(fusefs.Options{Mountpoint: mountpoint, Prefix: prefix, Namespace: newDirNamespace(prefixDir, true)})
	if err == nil {
		tb.Errorf("mounted on %s", mountpoint)
		err = m.LazyUnmount()
	}
	return err
}

func logLevel() slog.Level {
	if os.Getenv("SCRFS_TEST_DEBUG") != "" {
		return slog.LevelDebug
	}
	return slog.LevelWarn
}

// testMount is a mount in another process.
type testMount struct {
	dir, prefix, cache string
	cmd                *exec.Cmd
	in                 io.WriteCloser
	out                *json.Decoder
	log                *syncBuffer
	first              serverState
}

type syncBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// scratch returns an empty directory on the file system in memory, removed
// after the test.
func scratch(tb testing.TB) string {
	tb.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "scrfs-test-")
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// startMount mounts an empty prefix directory, or the one in cfg.
func startMount(tb testing.TB, cfg serverConfig) *testMount {
	tb.Helper()
	if os.Geteuid() != 0 {
		tb.Skip("needs root to mount")
	}
	base := scratch(tb)
	if cfg.Prefix == "" {
		cfg.Prefix = filepath.Join(base, "prefix")
	}
	if cfg.Cache == "" {
		cfg.Cache = filepath.Join(base, "cache")
	}
	if cfg.Mountpoint == "" {
		cfg.Mountpoint = filepath.Join(base, "mnt")
	}
	for _, dir := range []string{cfg.Prefix, cfg.Cache, cfg.Mountpoint} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			tb.Fatal(err)
		}
	}
	text, err := json.Marshal(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	m := &testMount{dir: cfg.Mountpoint, prefix: cfg.Prefix, cache: cfg.Cache, log: &syncBuffer{}}
	m.cmd = exec.Command(os.Args[0])
	m.cmd.Env = append(os.Environ(), serverEnv+"="+string(text))
	m.cmd.Stderr = m.log
	if os.Getenv("SCRFS_TEST_DEBUG") != "" {
		m.cmd.Stderr = os.Stderr
	}
	if m.in, err = m.cmd.StdinPipe(); err != nil {
		tb.Fatal(err)
	}
	stdout, err := m.cmd.StdoutPipe()
	if err != nil {
		tb.Fatal(err)
	}
	m.out = json.NewDecoder(stdout)
	if err := m.cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { m.stop(tb) })
	if err := m.out.Decode(&m.first); err != nil {
		tb.Fatalf("the server did not start: %v\n%s", err, m.log)
	}
	return m
}

// ask sends a command and returns the answer.
func (m *testMount) ask(tb testing.TB, command string) serverState {
	tb.Helper()
	if _, err := io.WriteString(m.in, command+"\n"); err != nil {
		tb.Fatalf("server: %v\n%s", err, m.log)
	}
	var st serverState
	if err := m.out.Decode(&st); err != nil {
		tb.Fatalf("server: %v\n%s", err, m.log)
	}
	return st
}

// stop unmounts, and fails the test if that cannot be done or if the server
// had anything to warn of.
func (m *testMount) stop(tb testing.TB) {
	tb.Helper()
	if m.cmd.ProcessState != nil {
		return
	}
	m.in.Close()
	done := make(chan error, 1)
	go func() { done <- m.cmd.Wait() }()
	select {
	case err := <-done:
		if err != nil {
			tb.Errorf("server: %v", err)
		}
	case <-time.After(20 * time.Second):
		m.cmd.Process.Kill()
		tb.Errorf("server did not end: %v", <-done)
	}
	unix.Unmount(m.dir, unix.MNT_DETACH)
	if log := m.log.String(); log != "" {
		tb.Errorf("the server warned:\n%s", log)
	}
}
