//go:build apps

package apps

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/scrfs/scrfs/integration/cluster"
)

func TestMain(m *testing.M) {
	cluster.Init()
	os.Exit(m.Run())
}

// nodes is how many emulated nodes a program runs on, a rank on each.
const nodes = 2

// site is a cluster with mounts over the prefix directory pfs/sim, and beside
// it two plain directories: pfs/plain for the run whose files are compared, and
// pfs/whole for a run in one piece where that is another one.
type site struct {
	t      *testing.T
	ctx    context.Context
	c      *cluster.Cluster
	bin    string
	prefix string
	plain  string
	whole  string
}

func newSite(t *testing.T, tools ...string) *site {
	t.Helper()
	if err := cluster.Available(); err != nil {
		t.Skip(err)
	}
	for _, tool := range append(tools, "mpirun") {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip(err)
		}
	}
	s := &site{t: t, bin: t.TempDir()}
	if out, err := exec.Command("go", "build", "-o", s.bin, "../../cmd/...").CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	t.Cleanup(cancel)
	s.ctx = ctx
	c, err := cluster.New("", cluster.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := c.Up(nodes); err != nil {
		t.Fatal(err)
	}
	s.c, s.prefix, s.plain, s.whole = c, filepath.Join(c.PFS, "sim"), filepath.Join(c.PFS, "plain"), filepath.Join(c.PFS, "whole")
	for _, d := range []string{s.prefix, s.plain, s.whole} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// on runs a command on a node; its failure is the test's.
func (s *site) on(n *cluster.Node, args ...string) {
	s.t.Helper()
	if out, err := n.CommandContext(s.ctx, args...).CombinedOutput(); err != nil {
		log, _ := n.Command("cat", filepath.Join(s.c.Local, "root", "scr.apps", "scrfs.log")).CombinedOutput()
		s.t.Fatalf("%s: %s: %v\n%s\n--- log\n%s", n.Name, strings.Join(args, " "), err, out, log)
	}
}

func (s *site) mount() {
	s.t.Helper()
	done := make(chan error)
	for _, n := range s.c.Nodes() {
		go func() {
			_, err := n.CommandContext(s.ctx, s.bin+"/scrfs", "mount", "--prefix", s.prefix, "--nodes", "node[1-2]", "--node", n.Name,
				"--job-id", "apps", "--cache-base", s.c.Local, "--control-base", s.c.Local,
				"--set", "SCRFS_QUIET=300ms", "--set", "SCR_CACHE_SIZE=4").CombinedOutput()
			done <- err
		}()
	}
	for range s.c.Nodes() {
		if err := <-done; err != nil {
			s.t.Fatalf("mount: %v", err)
		}
	}
}

// unmount flushes first: afterwards the prefix directory holds everything.
func (s *site) unmount() {
	s.t.Helper()
	s.on(s.c.Node(1), s.bin+"/scrfs", "wait", "--for", "flushed", "--timeout", "2m", s.prefix)
	for _, n := range s.c.Nodes() {
		s.on(n, s.bin+"/scrfs", "unmount", s.prefix)
	}
}

// run runs a program with a rank on each node, in a directory.
func (s *site) run(dir string, argv ...string) string {
	s.t.Helper()
	out, err := s.c.MPIRun(s.ctx, s.c.Nodes(), nodes, append([]string{"-wdir", dir}, argv...)...)
	if err != nil {
		s.t.Fatal(err)
	}
	return out
}

func (s *site) same(names ...string) {
	s.t.Helper()
	for _, name := range names {
		got, err := os.ReadFile(filepath.Join(s.prefix, name))
		if err != nil {
			s.t.Error(err)
			continue
		}
		want, err := os.ReadFile(filepath.Join(s.plain, name))
		if err != nil {
			s.t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			s.t.Errorf("%s: %d bytes that differ from the %d of the undisturbed run", name, len(got), len(want))
		}
	}
}

// sorted are the lines of an output: ranks print in any order.
func sorted(text string) []string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	slices.Sort(lines)
	return lines
}
