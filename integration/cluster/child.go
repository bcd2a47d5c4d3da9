package cluster

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// A role is what this program, started again, is to be. It is the first word
// of the command line, so ps shows it.
const (
	roleNode   = "scrfs-testnode"   // first process of a node
	roleLogin  = "scrfs-testlogin"  // holds the login node
	roleFabric = "scrfs-testfabric" // holds the network between the nodes
	roleAgent  = "scrfs-testrsh"    // starts a program on a node, for mpirun
)

// initConfig is what a first process is told on its command line.
type initConfig struct {
	Owner      int // process id of the program that started it
	Cluster    string
	PFS, Local string
	LocalBytes int64
	Name       string
}

// child is a process that holds name spaces. It ends when the pipe alive does,
// so with this program too.
type child struct {
	cmd   *exec.Cmd
	alive *os.File
}

var cloneFlags = map[string]uintptr{
	roleNode:   syscall.CLONE_NEWNS | syscall.CLONE_NEWUTS | syscall.CLONE_NEWIPC | syscall.CLONE_NEWNET | syscall.CLONE_NEWPID,
	roleLogin:  syscall.CLONE_NEWNS | syscall.CLONE_NEWUTS | syscall.CLONE_NEWIPC | syscall.CLONE_NEWNET,
	roleFabric: syscall.CLONE_NEWNET,
}

// startChild starts this program in a role, in new name spaces, and returns
// when it has made its mounts.
func startChild(role string, config initConfig) (*child, error) {
	config.Owner = os.Getpid()
	text, err := json.Marshal(config)
	if err != nil {
		return nil, err
	}
	ready, readyWrite, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer ready.Close()
	aliveRead, alive, err := os.Pipe()
	if err != nil {
		_ = readyWrite.Close()
		return nil, err
	}
	cmd := &exec.Cmd{
		Path:       "/proc/self/exe",
		Args:       []string{role, string(text)},
		Dir:        "/",
		Stderr:     os.Stderr,
		ExtraFiles: []*os.File{readyWrite, aliveRead}, // 3 and 4 over there
		SysProcAttr: &syscall.SysProcAttr{
			Setsid:     true,
			Cloneflags: cloneFlags[role],
		},
	}
	err = cmd.Start()
	_ = readyWrite.Close() // the child has its own
	_ = aliveRead.Close()
	if err != nil {
		_ = alive.Close()
		return nil, err
	}
	c := &child{cmd: cmd, alive: alive}
	if err := awaitReady(ready); err != nil {
		c.kill()
		return nil, err
	}
	return c, nil
}

// awaitReady waits for the word of a new child: "ok", or what went wrong.
func awaitReady(ready *os.File) error {
	if err := ready.SetReadDeadline(time.Now().Add(startTimeout)); err != nil {
		return err
	}
	word, err := io.ReadAll(ready)
	switch {
	case err != nil:
		return fmt.Errorf("first process of the node: %w", err)
	case len(word) == 0:
		return errors.New("first process of the node ended at once; is cluster.Init the first call of main or TestMain?")
	case string(word) != "ok":
		return errors.New(strings.TrimSpace(string(word)))
	}
	return nil
}

func (c *child) pid() int { return c.cmd.Process.Pid }

// kill ends the child and waits. For the first process of a node the kernel
// reports its end only when every other process of the node has ended.
func (c *child) kill() {
	_ = c.cmd.Process.Kill() // fails only if it has ended already
	_ = c.cmd.Wait()         // says "killed", as it was
	_ = c.alive.Close()
}

// ip runs lines of the command ip in the child's net name space.
func (c *child) ip(lines string) error {
	_, err := run(lines, "nsenter", "-t", strconv.Itoa(c.pid()), "-n", "ip", "-batch", "-")
	return err
}

// show is what ip tells about the child's network, in one line for each thing.
func (c *child) show(args ...string) (string, error) {
	return run("", "nsenter", append([]string{"-t", strconv.Itoa(c.pid()), "-n", "ip", "-d", "-o"}, args...)...)
}
