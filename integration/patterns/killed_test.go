package patterns

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/scrfs/scrfs/daemon"
)

// How a job comes to its end in the middle of a checkpoint.
var deaths = []struct {
	name   string
	victim func(p *process) error // what happens to rank 1
}{
	{"SIGKILL", func(p *process) error { return p.cmd.Process.Signal(syscall.SIGKILL) }},
	{"SIGTERM", func(p *process) error { return p.cmd.Process.Signal(syscall.SIGTERM) }},
	{"SIGSEGV", func(p *process) error { return p.cmd.Process.Signal(syscall.SIGSEGV) }},
	{"exit1", func(p *process) error {
		_, err := io.WriteString(p.in, "exit\n")
		return err
	}},
}

// moments are where rank 1 of the program "dying" stands then.
var moments = []string{"mid-file", "end-of-file", "between-files"}

// dying writes two files per rank and checkpoint, below one directory; in the
// second checkpoint every rank stops at each moment.
func dying(r *rank, k int) {
	dir := fmt.Sprintf("step_%d", 10*k)
	r.mkdir(dir)
	stop := func(moment string) {
		if k == 2 {
			r.at(moment)
		}
	}
	for part := range 2 {
		f := r.open(fmt.Sprintf("%s/model_%d_%d.pt", dir, r.n, part), os.O_WRONLY|os.O_CREATE|os.O_TRUNC)
		b := data(fmt.Sprint("dying", k, r.n, part), 30000)
		_, err := f.Write(b[:20000])
		check(err)
		if part == 0 {
			stop("mid-file")
		}
		_, err = f.Write(b[20000:])
		check(err)
		if part == 0 {
			stop("end-of-file")
		}
		check(f.Close())
		if part == 0 {
			stop("between-files")
		}
	}
}

func TestCheckpointOfKilledWritersIsNeverSeenAgain(t *testing.T) {
	for _, launcher := range []string{"mpirun", "torchrun"} {
		for _, death := range deaths {
			for _, moment := range moments {
				if launcher == "torchrun" && death.name != "SIGKILL" {
					continue
				}
				t.Run(launcher+"/"+death.name+"/"+moment, func(t *testing.T) {
					t.Parallel()
					killAt(t, launcher, death.victim, moment)
				})
			}
		}
	}
}

func killAt(t *testing.T, launcher string, die func(*process) error, moment string) {
	s := mount(t, 2)
	j := start(t, "dying", launcher, "job1", 3, s.onNodes())
	if !j.runTo("checkpoint") {
		t.Fatal("the program ended early: ", j.said())
	}
	s.await("the boundary of the first checkpoint", settled)
	j.release()
	if !j.runTo(moment) {
		t.Fatal("the program ended early: ", j.said())
	}
	must(t, die(j.ranks[1]))
	_ = j.ranks[1].cmd.Wait()   // it says how it was killed
	for i, p := range j.ranks { // as mpirun does
		if i != 1 {
			must(t, p.cmd.Process.Kill())
			_ = p.cmd.Wait()
		}
	}
	// The program is started again and looks for what it can go on from.
	again := start(t, "restarting", launcher, "job2", 1, s.onNodes())
	if !again.runTo("checkpoint") {
		t.Fatal("the second start ended early: ", again.said())
	}
	again.release()
	again.next()
	found, err := os.ReadFile(s.mounts[0] + "/found.txt")
	must(t, err)
	if string(found) != "step_10" {
		t.Errorf("the second start finds %q, want only step_10", found)
	}
	for i, m := range s.mounts {
		if list := names(t, m); slices.Contains(list, "step_20") || !slices.Contains(list, "step_10") {
			t.Errorf("node %d shows %q", i, list)
		}
	}
	s.await("the end of the suspect dataset", func(st daemon.Status) bool { return settled(st) && st.OpenFiles == 0 })
	s.flush()
	if list := names(t, s.prefix); slices.Contains(list, "step_20") || !slices.Contains(list, "step_10") {
		t.Errorf("the prefix directory has %q", list)
	}
	for name, what := range tree(t, s.prefix) {
		if strings.Contains(name, "step_20") {
			t.Errorf("the prefix directory has %s: %s", name, what)
		}
	}
}

func names(t *testing.T, dir string) []string {
	t.Helper()
	list, err := os.ReadDir(dir)
	must(t, err)
	var names []string
	for _, e := range list {
		names = append(names, e.Name())
	}
	return names
}
