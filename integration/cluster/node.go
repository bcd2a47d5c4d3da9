package cluster

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// Node is one emulated node.
type Node struct {
	Name string // the host name, node<i>; node0 is the login node
	Addr string // the address on the cluster's network, without a port

	cluster *Cluster
	number  int
	proc    *child
}

// start starts node i and joins it to the network.
func (c *Cluster) start(i int) (_ *Node, err error) {
	n := &Node{Name: name(i), Addr: address(i), cluster: c, number: i}
	defer func() {
		if err != nil {
			err = fmt.Errorf("start %s: %w", n.Name, err)
			if n.proc != nil {
				n.proc.kill()
			}
		}
	}()
	role := roleNode
	if i == 0 {
		role = roleLogin
	}
	config := initConfig{Cluster: c.Dir, PFS: c.PFS, Local: c.Local, LocalBytes: c.options.LocalBytes, Name: n.Name}
	if n.proc, err = startChild(role, config); err != nil {
		return nil, err
	}
	pid := strconv.Itoa(n.proc.pid())
	port := fmt.Sprintf("link add %[1]s type veth peer name eth0 address %[3]s netns %[2]s\nlink set %[1]s master br0 up\n",
		n.port(), pid, hardware(i))
	if err := c.fabric.ip(port); err != nil {
		return nil, err
	}
	if err := n.proc.ip("link set lo up\naddr add " + n.Addr + "/24 dev eth0\nlink set eth0 up\n" + neighbours(i)); err != nil {
		return nil, err
	}
	if err := n.awaitPort(); err != nil {
		return nil, err
	}
	if err := os.WriteFile(n.pidFile(), []byte(pid+"\n"), 0o644); err != nil {
		return nil, err
	}
	return n, nil
}

// port is the node's end at the bridge.
func (n *Node) port() string { return fmt.Sprintf("v%d", n.number) }

// pidFile tells the remote shell agent where the node is.
func (n *Node) pidFile() string { return filepath.Join(n.cluster.Dir, "nodes", n.Name) }

// Command is a program on the node, to be started by the caller, who also
// waits for it. Its working directory is /, its environment the caller's.
func (n *Node) Command(args ...string) *exec.Cmd {
	return n.CommandContext(context.Background(), args...)
}

// CommandContext is Command; when ctx is done, the program and what it
// started in its process group are killed.
func (n *Node) CommandContext(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "nsenter", append(enterArgs(n.proc.pid(), n.number == 0), args...)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 10 * time.Second
	return cmd
}

// enterArgs are the arguments of nsenter for the name spaces of a node. The
// login node has the machine's process ids.
func enterArgs(pid int, login bool) []string {
	args := []string{"-t", strconv.Itoa(pid), "-m", "-u", "-i", "-n"}
	if !login {
		args = append(args, "-p")
	}
	return append(args, "--wd=/", "--")
}

// Kill is the loss of the node. When it returns, every process of the node has
// ended, and its memory, mounts and network are gone. A node that is down
// already stays so. Commands started on it end with an error; the caller still
// waits for them.
func (n *Node) Kill() error {
	n.cluster.mu.Lock()
	up := n.cluster.nodes[n.number] == n
	if up {
		delete(n.cluster.nodes, n.number)
	}
	n.cluster.mu.Unlock()
	if !up {
		return nil
	}
	n.proc.kill()
	if err := os.Remove(n.pidFile()); err != nil && !os.IsNotExist(err) {
		return err
	}
	// The kernel takes the port away with the node's name space, but some
	// time later; whoever restarts the node wants it gone now.
	if err := n.cluster.fabric.ip("link del " + n.port() + "\n"); err != nil {
		if n.cluster.fabric.ip("link show "+n.port()+"\n") == nil {
			return fmt.Errorf("lose %s: %w", n.Name, err)
		}
	}
	return nil
}

// Cut takes the node off the network; its programs go on.
func (n *Node) Cut() error { return n.cluster.fabric.ip("link set " + n.port() + " down\n") }

// Heal ends a Cut. When it returns, the node is reached again.
func (n *Node) Heal() error {
	if err := n.cluster.fabric.ip("link set " + n.port() + " up\n"); err != nil {
		return err
	}
	return n.awaitPort()
}
