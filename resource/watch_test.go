package resource

import (
	"bufio"
	"fmt"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// TestWatchTellsHowAProcessEnded ends processes in several ways, with a parent
// that asks at once and with one that asks last.
func TestWatchTellsHowAProcessEnded(t *testing.T) {
	for _, reapFirst := range []bool{false, true} {
		for _, c := range []struct {
			script string
			signal syscall.Signal
			code   int
		}{
			{script: "read x", code: 0},
			{script: "read x; exit 3", code: 3},
			{script: "read x; kill -9 $$", signal: syscall.SIGKILL},
			{script: "read x; kill -TERM $$", signal: syscall.SIGTERM},
			{script: "ulimit -c 0; read x; kill -SEGV $$", signal: syscall.SIGSEGV},
		} {
			t.Run(fmt.Sprint(reapFirst, c.script), func(t *testing.T) {
				cmd := exec.Command("sh", "-c", c.script)
				in, err := cmd.StdinPipe()
				if err != nil {
					t.Fatal(err)
				}
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				w, err := NewIdentifier("/proc").Watch(cmd.Process.Pid)
				if err != nil {
					t.Fatal(err)
				}
				defer w.Close()
				if w.Ended() {
					t.Error("it has ended before it was told to")
				}
				if _, err := in.Write([]byte("\n")); err != nil {
					t.Fatal(err)
				}
				if reapFirst {
					_ = cmd.Wait() // how it ended is what the watch is to tell
				}
				got, err := w.Wait()
				if err != nil && reapFirst {
					t.Skip(err) // an older kernel
				}
				if err != nil {
					t.Fatal(err)
				}
				if !w.Ended() {
					t.Error("it has not ended")
				}
				if got.Signaled() != (c.signal != 0) || got.Signaled() && got.Signal() != c.signal || !got.Signaled() && got.ExitStatus() != c.code {
					t.Errorf("got signal %v, status %d, want %v, %d", got.Signal(), got.ExitStatus(), c.signal, c.code)
				}
				if !reapFirst {
					_ = cmd.Wait()
				}
			})
		}
	}
}

// TestRanksAndApplicationsOfProcesses asks about processes that have been
// started in the ways batch scripts do.
func TestRanksAndApplicationsOfProcesses(t *testing.T) {
	// Each line of output is a process that then waits.
	// The shell gives those in the background an empty standard input, so they
	// read from descriptor 3.
	script := `
exec 3<&0
sh -c 'echo $$; read x <&3; exit 0' &
(RANK=1 WORLD_SIZE=2 MASTER_PORT=1 exec sh -c 'echo $$; read x <&3; exit 0') &
(RANK=1 WORLD_SIZE=2 MASTER_PORT=1 exec sh -c 'sh -c "echo \$\$; read x <&3; exit 0"; exit 0') &
wait`
	cmd := exec.Command("sh", "-c", script)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
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
	i := NewIdentifier("/proc")
	apps := map[string]int{}
	tops, ranked := 0, 0
	lines := bufio.NewScanner(out)
	for range 3 {
		if !lines.Scan() {
			t.Fatal("the script ended early")
		}
		var pid uint32
		if _, err := fmt.Sscan(lines.Text(), &pid); err != nil {
			t.Fatal(err)
		}
		id := i.Of(pid)
		apps[id.App]++
		if id.PID != int(pid) {
			t.Errorf("process %d is said to be %d", pid, id.PID)
		}
		if id.Top {
			tops++
		}
		if id.Rank == 1 {
			ranked++
			if !strings.HasPrefix(id.App, "RANK/1/process/") {
				t.Errorf("application %q of a process with a rank and a port", id.App)
			}
		}
	}
	if len(apps) != 3 {
		t.Errorf("three starts are the applications %v, want three", apps)
	}
	if tops != 2 || ranked != 2 {
		t.Errorf("%d are no children of a rank, %d have one; want 2 and 2", tops, ranked)
	}
	in.Close()
	_ = cmd.Wait() // read gives an error at the end of the input
}

// TestIdentityFollowsExec: a shell makes a file before it executes the program
// that it gives a rank.
func TestIdentityFollowsExec(t *testing.T) {
	cmd := exec.Command("sh", "-c", `echo $$; read x; RANK=4 WORLD_SIZE=5 exec sh -c 'echo ready; read x; exit 0'`)
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
	lines := bufio.NewScanner(out)
	lines.Scan()
	i, pid := NewIdentifier("/proc"), uint32(cmd.Process.Pid)
	if got := i.Of(pid); got.Rank != NoRank {
		t.Errorf("rank %d before it was given", got.Rank)
	}
	if _, err := in.Write([]byte("\n")); err != nil {
		t.Fatal(err)
	}
	lines.Scan()
	if got := i.Of(pid); got.Rank != 4 || got.World != 5 {
		t.Errorf("%+v after exec, want rank 4 of 5", got)
	}
	in.Close()
	_ = cmd.Wait()
}
