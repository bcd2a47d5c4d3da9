package lammps

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/scrfs/scrfs/integration/cluster"
)

func TestMain(m *testing.M) {
	cluster.Init()
	os.Exit(m.Run())
}

// A run that goes on from a restart file prints what the undisturbed run does.
// This is without scrfs: the demo's comparison stands on it.
func TestRestartGivesTheSameThermo(t *testing.T) {
	if err := cluster.Available(); err != nil {
		t.Skip(err)
	}
	for _, tool := range []string{"lmp", "mpirun"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip(err)
		}
	}
	c, err := cluster.New(t.TempDir(), cluster.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.Up(4); err != nil {
		t.Fatal(err)
	}
	inputs, err := filepath.Abs("../testdata/lammps")
	if err != nil {
		t.Fatal(err)
	}
	job := Job{Inputs: inputs, Dir: c.PFS, Every: 50, Steps: 200}
	whole := run(t, c, job.Command())
	for step := job.Every; step <= job.Steps; step += job.Every {
		for _, f := range job.Files(step, 4) {
			if _, err := os.Stat(filepath.Join(c.PFS, f)); err != nil {
				t.Error(err)
			}
		}
	}
	for _, step := range []int{50, 150} {
		if err := Same(run(t, c, job.Restart(step)), whole.From(step)); err != nil {
			t.Errorf("restart from step %d: %v", step, err)
		}
	}
	for _, f := range job.Files(200, 4) {
		if err := os.Remove(filepath.Join(c.PFS, f)); err != nil {
			t.Error(err)
		}
	}
	if err := Same(run(t, c, job.Restart(0)), whole.From(150)); err != nil {
		t.Errorf("restart from the last step that is there: %v", err)
	}
}

func run(t *testing.T, c *cluster.Cluster, argv []string) Thermo {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	begin := time.Now()
	out, err := c.MPIRun(ctx, c.Nodes(), 4, argv...)
	if err != nil {
		t.Fatal(err)
	}
	thermo, err := ParseThermo(out)
	if err != nil {
		t.Fatalf("%v in\n%s", err, out)
	}
	t.Logf("%d rows in %v", len(thermo.Rows), time.Since(begin).Round(time.Millisecond))
	return thermo
}

const good = "LAMMPS\nStep Temp \n  0  1.44 \nWARNING: slow\n 10  1.12 \nLoop time of 1\nTotal\n"

func TestParseThermo(t *testing.T) {
	got, err := ParseThermo(good)
	if err != nil {
		t.Fatal(err)
	}
	want := Thermo{[]string{"Step", "Temp"}, []Row{{0, []string{"0", "1.44"}}, {10, []string{"10", "1.12"}}}}
	if err := Same(got, want); err != nil {
		t.Error(err)
	}
	if err := Same(got.From(5), Thermo{want.Columns, want.Rows[1:]}); err != nil {
		t.Error(err)
	}
	for name, bad := range map[string]string{
		"nothing":    "",
		"no table":   "mpirun has detected an attempt to run as root.\n",
		"no end":     strings.Split(good, "Loop")[0],
		"no rows":    "Step Temp\nLoop time of 1\n",
		"two tables": good + good,
		"an error":   "Step Temp\n0 1\nERROR on proc 0: Lost atoms\n",
	} {
		if _, err := ParseThermo(bad); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestSameFindsEachDifference(t *testing.T) {
	want, err := ParseThermo(good)
	if err != nil {
		t.Fatal(err)
	}
	for name, other := range map[string]string{
		"a digit":  strings.Replace(good, "1.12", "1.13", 1),
		"a step":   strings.Replace(good, " 10 ", " 20 ", 1),
		"a row":    strings.Replace(good, " 10  1.12 \n", "", 1),
		"a column": strings.Replace(good, "Temp", "Press", 1),
	} {
		got, err := ParseThermo(other)
		if err != nil {
			t.Fatal(err)
		}
		if Same(got, want) == nil {
			t.Errorf("%s: no difference found", name)
		}
	}
	if empty := want.From(20); Same(empty, empty) == nil {
		t.Error("two empty tables are the same")
	}
}
