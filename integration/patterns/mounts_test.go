package patterns

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/scrfs/scrfs/daemon"
)

// patience bounds every wait; it is far beyond what is needed.
const patience = time.Minute

// TestMain is also the processes of the programs.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "play" {
		play(os.Args[2:])
	}
	code := m.Run()
	if built.dir != "" {
		_ = os.RemoveAll(built.dir)
	}
	os.Exit(code)
}

var built struct {
	once sync.Once
	dir  string
	err  error
}

// scrfs is the command, built once.
func scrfs(t *testing.T) string {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("mounts need root")
	}
	if _, err := os.Stat("/dev/fuse"); err != nil {
		t.Skip(err)
	}
	built.once.Do(func() {
		if built.dir, built.err = os.MkdirTemp("", "scrfs-patterns-"); built.err != nil {
			return
		}
		out, err := exec.Command("go", "build", "-o", built.dir, "../../cmd/scrfs").CombinedOutput()
		if err != nil {
			built.err = fmt.Errorf("build: %w\n%s", err, out)
		}
	})
	if built.err != nil {
		t.Fatal(built.err)
	}
	return filepath.Join(built.dir, "scrfs")
}

// site is a prefix directory and the mounts of its nodes, all on this machine.
type site struct {
	t      *testing.T
	scrfs  string
	dir    string
	prefix string
	mounts []string // mount points, by node
}

// mount makes a site of n nodes. settings are SCR's parameters and rules.
func mount(t *testing.T, n int, settings ...string) *site {
	t.Helper()
	s := &site{t: t, scrfs: scrfs(t), dir: t.TempDir()}
	s.prefix = filepath.Join(s.dir, "pfs")
	must(t, os.Mkdir(s.prefix, 0o755))
	var nodes []string
	for i, port := range freePorts(t, n) {
		nodes = append(nodes, fmt.Sprintf("n%d=127.0.0.1:%d", i, port))
		s.mounts = append(s.mounts, filepath.Join(s.dir, fmt.Sprintf("m%d", i)))
		must(t, os.Mkdir(s.mounts[i], 0o755))
	}
	t.Cleanup(s.unmountAll)
	s.each(func(i int) error {
		node := filepath.Join(s.dir, fmt.Sprintf("node%d", i))
		args := []string{
			"mount", "--prefix", s.prefix, "--mountpoint", s.mounts[i], "--node", fmt.Sprintf("n%d", i),
			"--nodes", strings.Join(nodes, ","), "--job-id", "1", "--cache-base", node, "--control-base", node,
			"--set", "SCR_CACHE_SIZE=16", "--set", "SCR_FLUSH=0",
		}
		for _, kv := range settings {
			args = append(args, "--set", kv)
		}
		if err := os.Mkdir(node, 0o700); err != nil {
			return err
		}
		_, err := s.run(args...)
		return err
	})
	return s
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// each does something for all nodes at the same time.
func (s *site) each(do func(node int) error) {
	s.t.Helper()
	errs := make([]error, len(s.mounts))
	var wg sync.WaitGroup
	for i := range s.mounts {
		wg.Go(func() { errs[i] = do(i) })
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		s.t.Fatal(err)
	}
}

// freePorts are ports nobody listens on now.
func freePorts(t *testing.T, n int) []int {
	t.Helper()
	var ports []int
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		must(t, err)
		defer l.Close()
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	return ports
}

// run runs scrfs and returns what it printed.
func (s *site) run(args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, s.scrfs, args...)
	var out, messages bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &messages
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("scrfs %s: %w: %s", strings.Join(args, " "), err, messages.String())
	}
	return out.String(), nil
}

func (s *site) status() (daemon.Status, error) {
	var st daemon.Status
	out, err := s.run("status", "--json", s.mounts[0])
	if err != nil {
		return st, err
	}
	return st, json.Unmarshal([]byte(out), &st)
}

// await asks for the status until it is as wanted.
func (s *site) await(what string, want func(daemon.Status) bool) daemon.Status {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		st, err := s.status()
		if err == nil && want(st) {
			return st
		}
		select {
		case <-ctx.Done():
			s.t.Fatalf("waited %v for: %s; last answer %+v, %v", patience, what, st, err)
		case <-tick.C:
		}
	}
}

// settled tells that every dataset has ended for good.
func settled(st daemon.Status) bool {
	for _, d := range st.Datasets {
		if !d.Ended || d.State == "EVICTING" {
			return false
		}
	}
	return true
}

// flush brings everything to the prefix directory.
func (s *site) flush() {
	s.t.Helper()
	_, err := s.run("wait", "--for", "flushed", "--timeout", patience.String(), s.mounts[0])
	must(s.t, err)
}

// unmountAll ends the mounts, and shows the logs if the test did not pass.
func (s *site) unmountAll() {
	for i, m := range s.mounts {
		if _, err := s.run("unmount", "--force", m); err != nil {
			s.t.Error(err)
		}
		if s.t.Failed() {
			logs, _ := filepath.Glob(filepath.Join(s.dir, fmt.Sprintf("node%d", i), "*", "*", "scrfs.log"))
			for _, l := range logs {
				text, _ := os.ReadFile(l)
				s.t.Logf("--- log of node %d\n%s", i, text)
			}
		}
	}
}
