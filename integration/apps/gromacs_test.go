//go:build apps

package apps

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestGromacsAppends runs 512 argon atoms to the half, and on from the
// checkpoint to the end: GROMACS checks and truncates its own output and
// appends. With -reprod all its output is that of a run in one piece.
func TestGromacsAppends(t *testing.T) {
	s := newSite(t, "gmx_mpi")
	input := gromacsInput(t, s)
	mdrun := func(dir string, args ...string) {
		s.run(dir, append([]string{"gmx_mpi", "mdrun", "-s", input, "-cpt", "0.005", "-reprod", "-dlb", "no", "-ntomp", "1", "-notunepme"}, args...)...)
	}
	mdrun(s.plain, "-nsteps", "4000")
	s.mount()
	mdrun(s.prefix, "-nsteps", "2000")
	mdrun(s.prefix, "-nsteps", "2000", "-cpi", "state.cpt", "-append") // so many more
	s.unmount()
	s.same("confout.gro", "ener.edr", "traj_comp.xtc")
	for _, name := range []string{"state.cpt", "md.log"} {
		if _, err := os.Stat(filepath.Join(s.prefix, name)); err != nil {
			t.Error(err)
		}
	}
}

// gromacsInput makes the run input below the cluster's shared directory.
func gromacsInput(t *testing.T, s *site) string {
	t.Helper()
	const edge, apart = 8, 0.54 // atoms, nm
	var b strings.Builder
	fmt.Fprintf(&b, "argon\n%5d\n", edge*edge*edge)
	for i := range edge * edge * edge {
		x, y, z := float64(i/edge/edge), float64(i/edge%edge), float64(i%edge)
		fmt.Fprintf(&b, "%5d%-5s%5s%5d%8.3f%8.3f%8.3f\n", i+1, "AR", "AR", i+1, x*apart+0.1, y*apart+0.1, z*apart+0.1)
	}
	fmt.Fprintf(&b, "%10.5f%10.5f%10.5f\n", edge*apart, edge*apart, edge*apart)
	atoms, input := filepath.Join(s.c.PFS, "conf.gro"), filepath.Join(s.c.PFS, "argon.tpr")
	if err := os.WriteFile(atoms, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	grompp := exec.CommandContext(s.ctx, "gmx_mpi", "grompp", "-f", "../testdata/gromacs/md.mdp", "-p", "../testdata/gromacs/topol.top",
		"-c", atoms, "-o", input, "-po", filepath.Join(s.c.PFS, "mdout.mdp"))
	grompp.Env = append(os.Environ(), "OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1")
	if out, err := grompp.CombinedOutput(); err != nil {
		t.Fatalf("grompp: %v\n%s", err, out)
	}
	return input
}
