package daemon

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path"
	"time"

	"github.com/scrfs/scrfs/internal/disk"
	"github.com/scrfs/scrfs/kvtree"
)

// ErrPrefixTaken: another job that lives uses the prefix directory.
var ErrPrefixTaken = errors.New("prefix directory belongs to another job")

// A job on a prefix directory writes its name into jobFile and renews the time
// there; one that has not done so for jobDead is taken for dead.
const (
	jobRenew = 30 * time.Second
	jobDead  = 5 * time.Minute
)

var jobFile = path.Join(stateDir, "job.scr")

// takePrefix makes sure that no other job uses the prefix directory, and notes
// that this one does.
func (n *Node) takePrefix(context.Context) error {
	lock, err := n.prefixDisk.Lock(jobFile+".lock", true)
	if err != nil {
		return err
	}
	defer lock.Close()
	b, err := disk.ReadFile(n.prefixDisk, jobFile)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	default:
		if err := n.checkHolder(b); err != nil {
			return err
		}
	}
	return n.renewPrefix()
}

func (n *Node) checkHolder(b []byte) error {
	t, _, err := kvtree.Decode(b)
	if err != nil {
		// Written whole or not at all: this is no work of ours.
		return fmt.Errorf("%s: %w", jobFile, err)
	}
	job, _ := t.Value("JOBID")
	node, _ := t.Value("NODE")
	seen, err := t.Int("HEARTBEAT")
	if err != nil {
		return fmt.Errorf("%s: %w", jobFile, err)
	}
	age := time.Since(time.Unix(seen, 0))
	if job != n.opts.JobID && age < jobDead {
		return fmt.Errorf("%w: job %s (node %s) was last seen %v ago", ErrPrefixTaken, job, node, age.Round(time.Second))
	}
	return nil
}

func (n *Node) renewPrefix() error {
	t := kvtree.New()
	t.PutString("JOBID", n.opts.JobID)
	t.PutString("NODE", n.opts.Node)
	t.PutInt("HEARTBEAT", time.Now().Unix())
	return disk.WriteFile(n.prefixDisk, jobFile, kvtree.Encode(t), 0o644)
}

// keepPrefix renews the time while this node leads, and lets go at the end.
func (n *Node) keepPrefix() {
	defer n.wg.Done()
	t := time.NewTicker(jobRenew)
	defer t.Stop()
	for {
		select {
		case <-n.ctx.Done():
			return
		case <-t.C:
		}
		if !n.group.leads() {
			continue
		}
		if err := n.prefix.Do(n.renewPrefix); err != nil {
			n.log.Warn("heartbeat on the prefix directory failed", slog.Any("err", err))
		}
	}
}

// leavePrefix lets another job have the prefix directory at once.
func (n *Node) leavePrefix() error {
	if n.group == nil || !n.group.leads() {
		return nil
	}
	err := n.prefix.Do(func() error { return n.prefixDisk.Remove(jobFile) })
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
