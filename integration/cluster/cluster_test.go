package cluster

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// up is a cluster of n nodes for the length of the test.
func up(t *testing.T, n int) *Cluster {
	t.Helper()
	if err := Available(); err != nil {
		t.Skip(err)
	}
	c, err := New(t.TempDir(), Options{LocalBytes: 64 << 20})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := c.Up(n); err != nil {
		t.Fatal(err)
	}
	return c
}

// on runs a program on a node and returns what it printed.
func on(t *testing.T, n *Node, args ...string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	out, err := n.CommandContext(ctx, args...).CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

// listen starts a program on a node that says its host name at port 7000.
func listen(t *testing.T, n *Node) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return startSaying(t, n.Command(self, "answer", n.Addr+":7000"), "listening\n")
}

// startSaying starts a program and waits for its first line.
func startSaying(t *testing.T, cmd *exec.Cmd, want string) *exec.Cmd {
	t.Helper()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var messages strings.Builder
	cmd.Stderr = &messages
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != want {
		_ = cmd.Wait()
		t.Fatalf("%s says %q (%v), want %q; %s", cmd, line, err, want, messages.String())
	}
	return cmd
}

func TestNodesAreApartAndReachEachOther(t *testing.T) {
	c := up(t, 4)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	mark := `hostname >"$0/mark" && hostname >/dev/shm/mark && hostname >"$1/$(hostname)" && cat "$0/mark" /dev/shm/mark && hostname`
	for _, n := range c.Nodes() {
		want := strings.Join([]string{n.Name, n.Name, n.Name}, "\n")
		if got, err := on(t, n, "sh", "-c", mark, c.Local, c.PFS); err != nil || got != want {
			t.Errorf("%s: got %q, %v", n.Name, got, err)
		}
	}
	for _, hidden := range []string{filepath.Join(c.Local, "mark"), "/dev/shm/mark"} {
		if _, err := os.Stat(hidden); !os.IsNotExist(err) {
			t.Errorf("%s of a node is seen on the machine: %v", hidden, err)
		}
	}
	if got, err := os.ReadDir(c.PFS); err != nil || len(got) != 4 {
		t.Errorf("the shared directory has %d entries, %v; want one of each node", len(got), err)
	}
	var servers []*exec.Cmd
	for _, n := range c.Nodes() {
		servers = append(servers, listen(t, n))
	}
	for _, from := range append(c.Nodes(), c.Login()) {
		for _, to := range c.Nodes() {
			if got, err := on(t, from, self, "ask", to.Addr+":7000"); err != nil || got != to.Name {
				t.Errorf("%s asks %s: %q, %v", from.Name, to.Name, got, err)
			}
		}
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	for _, s := range servers {
		if err := s.Wait(); err == nil {
			t.Error("a program of a closed cluster ended well")
		}
	}
}

func TestKillIsTheLossOfANode(t *testing.T) {
	c := up(t, 3)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	server := listen(t, c.Node(2))
	lost := c.Node(2)
	if _, err := on(t, lost, "sh", "-c", `echo 1 >"$0/file"`, c.Local); err != nil {
		t.Fatal(err)
	}
	if err := lost.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := server.Wait(); err == nil {
		t.Error("the program on the lost node ended well")
	}
	if c.Node(2) != nil || len(c.Nodes()) != 2 {
		t.Error("the lost node is still listed")
	}
	if got, err := on(t, c.Node(1), self, "ask", lost.Addr+":7000"); err == nil {
		t.Errorf("the lost node answers %q", got)
	}
	if err := lost.Kill(); err != nil {
		t.Errorf("lost twice: %v", err)
	}
	again, err := c.Start(2)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := on(t, again, "find", c.Local, "-type", "f"); err != nil || got != "" {
		t.Errorf("the new node has %q, %v", got, err)
	}
	listen(t, again)
	if got, err := on(t, c.Node(1), self, "ask", again.Addr+":7000"); err != nil || got != "node2" {
		t.Errorf("the new node says %q, %v", got, err)
	}
}

func TestCutAndHeal(t *testing.T) {
	c := up(t, 2)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	listen(t, c.Node(2))
	if err := c.Node(2).Cut(); err != nil {
		t.Fatal(err)
	}
	if got, err := on(t, c.Node(1), self, "ask", "node2:7000"); err == nil {
		t.Errorf("a node without network answers %q", got)
	}
	if err := c.Node(2).Heal(); err != nil {
		t.Fatal(err)
	}
	// The first packets after a cut may still be lost; each try is bounded.
	var got string
	for range 60 {
		if got, err = on(t, c.Node(1), self, "ask", "node2:7000"); err == nil {
			break
		}
	}
	if err != nil || got != "node2" {
		t.Errorf("after the cut: %q, %v", got, err)
	}
}

func TestStartRefusesWhatIsNoNode(t *testing.T) {
	c := up(t, 1)
	for _, i := range []int{-1, 0, 1, MaxNodes + 1} {
		if _, err := c.Start(i); err == nil {
			t.Errorf("node %d was started", i)
		}
	}
	if _, err := New(c.Dir, Options{}); err == nil {
		t.Error("two clusters in one directory")
	}
}

// A test binary that is killed takes everything with it.
func TestNothingIsLeftAfterAKill(t *testing.T) {
	if err := Available(); err != nil {
		t.Skip(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	cmd := exec.Command(self, "be-killed", dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // says "killed"
	for _, f := range strings.Fields(line) {
		pid, err := strconv.Atoi(f)
		if err != nil {
			t.Fatal(err)
		}
		await(t, "end of process "+f, func() bool { return !alive(pid) })
	}
	await(t, "nothing left", func() bool {
		left, err := Leftovers()
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range left {
			if l.PID != 0 && alive(l.PID) {
				return false
			}
		}
		return true
	})
}

func TestSweepRemovesTheDirectoryOfADeadProgram(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	dead := exec.Command("true")
	if err := dead.Run(); err != nil {
		t.Fatal(err)
	}
	gone := filepath.Join(os.TempDir(), dirPrefix+strconv.Itoa(dead.Process.Pid)+"-1")
	kept := filepath.Join(os.TempDir(), dirPrefix+strconv.Itoa(os.Getpid())+"-1")
	for _, d := range []string{gone, kept} {
		if err := os.Mkdir(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	left, err := Sweep()
	if err != nil {
		t.Fatal(err)
	}
	if len(left) != 1 || left[0].Dir != gone {
		t.Errorf("swept %v, want %s", left, gone)
	}
	if _, err := os.Stat(gone); !os.IsNotExist(err) {
		t.Errorf("%s is still there: %v", gone, err)
	}
	if _, err := os.Stat(kept); err != nil {
		t.Errorf("the directory of a program that runs: %v", err)
	}
}

func TestFUSEMountsOfATable(t *testing.T) {
	table := "proc /proc proc rw 0 0\n/dev/fuse /a fuse rw 0 0\nx /b\\040c fuse.bindfs rw 0 0\nf /sys/fs/fuse/connections fusectl rw 0 0\nd /d fuseblk rw 0 0\n"
	got := strings.Join(fuseMounts(table), "|")
	if want := "/a|/b c|/d"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// alive tells whether a process exists and has not ended; one whose parent has
// not yet waited for it has.
func alive(pid int) bool {
	stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return false
	}
	_, after, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(after, "Z")
}

// await waits for a condition.
func await(t *testing.T, what string, ok func() bool) {
	t.Helper()
	limit := time.NewTimer(time.Minute)
	defer limit.Stop()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-limit.C:
			t.Fatalf("waited in vain for: %s", what)
		}
	}
}
