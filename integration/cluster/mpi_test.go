package cluster

import (
	"bufio"
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

// startJob starts a job that would last for minutes and waits until each rank
// runs.
func startJob(t *testing.T, ctx context.Context, c *Cluster, np int) *exec.Cmd {
	t.Helper()
	cmd, err := c.MPI(ctx, c.Nodes(), np, "sh", "-c", "echo running; exec sleep 600")
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
	lines := bufio.NewScanner(out)
	for range np {
		if !lines.Scan() {
			t.Fatalf("the job ended at once: %v", cmd.Wait())
		}
	}
	return cmd
}

// sleeping tells whether a rank of startJob is left on a node.
func sleeping(t *testing.T, n *Node) bool {
	out, err := on(t, n, "sh", "-c", "cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' ' '; true")
	if err != nil {
		t.Fatal(err)
	}
	return strings.Contains(out, "sleep 600 ")
}

func TestLossOfANodeEndsTheJob(t *testing.T) {
	needMPI(t)
	c := up(t, 3)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	job := startJob(t, ctx, c, 3)
	if !sleeping(t, c.Node(1)) {
		t.Error("no rank is seen on node1")
	}
	if err := c.Node(2).Kill(); err != nil {
		t.Fatal(err)
	}
	if err := job.Wait(); err == nil || ctx.Err() != nil {
		t.Errorf("the job ended with %v, %v; want an error soon", err, ctx.Err())
	}
	for _, n := range c.Nodes() {
		await(t, "end of the rank on "+n.Name, func() bool { return !sleeping(t, n) })
	}
}

func TestCancelEndsTheJobOnAllNodes(t *testing.T) {
	needMPI(t)
	c := up(t, 2)
	ctx, cancel := context.WithCancel(t.Context())
	job := startJob(t, ctx, c, 4)
	cancel()
	if err := job.Wait(); err == nil {
		t.Error("a cancelled job ended well")
	}
	for _, n := range c.Nodes() {
		await(t, "end of the ranks on "+n.Name, func() bool { return !sleeping(t, n) })
	}
}
