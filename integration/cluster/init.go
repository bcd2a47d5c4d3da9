package cluster

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
)

// Init must be the first call of main, or of TestMain, of every program that
// makes a Cluster. In a process that was started as part of a node it does
// that part and never returns; elsewhere it does nothing.
func Init() {
	switch role := filepath.Base(os.Args[0]); role {
	case roleNode, roleLogin, roleFabric:
		os.Exit(hold(role))
	case roleAgent:
		os.Exit(agent(os.Args))
	}
}

// hold makes the mounts of a role, says so, and stays until the program that
// started it is gone. The result is the exit code.
func hold(role string) int {
	ready, alive := os.NewFile(3, "ready"), os.NewFile(4, "alive")
	if err := prepare(role); err != nil {
		fmt.Fprintf(ready, "%s: %v\n", role, err)
		return 1
	}
	go reap()
	if _, err := ready.WriteString("ok"); err != nil {
		return 1
	}
	if err := ready.Close(); err != nil {
		return 1
	}
	// Nothing is ever written: the read ends when the other end is closed, by
	// the kernel at the latest.
	_, _ = io.Copy(io.Discard, alive)
	return 0
}

// prepare turns new name spaces into those of a node.
func prepare(role string) error {
	if len(os.Args) != 2 {
		return fmt.Errorf("want one argument, got %d", len(os.Args)-1)
	}
	var config initConfig
	if err := json.Unmarshal([]byte(os.Args[1]), &config); err != nil {
		return err
	}
	if role == roleFabric {
		return nil
	}
	if err := syscall.Sethostname([]byte(config.Name)); err != nil {
		return fmt.Errorf("set host name %s: %w", config.Name, err)
	}
	return mountNode(config, role == roleNode)
}

// reap waits for the orphans that the kernel hands to the first process of a
// pid name space.
func reap() {
	ended := make(chan os.Signal, 64)
	signal.Notify(ended, syscall.SIGCHLD)
	for range ended {
		for {
			pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil)
			if err == syscall.EINTR {
				continue
			}
			if pid <= 0 || err != nil {
				break
			}
		}
	}
}
