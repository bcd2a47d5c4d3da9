package resource

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/scrfs/scrfs/scr"
)

func TestIdentifyLaunchers(t *testing.T) {
	for _, c := range []struct {
		env  string
		want Identity
		ok   bool
	}{
		{"OMPI_COMM_WORLD_RANK=3 OMPI_COMM_WORLD_SIZE=4 PMIX_NAMESPACE=55 PMIX_RANK=3", Identity{Rank: 3, World: 4, App: "OMPI_COMM_WORLD_RANK/55"}, true},
		{"SLURM_PROCID=0 SLURM_NTASKS=1 SLURM_JOB_ID=9 SLURM_STEP_ID=2", Identity{Rank: 0, World: 1, App: "SLURM_PROCID/9/2"}, true},
		// srun starts mpirun's daemons: the inner launcher counts.
		{"SLURM_PROCID=1 SLURM_NTASKS=2 OMPI_COMM_WORLD_RANK=7 OMPI_COMM_WORLD_SIZE=8", Identity{Rank: 7, World: 8, App: ""}, true},
		{"RANK=2 WORLD_SIZE=8 MASTER_PORT=29500", Identity{Rank: 2, World: 8, App: "RANK/29500"}, true},
		{"PMI_RANK=1 PMI_SIZE=2", Identity{Rank: 1, World: 2, App: ""}, true},
		{"RANK=abc", Identity{Rank: NoRank}, false},
		{"RANK=-1", Identity{Rank: NoRank}, false},
		{"OMPI_COMM_WORLD_RANK=4 OMPI_COMM_WORLD_SIZE=4", Identity{Rank: 4, World: 0, App: ""}, true},
		{"HOME=/root", Identity{Rank: NoRank}, false},
	} {
		got, ok := Identify(strings.Fields(c.env))
		got.restarts = false
		if got != c.want || ok != c.ok {
			t.Errorf("Identify(%q) = %+v, %v, want %+v, %v", c.env, got, ok, c.want, c.ok)
		}
	}
}

// TestRankOfChild asks about real processes: one that has a rank, and its
// child that has unset the variable.
func TestRankOfChild(t *testing.T) {
	cmd := exec.Command("sh", "-c", "env -u RANK sh -c 'echo $$; read x; :'; :")
	cmd.Env = append(os.Environ(), "RANK=5", "WORLD_SIZE=6")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 32)
	n, err := out.Read(buf)
	if err != nil {
		t.Fatal(err)
	}
	var child uint32
	for _, c := range strings.TrimSpace(string(buf[:n])) {
		child = child*10 + uint32(c-'0')
	}
	i := NewIdentifier("/proc")
	for _, pid := range []uint32{uint32(cmd.Process.Pid), child} {
		if got := i.Of(pid); got.Rank != scr.Rank(5) || got.World != 6 {
			t.Errorf("Of(%d) = %+v, want rank 5 of 6", pid, got)
		}
	}
	if i.Killed(child) {
		t.Errorf("Killed(%d) of a living process", child)
	}
	in.Close()
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	if got := i.Of(0); got.Rank != NoRank {
		t.Errorf("Of(0) = %+v, want no rank", got)
	}
}
