package slice

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/scrfs/scrfs/daemon"
	"github.com/scrfs/scrfs/integration/cluster"
	"github.com/scrfs/scrfs/integration/lammps"
)

// ranks is the number of nodes and of ranks.
const ranks = 4

// quiet is the quiet time of the mounts.
const quiet = 300 * time.Millisecond

// patience bounds every wait for a state; it is far beyond what is needed.
const patience = 3 * time.Minute

// Slice is one run of the scenario.
type Slice struct {
	Cluster *cluster.Cluster
	Bin     string // directory with scrfs and scr-postrun
	Inputs  string // directory with the inputs of LAMMPS
	// Say is told each step as it has been seen to hold.
	Say func(step string)

	every     int           // steps of LAMMPS between two checkpoints
	reference lammps.Thermo // of the undisturbed run
}

// Prefix is the prefix directory, on the directory that stands for the PFS.
func (s *Slice) Prefix() string { return filepath.Join(s.Cluster.PFS, "sim1") }

func (s *Slice) say(format string, args ...any) { s.Say(fmt.Sprintf(format, args...)) }

func (s *Slice) scrfs() string { return filepath.Join(s.Bin, "scrfs") }

// control is a node's control and cache directory of the job.
func (s *Slice) control() string { return filepath.Join(s.Cluster.Local, "root", "scr.demo") }

// mountAll mounts on every node that is up, at the same time, as a job's
// prolog does.
func (s *Slice) mountAll(ctx context.Context, settings ...string) error {
	errs := make(chan error)
	for _, n := range s.Cluster.Nodes() {
		go func() { errs <- s.mount(ctx, n, settings...) }()
	}
	var all []error
	for range s.Cluster.Nodes() {
		all = append(all, <-errs)
	}
	return errors.Join(all...)
}

// mount mounts over the prefix directory itself.
func (s *Slice) mount(ctx context.Context, n *cluster.Node, settings ...string) error {
	args := []string{
		s.scrfs(), "mount", "--prefix", s.Prefix(), "--nodes", "node[1-4]", "--node", n.Name, "--job-id", "demo",
		"--cache-base", s.Cluster.Local, "--control-base", s.Cluster.Local,
		"--set", "SCRFS_QUIET=" + quiet.String(), "--set", "SCRFS_PEER_TIMEOUT=8s", "--set", "SCR_CACHE_SIZE=8",
	}
	for _, kv := range settings {
		args = append(args, "--set", kv)
	}
	_, err := s.on(ctx, n, args...)
	return err
}

// on runs a command on a node and returns what it printed.
func (s *Slice) on(ctx context.Context, n *cluster.Node, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return output(n.CommandContext(ctx, args...), n.Name, args)
}

func output(cmd *exec.Cmd, where string, args []string) (string, error) {
	var errText strings.Builder
	cmd.Stderr = &errText
	out, err := cmd.Output()
	if err != nil {
		return string(out), fmt.Errorf("%s: %s: %w: %s%s", where, strings.Join(args, " "), err, out, errText.String())
	}
	return string(out), nil
}

// status asks the daemon of a node.
func (s *Slice) status(ctx context.Context, n *cluster.Node) (daemon.Status, error) {
	var st daemon.Status
	out, err := s.on(ctx, n, s.scrfs(), "status", "--json", s.Prefix())
	if err != nil {
		return st, err
	}
	return st, json.Unmarshal([]byte(out), &st)
}

// awaitStatus asks until the answer is as wanted.
func (s *Slice) awaitStatus(ctx context.Context, n *cluster.Node, what string, want func(daemon.Status) bool) (daemon.Status, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("waited %v for: %s", patience, what))
	defer cancel()
	for {
		st, err := s.status(ctx, n)
		if err == nil && want(st) {
			return st, nil
		}
		select {
		case <-ctx.Done():
			return st, fmt.Errorf("%s: %w; last answer %+v, %v", n.Name, context.Cause(ctx), st, err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// sums returns the checksum of each file, as a node sees it.
func (s *Slice) sums(ctx context.Context, n *cluster.Node, names ...string) (map[string]string, error) {
	args := []string{"sha256sum", "--"}
	for _, name := range names {
		args = append(args, filepath.Join(s.Prefix(), name))
	}
	out, err := s.on(ctx, n, args...)
	if err != nil {
		return nil, err
	}
	return parseSums(out, s.Prefix())
}

func parseSums(out, dir string) (map[string]string, error) {
	sums := map[string]string{}
	for line := range strings.Lines(out) {
		sum, name, ok := strings.Cut(strings.TrimSpace(line), "  ")
		if !ok {
			return nil, fmt.Errorf("sha256sum printed %q", line)
		}
		sums[strings.TrimPrefix(name, dir+"/")] = sum
	}
	return sums, nil
}

// sumsOnPFS are the same of what lies on the PFS, beneath all mounts.
func (s *Slice) sumsOnPFS(names ...string) (map[string]string, error) {
	args := []string{"--"}
	for _, name := range names {
		args = append(args, filepath.Join(s.Prefix(), name))
	}
	out, err := output(exec.Command("sha256sum", args...), "beneath the mounts", args)
	if err != nil {
		return nil, err
	}
	return parseSums(out, s.Prefix())
}

// same compares two sets of checksums.
func same(got, want map[string]string) error {
	for name, sum := range want {
		if got[name] != sum {
			return fmt.Errorf("%s: checksum %q, want %q", name, got[name], sum)
		}
	}
	return nil
}

// protected tells whether the checkpoint that holds a file is protected.
func protected(name string) func(daemon.Status) bool {
	return func(st daemon.Status) bool {
		for _, d := range st.Datasets {
			if strings.HasPrefix(d.Name, name) && d.Safe {
				return true
			}
		}
		return false
	}
}

// Logs is what the daemons that are still there had to say.
func (s *Slice) Logs() string {
	var b strings.Builder
	for _, n := range s.Cluster.Nodes() {
		out, err := n.Command("cat", filepath.Join(s.control(), "scrfs.log")).CombinedOutput()
		fmt.Fprintf(&b, "--- log of %s (%v)\n%s", n.Name, err, out)
	}
	return b.String()
}
