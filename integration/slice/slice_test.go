package slice

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/scrfs/scrfs/integration/cluster"
)

func TestMain(m *testing.M) {
	cluster.Init()
	os.Exit(m.Run())
}

// TestSlice is the main job: what the demo shows, checked.
func TestSlice(t *testing.T) {
	if err := cluster.Available(); err != nil {
		t.Skip(err)
	}
	for _, tool := range []string{"lmp", "mpirun"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip(err)
		}
	}
	bin := t.TempDir()
	build := exec.Command("go", "build", "-o", bin, "../../cmd/...")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	c, err := cluster.New("", cluster.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}()
	if err := c.Up(ranks); err != nil {
		t.Fatal(err)
	}
	inputs, err := filepath.Abs("../testdata/lammps")
	if err != nil {
		t.Fatal(err)
	}
	s := Slice{Cluster: c, Bin: bin, Inputs: inputs, Say: func(step string) { t.Log(step) }}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Minute)
	defer cancel()
	if err := s.Run(ctx); err != nil {
		t.Error(err)
		t.Log(s.Logs())
	}
}
