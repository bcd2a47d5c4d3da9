package space

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/scrfs/scrfs/daemon"
)

const mib = 1 << 20

// cacheMiB is the size of the cache, in MiB, patience the bound of every wait.
const (
	cacheMiB = 64
	patience = 2 * time.Minute
)

var (
	build    sync.Once
	bin      string
	buildErr error
)

func TestMain(m *testing.M) {
	code := m.Run()
	if bin != "" {
		os.RemoveAll(bin)
	}
	os.Exit(code)
}

// mounted is a prefix directory with a small cache behind it.
type mounted struct {
	t      *testing.T
	prefix string
	cache  string
}

func tmpfs(t *testing.T, dir string, sizeMiB int) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("none", dir, "tmpfs", 0, fmt.Sprintf("size=%dm", sizeMiB)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		// The daemon lets go a moment after its mount is gone.
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for err := syscall.Unmount(dir, 0); err != nil; err = syscall.Unmount(dir, 0) {
			select {
			case <-tick.C:
			case <-ctx.Done():
				t.Fatalf("unmount %s: %v", dir, err)
			}
		}
	})
}

// mount makes a prefix directory of prefixMiB and mounts over it.
func mount(t *testing.T, prefixMiB int, settings ...string) *mounted {
	t.Helper()
	if f, err := os.OpenFile("/dev/fuse", os.O_RDWR, 0); err != nil || os.Getuid() != 0 {
		t.Skip("a mount needs root and /dev/fuse")
	} else {
		f.Close()
	}
	build.Do(func() {
		if bin, buildErr = os.MkdirTemp("", "scrfs-space-"); buildErr == nil {
			var out []byte
			if out, buildErr = exec.Command("go", "build", "-o", bin, "../../cmd/scrfs").CombinedOutput(); buildErr != nil {
				buildErr = fmt.Errorf("%w: %s", buildErr, out)
			}
		}
	})
	if buildErr != nil {
		t.Fatal(buildErr)
	}
	dir := t.TempDir()
	m := &mounted{t: t, prefix: filepath.Join(dir, "pfs", "sim"), cache: filepath.Join(dir, "cache")}
	tmpfs(t, filepath.Join(dir, "pfs"), prefixMiB)
	tmpfs(t, m.cache, cacheMiB)
	if err := os.Mkdir(m.prefix, 0o755); err != nil {
		t.Fatal(err)
	}
	args := []string{"mount", "--prefix", m.prefix, "--job-id", "small", "--cache-base", m.cache, "--control-base", m.cache,
		"--set", "SCRFS_QUIET=1s", "--set", "SCR_FLUSH_ASYNC_BW=0"}
	for _, s := range settings {
		args = append(args, "--set", s)
	}
	m.scrfs(args...)
	t.Cleanup(func() {
		if t.Failed() {
			logs, _ := filepath.Glob(filepath.Join(m.cache, "*", "scr.small", "scrfs.log"))
			for _, name := range logs {
				b, err := os.ReadFile(name)
				t.Logf("%s (%v)", b, err)
			}
		}
		m.unmount()
	})
	return m
}

func (m *mounted) unmount() {
	m.t.Helper()
	if out, err := run("unmount", "--force", m.prefix); err != nil && !strings.Contains(out, "no scrfs mount") {
		m.t.Errorf("unmount: %v: %s", err, out)
	}
}

func run(args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	out, err := exec.CommandContext(ctx, filepath.Join(bin, "scrfs"), args...).CombinedOutput()
	return string(out), err
}

func (m *mounted) scrfs(args ...string) string {
	m.t.Helper()
	out, err := run(args...)
	if err != nil {
		m.t.Fatalf("scrfs %s: %v: %s", args[0], err, out)
	}
	return out
}

func (m *mounted) status() daemon.Status {
	m.t.Helper()
	var st daemon.Status
	if err := json.Unmarshal([]byte(m.scrfs("status", "--json", m.prefix)), &st); err != nil {
		m.t.Fatal(err)
	}
	return st
}

// content is what a file of a test has.
func content(seed int64, bytes int) []byte {
	b := make([]byte, bytes)
	rand.New(rand.NewSource(seed)).Read(b)
	return b
}

// write writes a file in pieces and closes it.
func write(name string, b []byte, piece int) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	for len(b) > 0 && err == nil {
		n := min(piece, len(b))
		_, err = f.Write(b[:n])
		b = b[n:]
	}
	return errors.Join(err, f.Close())
}

func same(t *testing.T, name string, want []byte) {
	t.Helper()
	got, err := os.ReadFile(name)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s: %d bytes that differ from what was written, or %v", name, len(got), err)
	}
}

// checkpoint writes files at a time and holds them through the mount, after
// the flush, and beneath the mount when that is gone.
func (m *mounted) checkpoint(dir string, files, bytesEach, width int) {
	t := m.t
	t.Helper()
	top := filepath.Join(m.prefix, dir)
	want := make([][]byte, files)
	for i := range want {
		want[i] = content(int64(i), bytesEach)
	}
	if err := os.Mkdir(top, 0o755); err != nil {
		t.Fatal(err)
	}
	errs := make(chan error, files)
	turn := make(chan struct{}, width)
	for i := range files {
		turn <- struct{}{}
		go func() {
			errs <- write(filepath.Join(top, fmt.Sprintf("rank_%d.dat", i)), want[i], mib)
			<-turn
		}()
	}
	for range files {
		if err := <-errs; err != nil {
			t.Fatal(err)
		}
	}
	m.hold(dir, files, bytesEach)
}

func (m *mounted) hold(dir string, files, bytesEach int) {
	m.t.Helper()
	for i := range files {
		same(m.t, filepath.Join(m.prefix, dir, fmt.Sprintf("rank_%d.dat", i)), content(int64(i), bytesEach))
	}
}

// told holds that status and log say what happened to a dataset.
func (m *mounted) told(name string) {
	m.t.Helper()
	st := m.status()
	if st.Space.SpilledFiles == 0 || st.Space.TotalBytes != cacheMiB*mib {
		m.t.Errorf("status says %+v", st.Space)
	}
	for _, d := range st.Datasets {
		if d.Name == name {
			if !d.Published || !strings.Contains(d.Note, "cache too small") {
				m.t.Errorf("status says %+v", d)
			}
			return
		}
	}
	m.t.Errorf("status does not know %s: %+v", name, st.Datasets)
}

func TestACheckpointLargerThanTheCache(t *testing.T) {
	for _, tc := range []struct {
		name                    string
		files, bytesEach, width int
	}{
		{"one file", 1, 200 * mib, 1},
		{"many files", 200, mib, 1},
		{"four at a time", 4, 50 * mib, 4},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m := mount(t, 1200)
			// The second time the sizes are known, and the third.
			for step := 1; step <= 3; step++ {
				dir := fmt.Sprintf("ckpt.%d", step)
				m.checkpoint(dir, tc.files, tc.bytesEach, tc.width)
				m.scrfs("wait", "--for", "flushed", m.prefix)
				m.hold(dir, tc.files, tc.bytesEach)
				m.told(dir)
			}
			m.scrfs("unmount", m.prefix)
			for step := 1; step <= 3; step++ {
				m.hold(fmt.Sprintf("ckpt.%d", step), tc.files, tc.bytesEach)
			}
			if left, err := filepath.Glob(filepath.Join(m.prefix, ".scr", "spill.*")); err != nil || len(left) > 0 {
				t.Errorf("left behind: %v, %v", left, err)
			}
		})
	}
}

func TestAPrefixDirectoryThatIsFullAsWellTellsTheProgram(t *testing.T) {
	m := mount(t, 60)
	small, large := content(7, 8*mib), content(1, 200*mib)
	top := filepath.Join(m.prefix, "ckpt.1")
	if err := os.Mkdir(top, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := write(filepath.Join(top, "small"), small, mib); err != nil {
		t.Fatal(err)
	}
	if err := write(filepath.Join(top, "large"), large, mib); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("got %v, want no space left", err)
	}
	same(t, filepath.Join(top, "small"), small)
	if err := os.Remove(filepath.Join(top, "large")); err != nil {
		t.Fatal(err)
	}
	m.scrfs("wait", "--for", "flushed", m.prefix)
	m.scrfs("unmount", m.prefix)
	same(t, filepath.Join(top, "small"), small)
	if _, err := os.Stat(filepath.Join(top, "large")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("large: %v", err)
	}
}

// A file that moves while it is open goes on under all its descriptors and
// names, and so does one that has no name any more.
func TestAFileMovesWhileItIsInUse(t *testing.T) {
	m := mount(t, 600)
	top := filepath.Join(m.prefix, "ckpt.1")
	want := content(3, 100*mib)
	if err := os.Mkdir(top, 0o755); err != nil {
		t.Fatal(err)
	}
	var open []*os.File
	for _, name := range []string{"kept", "gone"} {
		f, err := os.Create(filepath.Join(top, name))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		open = append(open, f)
	}
	reader, err := os.Open(filepath.Join(top, "kept"))
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	if err := os.Rename(filepath.Join(top, "kept"), filepath.Join(top, "moved")); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(top, "gone")); err != nil {
		t.Fatal(err)
	}
	for _, f := range open {
		for off := 0; off < len(want); off += mib {
			if _, err := f.WriteAt(want[off:off+mib], int64(off)); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, f := range append(open, reader) {
		got := make([]byte, len(want))
		if _, err := f.ReadAt(got, 0); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: other bytes, or %v", f.Name(), err)
		}
	}
	same(t, filepath.Join(top, "moved"), want)
	for _, f := range append(open, reader) {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
	m.scrfs("wait", "--for", "flushed", m.prefix)
	m.scrfs("unmount", m.prefix)
	same(t, filepath.Join(top, "moved"), want)
}

// Checkpoints that fit one at a time stay in the cache, one after the other:
// room is made before the next begins.
func TestRoomIsMadeBeforeTheNextCheckpoint(t *testing.T) {
	m := mount(t, 600, "SCR_COPY_TYPE=SINGLE", "SCR_FLUSH=0")
	for step := 1; step <= 4; step++ {
		m.checkpoint(fmt.Sprintf("ckpt.%d", step), 4, 9*mib, 2)
		m.scrfs("wait", "--for", "protected", m.prefix)
		m.awaitFree(40 * mib)
	}
	if st := m.status(); st.Space.SpilledFiles != 0 {
		t.Errorf("%+v", st.Space)
	}
}

// awaitFree waits until so many bytes of the cache are free.
func (m *mounted) awaitFree(want int64) {
	m.t.Helper()
	ctx, cancel := context.WithTimeout(m.t.Context(), patience)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		st := m.status()
		if st.Space.FreeBytes >= want {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			m.t.Fatalf("never %d bytes free: %+v", want, st)
		}
	}
}
