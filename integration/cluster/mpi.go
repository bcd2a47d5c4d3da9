package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// layAgent makes the command that Open MPI starts its daemons with: this
// program under the agent's name.
func (c *Cluster) layAgent() error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	err = os.Symlink(self, c.Agent())
	if errors.Is(err, os.ErrExist) {
		return fmt.Errorf("cluster directory %s is in use: %w", c.Dir, err)
	}
	return err
}

// Agent is a command like rsh, for the login node: AGENT NODE COMMAND... runs
// a shell command line on a node.
func (c *Cluster) Agent() string { return filepath.Join(c.Dir, roleAgent) }

// agent is the process behind Agent. The result is the exit code, 255 if the
// node could not be reached, as of ssh.
func agent(args []string) int {
	if len(args) < 3 {
		fmt.Fprintf(os.Stderr, "%s: want a node and a command\n", roleAgent)
		return 255
	}
	dir, node, command := filepath.Dir(args[0]), args[1], strings.Join(args[2:], " ")
	text, err := os.ReadFile(filepath.Join(dir, "nodes", filepath.Base(node)))
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: no node %s: %v\n", roleAgent, node, err)
		return 255
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: node %s: %v\n", roleAgent, node, err)
		return 255
	}
	nsenter, err := exec.LookPath("nsenter")
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", roleAgent, err)
		return 255
	}
	argv := append([]string{"nsenter"}, enterArgs(pid, false)...)
	err = syscall.Exec(nsenter, append(argv, "/bin/sh", "-c", command), os.Environ())
	fmt.Fprintf(os.Stderr, "%s: %v\n", roleAgent, err)
	return 255
}

// MPI is an Open MPI job of np ranks over the nodes, in blocks, as evenly as
// can be; the caller starts it and waits. argv is what follows on mpirun's
// command line: more options if wanted (-wdir DIR, -x NAME=VALUE), then the
// program. When ctx is done, the job is ended.
//
// The loss of a node ends the job with an error within some seconds.
func (c *Cluster) MPI(ctx context.Context, nodes []*Node, np int, argv ...string) (*exec.Cmd, error) {
	if np < 1 || len(nodes) < 1 {
		return nil, fmt.Errorf("mpi job of %d ranks on %d nodes", np, len(nodes))
	}
	var hosts []string
	for i, n := range nodes {
		if slots := share(np, len(nodes), i); slots > 0 {
			hosts = append(hosts, fmt.Sprintf("%s:%d", n.Name, slots))
		}
	}
	args := []string{"mpirun", "--allow-run-as-root", "-np", strconv.Itoa(np), "--host", strings.Join(hosts, ",")}
	args = append(args, c.mca()...)
	cmd := c.login.CommandContext(ctx, append(args, argv...)...)
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = 20 * time.Second
	return cmd, nil
}

// mca are Open MPI's parameters for nodes that share two cores and one kernel.
func (c *Cluster) mca() []string {
	parameters := [][2]string{
		{"plm_rsh_agent", c.Agent()},
		{"orte_tmpdir_base", filepath.Join(c.Local, ".tmp")},
		{"oob_tcp_if_include", "eth0"},
		{"btl_tcp_if_include", "eth0"},
		{"pml", "ob1"},
		{"btl", "self,tcp,vader"},
		// Reading another rank's memory needs a right that ranks of
		// different name spaces lack.
		{"btl_vader_single_copy_mechanism", "none"},
		{"hwloc_base_binding_policy", "none"},
		// Ranks that spin while they wait take the cores from those that
		// work: a reduction of 4 ranks on 2 cores takes 20 ms, not 1.
		{"mpi_yield_when_idle", "1"},
	}
	var args []string
	for _, p := range parameters {
		args = append(args, "--mca", p[0], p[1])
	}
	return args
}

// share is how many of np ranks are on node i of n, in blocks.
func share(np, n, i int) int {
	s := np / n
	if i < np%n {
		s++
	}
	return s
}

// MPIRun runs an MPI job to its end and returns what it printed on standard
// output. The error contains the end of that and of standard error.
func (c *Cluster) MPIRun(ctx context.Context, nodes []*Node, np int, argv ...string) (string, error) {
	cmd, err := c.MPI(ctx, nodes, np, argv...)
	if err != nil {
		return "", err
	}
	var out, messages bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &messages
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("mpirun %s: %w\n%s\n%s", strings.Join(argv, " "), err, tail(out.Bytes()), tail(messages.Bytes()))
	}
	return out.String(), nil
}

// tail is the end of a long text.
func tail(text []byte) []byte { return text[max(0, len(text)-2000):] }
