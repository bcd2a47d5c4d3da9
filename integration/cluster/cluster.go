package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// MaxNodes is the largest number of nodes; the addresses are of one /24.
const MaxNodes = 200

// startTimeout bounds one helper command and the start of one node. A node is
// there within 10 ms; this is for a machine that has other things to do.
const startTimeout = time.Minute

// Options of a cluster. The zero value is good.
type Options struct {
	// LocalBytes is the size of the memory file system of one node.
	// 0 is 1 GiB. Memory is used only as files are written.
	LocalBytes int64
	// PFS is the directory that all nodes share. Empty is a new directory
	// pfs in the cluster's.
	PFS string
}

// Cluster is a set of emulated nodes and the network between them.
type Cluster struct {
	Dir   string // the cluster's own files; removed by Close if New chose it
	PFS   string // the shared directory, the same path on every node
	Local string // node-local storage: the same path, another file system on every node

	options Options
	ownDir  bool
	fabric  *child // holds the net name space of the bridge
	login   *Node

	mu    sync.Mutex
	nodes map[int]*Node
}

// Available is nil if this machine can emulate nodes for this user, and else
// says what is missing.
func Available() error {
	if os.Getuid() != 0 {
		return errors.New("emulated nodes need root")
	}
	for _, tool := range []string{"ip", "nsenter"} {
		if _, err := exec.LookPath(tool); err != nil {
			return fmt.Errorf("emulated nodes need the command %s: %w", tool, err)
		}
	}
	return nil
}

// New makes a cluster with a login node and no other. Its files are below dir,
// which must exist; an empty dir is a new temporary directory, removed by
// Close. The caller calls Close.
func New(dir string, o Options) (c *Cluster, err error) {
	if err := Available(); err != nil {
		return nil, err
	}
	c = &Cluster{options: o, nodes: map[int]*Node{}}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.Close())
			c = nil
		}
	}()
	if dir == "" {
		if dir, err = os.MkdirTemp("", fmt.Sprintf("%s%d-", dirPrefix, os.Getpid())); err != nil {
			return c, err
		}
		c.ownDir = true
	}
	if c.Dir, err = filepath.Abs(dir); err != nil {
		return c, err
	}
	if err := c.layFiles(); err != nil {
		return c, err
	}
	if c.fabric, err = startChild(roleFabric, initConfig{Cluster: c.Dir}); err != nil {
		return c, fmt.Errorf("network of the cluster: %w", err)
	}
	bridge := "link set lo up\nlink add br0 type bridge forward_delay 0\nlink set br0 up\n"
	if err := c.fabric.ip(bridge); err != nil {
		return c, fmt.Errorf("network of the cluster: %w", err)
	}
	c.login, err = c.start(0)
	return c, err
}

// layFiles makes what the nodes find below Dir.
func (c *Cluster) layFiles() error {
	c.Local = filepath.Join(c.Dir, "local")
	c.PFS = filepath.Join(c.Dir, "pfs")
	if c.options.PFS != "" {
		var err error
		if c.PFS, err = filepath.Abs(c.options.PFS); err != nil {
			return err
		}
	}
	for _, d := range []string{c.PFS, c.Local, filepath.Join(c.Dir, "nodes")} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			return err
		}
	}
	var hosts strings.Builder
	hosts.WriteString("127.0.0.1 localhost\n")
	for i := range MaxNodes + 1 {
		fmt.Fprintf(&hosts, "%s %s\n", address(i), name(i))
	}
	if err := os.WriteFile(filepath.Join(c.Dir, "hosts"), []byte(hosts.String()), 0o644); err != nil {
		return err
	}
	return c.layAgent()
}

// Up starts node1 to node<n>; those that are there already stay.
func (c *Cluster) Up(n int) error {
	for i := 1; i <= n; i++ {
		if c.Node(i) != nil {
			continue
		}
		if _, err := c.Start(i); err != nil {
			return err
		}
	}
	return nil
}

// Start starts node i, 1 to MaxNodes, new or lost before: it comes with its
// old name and address and with empty storage.
func (c *Cluster) Start(i int) (*Node, error) {
	if i < 1 || i > MaxNodes {
		return nil, fmt.Errorf("node number %d is not in 1..%d", i, MaxNodes)
	}
	if c.Node(i) != nil {
		return nil, fmt.Errorf("%s is up", name(i))
	}
	n, err := c.start(i)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	c.nodes[i] = n
	c.mu.Unlock()
	return n, nil
}

// Node is node i of those that are up, or nil.
func (c *Cluster) Node(i int) *Node {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.nodes[i]
}

// Nodes are those that are up, by number.
func (c *Cluster) Nodes() []*Node {
	var up []*Node
	for i := 1; i <= MaxNodes; i++ {
		if n := c.Node(i); n != nil {
			up = append(up, n)
		}
	}
	return up
}

// Login is the node that runs mpirun and has no ranks.
func (c *Cluster) Login() *Node { return c.login }

// Close ends every process of every node. When it returns, no process, mount
// or name space of the cluster is left. It may be called twice.
func (c *Cluster) Close() error {
	var errs []error
	for _, n := range c.Nodes() {
		errs = append(errs, n.Kill())
	}
	if c.login != nil {
		c.login.proc.kill()
		c.login = nil
	}
	if c.fabric != nil {
		c.fabric.kill()
		c.fabric = nil
	}
	if c.ownDir && c.Dir != "" {
		errs = append(errs, os.RemoveAll(c.Dir))
	}
	return errors.Join(errs...)
}

// run runs a helper command to its end and returns what it printed, which is
// also part of the error.
func run(stdin, name string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Stdin = strings.NewReader(stdin)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, strings.TrimSpace(string(out)))
	}
	return string(out), nil
}
