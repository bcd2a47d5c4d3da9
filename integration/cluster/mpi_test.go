package cluster

import (
	"context"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"
)

func needMPI(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("mpirun"); err != nil {
		t.Skip(err)
	}
}

func TestMPIRunsOneRankOnEachNode(t *testing.T) {
	needMPI(t)
	c := up(t, 4)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	out, err := c.MPIRun(ctx, c.Nodes(), 4, "hostname")
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Fields(out)
	slices.Sort(got)
	if want := []string{"node1", "node2", "node3", "node4"}; !slices.Equal(got, want) {
		t.Errorf("ranks ran on %v, want %v", got, want)
	}
}

func TestMPIRunReportsAFailingRank(t *testing.T) {
	needMPI(t)
	c := up(t, 2)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	_, err := c.MPIRun(ctx, c.Nodes(), 2, "sh", "-c", "echo it broke; exit 3")
	if err == nil || !strings.Contains(err.Error(), "it broke") {
		t.Errorf("got %v, want the error with what was printed", err)
	}
}

func TestShareIsEvenAndWhole(t *testing.T) {
	for np := 1; np < 20; np++ {
		for n := 1; n < 8; n++ {
			sum, low, high := 0, np, 0
			for i := range n {
				s := share(np, n, i)
				sum, low, high = sum+s, min(low, s), max(high, s)
			}
			if sum != np || high-low > 1 {
				t.Errorf("%d ranks on %d nodes: sum %d, from %d to %d", np, n, sum, low, high)
			}
		}
	}
}
