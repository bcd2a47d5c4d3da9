package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	urfave "github.com/urfave/cli/v2"

	"github.com/scrfs/scrfs/cmd/internal/cli"
	"github.com/scrfs/scrfs/config"
	"github.com/scrfs/scrfs/scavenger"
)

// remote starts this program on the nodes.
type remote struct {
	launcher   scavenger.Launcher
	program    string
	controlDir string // with {node}
	prefix     string
	within     time.Duration // a node answers
}

func newRemote(c *urfave.Context, cfg *config.Config) (*remote, error) {
	l, err := scavenger.ParseLauncher(c.String("launcher"))
	if err != nil {
		return nil, &cli.UsageError{Err: err}
	}
	control, err := controlDir(c, cfg)
	if err != nil {
		return nil, err
	}
	program := c.String("program")
	if program == "" {
		if program, err = os.Executable(); err != nil {
			return nil, fmt.Errorf("where is scr-postrun: %w", err)
		}
	}
	return &remote{l, program, control, cfg.Prefix, c.Duration("answer-within")}, nil
}

func (r *remote) control(node string) string {
	return filepath.Clean(strings.ReplaceAll(r.controlDir, "{node}", node))
}

// list asks a node what its cache has.
func (r *remote) list(ctx context.Context, node string) (scavenger.NodeCache, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, r.within, fmt.Errorf("no answer within %v", r.within))
	defer cancel()
	reply, err := r.run(ctx, node, "list", []string{"list", "--control-dir", r.control(node), "--json"})
	if err != nil {
		return scavenger.NodeCache{}, err
	}
	if reply.Cache == nil {
		return scavenger.NodeCache{}, errors.New("list: the answer is empty")
	}
	return *reply.Cache, nil
}

// copy lets a node copy its part of a dataset into the stage.
func (r *remote) copy(ctx context.Context, node string, o scavenger.CopyOrder) (scavenger.Copied, error) {
	argv := []string{"copy", "--control-dir", r.control(node), "--prefix", r.prefix, "--dataset", o.Dataset.String(), "--json"}
	argv = append(argv, "--sets", formatSets(o))
	if len(o.Ranks) > 0 {
		argv = append(argv, "--ranks", formatRanks(o.Ranks))
	}
	if len(o.Failed) > 0 {
		argv = append(argv, "--failed", strings.Join(o.Failed, ","))
	}
	reply, err := r.run(ctx, node, "copy", argv)
	if err != nil {
		return scavenger.Copied{}, err
	}
	if reply.Copied == nil {
		return scavenger.Copied{}, errors.New("copy: the answer is empty")
	}
	return *reply.Copied, nil
}

// run starts the program on a node and waits for its answer.
func (r *remote) run(ctx context.Context, node, kind string, argv []string) (scavenger.Reply, error) {
	words := r.launcher.Command(node, append([]string{r.program}, argv...))
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	// A launcher may be a shell with children of its own: all of them end.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = waitDelay
	failed := cmd.Run()
	reply, ok, err := scavenger.ParseReply(kind, stdout.Bytes())
	switch {
	case ok:
		return reply, err // the exit code may be that of the launcher
	case ctx.Err() != nil:
		return reply, fmt.Errorf("%s: %w", kind, context.Cause(ctx))
	case failed != nil:
		return reply, fmt.Errorf("%s: %s: %w%s", kind, words[0], failed, said(stderr.Bytes()))
	}
	return reply, fmt.Errorf("%s: %s has ended without an answer%s", kind, words[0], said(stderr.Bytes()))
}

// waitDelay is how long a launcher that was told to end may take to end before
// it is killed.
const waitDelay = 5 * time.Second

// said is the end of what a command printed on standard error.
func said(stderr []byte) string {
	const lines = 3
	text := scavenger.LastLines(stderr, lines)
	if text == "" {
		return ""
	}
	return ": " + text
}
