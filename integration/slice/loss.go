package slice

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/scrfs/scrfs/daemon"
)

// loseNode kills a node, cache and daemon, in the middle of the run.
func (s *Slice) loseNode(ctx context.Context) error {
	runCtx, stop := context.WithCancel(ctx)
	defer stop()
	job, err := s.Cluster.MPI(runCtx, s.Cluster.Nodes(), ranks, s.lammps(s.Prefix(), secondEnd).Restart(s.step(firstEnd))...)
	if err != nil {
		return err
	}
	if err := job.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- job.Wait() }()
	defer func() { stop(); <-ended }()
	kept := s.files(killAfter)
	if _, err := s.awaitStatus(ctx, s.Cluster.Node(1), "third checkpoint protected", protected(s.name(killAfter))); err != nil {
		return err
	}
	want, err := s.sums(ctx, s.Cluster.Node(1), kept...)
	if err != nil {
		return err
	}
	if err := s.Cluster.Node(2).Kill(); err != nil {
		return err
	}
	s.say("node2 is lost in mid-run, daemon and cache, after the checkpoint at step %d was protected; it is only in the caches", s.step(killAfter))
	select {
	case err := <-ended:
		ended <- err
		if err == nil {
			return errors.New("mpirun did not notice the loss of a node")
		}
	case <-time.After(patience):
		return fmt.Errorf("mpirun still runs %v after the loss of a node", patience)
	}
	if _, err := s.awaitStatus(ctx, s.Cluster.Node(1), "node2's files rebuilt", func(st daemon.Status) bool {
		for _, d := range st.Datasets {
			if strings.HasPrefix(d.Name, s.name(killAfter)) {
				return downNode(st, "node2") && d.State != "PROTECTED" && d.State != "REBUILDING"
			}
		}
		return false
	}); err != nil {
		return err
	}
	for _, i := range []int{1, 3, 4} {
		got, err := s.sums(ctx, s.Cluster.Node(i), kept...)
		if err != nil {
			return err
		}
		if err := same(got, want); err != nil {
			return fmt.Errorf("after the rebuild, on node%d: %w", i, err)
		}
	}
	s.say("its files were rebuilt from the others and read back byte for byte through the other mounts")
	return nil
}

func downNode(st daemon.Status, name string) bool {
	for _, m := range st.Members {
		if m.Name == name {
			return !m.Alive
		}
	}
	return false
}

// restart brings the node back, empty, and lets the program go on from the
// rebuilt checkpoint.
func (s *Slice) restart(ctx context.Context) error {
	n, err := s.Cluster.Start(2)
	if err != nil {
		return err
	}
	if err := s.mount(ctx, n, "SCR_FLUSH=2"); err != nil {
		return err
	}
	lines, err := s.run(ctx, s.lammps(s.Prefix(), secondEnd).Restart(s.step(killAfter)))
	if err != nil {
		return err
	}
	s.say("node2 is back with an empty cache; LAMMPS restarts from step %d and runs to %d: its %d lines are those of the undisturbed run",
		s.step(killAfter), s.step(secondEnd), lines)
	return nil
}

func (s *Slice) unmountAll(ctx context.Context) error {
	if _, err := s.on(ctx, s.Cluster.Node(1), s.scrfs(), "wait", "--for", "flushed", "--timeout", "2m", s.Prefix()); err != nil {
		return err
	}
	for _, n := range s.Cluster.Nodes() {
		if _, err := s.on(ctx, n, s.scrfs(), "unmount", s.Prefix()); err != nil {
			return err
		}
	}
	_, err := s.sumsOnPFS(s.files(secondEnd)...)
	if err != nil {
		return err
	}
	s.say("unmounted once everything was flushed: step %d is on the PFS", s.step(secondEnd))
	return nil
}

// rescue kills every daemon before a checkpoint was flushed, loses a node on
// top, and lets scr-postrun bring the checkpoint to the PFS.
func (s *Slice) rescue(ctx context.Context) error {
	if err := s.mountAll(ctx, "SCR_FLUSH=0"); err != nil {
		return err
	}
	lines, err := s.run(ctx, s.lammps(s.Prefix(), lastEnd).Restart(0))
	if err != nil {
		return err
	}
	s.say("mounted anew, nothing is flushed now; LAMMPS goes on from the PFS to step %d: its %d lines are right", s.step(lastEnd), lines)
	files := s.files(lastEnd)
	if _, err := s.awaitStatus(ctx, s.Cluster.Node(1), "last checkpoint protected", protected(s.name(lastEnd))); err != nil {
		return err
	}
	want, err := s.sums(ctx, s.Cluster.Node(1), files...)
	if err != nil {
		return err
	}
	if err := s.killDaemons(ctx); err != nil {
		return err
	}
	if _, err := os.Lstat(filepath.Join(s.Prefix(), files[0])); !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s is on the PFS before the rescue: %v", files[0], err)
	}
	if err := s.Cluster.Node(4).Kill(); err != nil {
		return err
	}
	s.say("all daemons are killed before the checkpoint at step %d was flushed, and node4 is lost with its cache", s.step(lastEnd))
	args := []string{
		filepath.Join(s.Bin, "scr-postrun"), "--prefix", s.Prefix(), "--nodes", "node[1-4]", "--down", "node4",
		"--launcher", s.Cluster.Agent() + " {node} {command}", "--control-dir", s.control(),
	}
	cmd := s.Cluster.Login().CommandContext(ctx, args...)
	out, err := output(cmd, "login", args)
	if err != nil {
		return err
	}
	got, err := s.sumsOnPFS(files...)
	if err != nil {
		return err
	}
	if err := same(got, want); err != nil {
		return fmt.Errorf("after the rescue: %w", err)
	}
	s.say("scr-postrun copied what was left, rebuilt node4's files, indexed and published, every byte right:\n%s", indent(out))
	return s.restartFromPFS(ctx)
}

// killDaemons is kill -9 for each, and what an epilog does then.
func (s *Slice) killDaemons(ctx context.Context) error {
	for _, n := range s.Cluster.Nodes() {
		st, err := s.status(ctx, n)
		if err != nil {
			return err
		}
		if _, err := s.on(ctx, n, "sh", "-c", fmt.Sprintf("kill -9 %d", st.PID)); err != nil {
			return err
		}
		if _, err := s.on(ctx, n, "umount", "-l", s.Prefix()); err != nil {
			return err
		}
	}
	return nil
}

// restartFromPFS goes on, without scrfs, from the rescued checkpoint.
func (s *Slice) restartFromPFS(ctx context.Context) error {
	if _, err := s.Cluster.Start(4); err != nil {
		return err
	}
	lines, err := s.run(ctx, s.lammps(s.Prefix(), beyond).Restart(s.step(lastEnd)))
	if err != nil {
		return err
	}
	s.say("LAMMPS restarts from the rescued checkpoint: its %d lines up to step %d are those of the undisturbed run", lines, s.step(beyond))
	return nil
}
