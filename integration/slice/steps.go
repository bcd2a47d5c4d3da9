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
	"github.com/scrfs/scrfs/integration/lammps"
)

// The story is told in checkpoints; s.every steps of LAMMPS lie between two.
const (
	firstEnd  = 2 // the first run ends at this checkpoint
	killAfter = 3 // the node is lost when this one is protected; it is odd, and so not flushed
	secondEnd = 6
	lastEnd   = 7 // the daemons are killed when this one is protected
	beyond    = 8 // restart from the rescued checkpoint up to here
)

// step is that of a checkpoint.
func (s *Slice) step(checkpoint int) int { return checkpoint * s.every }

// name is what the files of a checkpoint begin with.
func (s *Slice) name(checkpoint int) string { return fmt.Sprintf("pp.%d.", s.step(checkpoint)) }

// files are those of a checkpoint.
func (s *Slice) files(checkpoint int) []string {
	return s.lammps("", checkpoint).Files(s.step(checkpoint), ranks)
}

// Run goes through the whole story. It returns the first thing that did not
// hold.
func (s *Slice) Run(ctx context.Context) error {
	for _, step := range []struct {
		what string
		do   func(context.Context) error
	}{
		{"undisturbed run", s.undisturbed},
		{"mount", s.begin},
		{"checkpoints", s.firstRun},
		{"node loss", s.loseNode},
		{"restart", s.restart},
		{"shell loop", s.shellLoop},
		{"unmount", s.unmountAll},
		{"rescue", s.rescue},
	} {
		if err := step.do(ctx); err != nil {
			return fmt.Errorf("%s: %w", step.what, err)
		}
	}
	return nil
}

// lammps is the simulation up to a checkpoint, with its files in a directory.
func (s *Slice) lammps(dir string, checkpoint int) lammps.Job {
	return lammps.Job{Inputs: s.Inputs, Dir: dir, Every: s.every, Steps: s.step(checkpoint)}
}

// calibrate chooses how many steps lie between two checkpoints so that they
// are some quiet times apart on this machine: closer ones would be merged.
func (s *Slice) calibrate(ctx context.Context, dir string) error {
	const probe = 200
	s.every = probe
	begin := time.Now()
	if _, err := s.Cluster.MPIRun(ctx, s.Cluster.Nodes(), ranks, s.lammps(dir, 1).Command()...); err != nil {
		return err
	}
	short := time.Since(begin)
	if _, err := s.Cluster.MPIRun(ctx, s.Cluster.Nodes(), ranks, s.lammps(dir, 5).Command()...); err != nil {
		return err
	}
	perStep := max((time.Since(begin)-2*short)/(4*probe), 100*time.Microsecond)
	s.every = max(probe, int(5*quiet/perStep)/10*10)
	return nil
}

// run runs LAMMPS to its end and compares its thermodynamic output with that
// of the undisturbed run.
func (s *Slice) run(ctx context.Context, argv []string) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	out, err := s.Cluster.MPIRun(ctx, s.Cluster.Nodes(), ranks, argv...)
	if err != nil {
		return 0, err
	}
	thermo, err := lammps.ParseThermo(out)
	if err != nil {
		return 0, fmt.Errorf("%w in\n%s", err, out)
	}
	from, to := thermo.Rows[0].Step, thermo.Rows[len(thermo.Rows)-1].Step
	return len(thermo.Rows), lammps.Same(thermo, s.reference.Between(from, to))
}

// undisturbed is the run all others are compared with: no scrfs, no loss.
func (s *Slice) undisturbed(ctx context.Context) error {
	dir := filepath.Join(s.Cluster.PFS, "undisturbed")
	if err := errors.Join(os.Mkdir(dir, 0o755), os.Mkdir(s.Prefix(), 0o755)); err != nil {
		return err
	}
	if err := s.calibrate(ctx, dir); err != nil {
		return err
	}
	out, err := s.Cluster.MPIRun(ctx, s.Cluster.Nodes(), ranks, s.lammps(dir, beyond).Command()...)
	if err != nil {
		return err
	}
	if s.reference, err = lammps.ParseThermo(out); err != nil {
		return err
	}
	s.say("LAMMPS runs undisturbed, %d ranks on %d nodes, %d steps to a checkpoint: %d lines of output to compare with",
		ranks, ranks, s.every, len(s.reference.Rows))
	return nil
}

func (s *Slice) begin(ctx context.Context) error {
	// Each second checkpoint is copied to the PFS, the others stay in the caches.
	if err := s.mountAll(ctx, "SCR_FLUSH=2"); err != nil {
		return err
	}
	st, err := s.status(ctx, s.Cluster.Node(1))
	if err != nil {
		return err
	}
	s.say("scrfs is mounted over %s on %d nodes, leader %s, data road: %s", s.Prefix(), len(st.Members), st.Leader, st.Road)
	return nil
}

// firstRun writes two checkpoints and looks at all that follows.
func (s *Slice) firstRun(ctx context.Context) error {
	n, err := s.run(ctx, s.lammps(s.Prefix(), firstEnd).Command())
	if err != nil {
		return err
	}
	s.say("LAMMPS, unmodified, writes checkpoints at steps %d and %d through the mounts: its %d lines are those of the undisturbed run",
		s.step(1), s.step(2), n)
	files := append(s.files(1), s.files(2)...)
	want, err := s.sums(ctx, s.Cluster.Node(1), files...)
	if err != nil {
		return err
	}
	for _, n := range s.Cluster.Nodes() {
		got, err := s.sums(ctx, n, files...)
		if err != nil {
			return err
		}
		if err := same(got, want); err != nil {
			return fmt.Errorf("%s reads what node1 does not: %w", n.Name, err)
		}
	}
	s.say("all %d files read the same through every mount, each written into its own node's cache", len(files))
	if err := s.checkRedundancy(ctx); err != nil {
		return err
	}
	return s.checkPublished(ctx, want)
}

// checkRedundancy looks at the XOR files in the caches, with SCR's header.
func (s *Slice) checkRedundancy(ctx context.Context) error {
	st, err := s.awaitStatus(ctx, s.Cluster.Node(1), "two protected checkpoints", func(st daemon.Status) bool {
		return protected(s.name(1))(st) && protected(s.name(2))(st)
	})
	if err != nil {
		return err
	}
	for _, d := range st.Datasets {
		for i, n := range s.Cluster.Nodes() {
			file := fmt.Sprintf("%s/scr.dataset.%d/%d_of_%d_in_0.xor", s.control(), d.ID, i+1, ranks)
			text, err := s.on(ctx, n, s.scrfs(), "print", file)
			if err != nil {
				return err
			}
			if !strings.Contains(text, "CHUNK") || !strings.Contains(text, "PARTNER") {
				return fmt.Errorf("%s: %s has no XOR header:\n%s", n.Name, file, text)
			}
		}
	}
	s.say("the boundary of each was found; XOR over TCP: <n>_of_4_in_0.xor with SCR's header lies on every node")
	return nil
}

// checkPublished looks beneath the mounts: one of two checkpoints is there,
// whole, and nothing of the other.
func (s *Slice) checkPublished(ctx context.Context, want map[string]string) error {
	_, err := s.awaitStatus(ctx, s.Cluster.Node(2), "second checkpoint published", func(st daemon.Status) bool {
		for _, d := range st.Datasets {
			if strings.HasPrefix(d.Name, s.name(2)) && d.Published {
				return true
			}
		}
		return false
	})
	if err != nil {
		return err
	}
	flushed := s.files(2)
	got, err := s.sumsOnPFS(flushed...)
	if err != nil {
		return err
	}
	for _, name := range flushed {
		if got[name] != want[name] {
			return fmt.Errorf("%s on the PFS: checksum %q, want %q", name, got[name], want[name])
		}
	}
	for _, name := range s.files(1) {
		if _, err := os.Lstat(filepath.Join(s.Prefix(), name)); !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%s is on the PFS although its checkpoint was not to be flushed: %v", name, err)
		}
	}
	list, err := output(s.Cluster.Login().Command(s.scrfs(), "index", "--prefix", s.Prefix(), "--list"), "login", nil)
	if err != nil {
		return err
	}
	s.say("step %d was flushed in the background and published whole, with summary and index; of step %d nothing is there:\n%s",
		s.step(2), s.step(1), indent(list))
	return nil
}

func indent(text string) string {
	return "      " + strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n      ")
}

// shellLoop is the second program: mkdir and dd, no MPI.
func (s *Slice) shellLoop(ctx context.Context) error {
	script := `set -e; cd "$1"; for step in 10 20; do mkdir -p "ckpt.$step"; ` +
		`dd if=/dev/urandom of="ckpt.$step/rank $2.dat" bs=64k count=$((3 + $2)) 2>/dev/null; done`
	errs := make(chan error)
	nodes := s.Cluster.Nodes()
	for i, n := range nodes {
		go func() {
			_, err := s.on(ctx, n, "sh", "-c", script, "sh", s.Prefix(), fmt.Sprint(i))
			errs <- err
		}()
	}
	var all []error
	for range nodes {
		all = append(all, <-errs)
	}
	if err := errors.Join(all...); err != nil {
		return err
	}
	var files []string
	for _, step := range []string{"10", "20"} {
		for i := range nodes {
			files = append(files, fmt.Sprintf("ckpt.%s/rank %d.dat", step, i))
		}
	}
	want, err := s.sums(ctx, nodes[0], files...)
	if err != nil {
		return err
	}
	if _, err := s.on(ctx, nodes[0], s.scrfs(), "wait", "--for", "flushed", "--timeout", "2m", s.Prefix()); err != nil {
		return err
	}
	got, err := s.sumsOnPFS(files...)
	if err != nil {
		return err
	}
	if err := same(got, want); err != nil {
		return err
	}
	s.say("a shell loop of mkdir and dd on four nodes: ckpt.10 and ckpt.20 are on the PFS, %d files, every byte right", len(files))
	return nil
}
