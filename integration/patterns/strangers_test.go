package patterns

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/scrfs/scrfs/daemon"
	"github.com/scrfs/scrfs/internal/disk"
	"github.com/scrfs/scrfs/scr"
)

// stranger runs a command that is no rank, as a batch script does.
func stranger(t *testing.T, env []string, args ...string) {
	t.Helper()
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env = append(os.Environ(), env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v: %s", strings.Join(args, " "), err, out)
	}
}

// published reads whose files a dataset on the prefix directory has, as
// name@rank, and how many ranks.
func (s *site) published(dir string) (files []string, ranks int) {
	s.t.Helper()
	prefix, err := disk.Open(s.prefix)
	must(s.t, err)
	m, err := scr.ReadRank2File(prefix, scr.Paths{Family: scr.F14}, dir)
	must(s.t, err)
	for _, r := range m.Entries {
		for _, f := range r.Files {
			files = append(files, fmt.Sprintf("%s@%d", f.Name, r.Rank))
		}
	}
	slices.Sort(files)
	return files, m.Ranks
}

// TestStrangersNeitherClashNorChangeTheRanks: while four ranks write step_10,
// processes without a rank, of another world size, and of a second job step
// with the same ranks write into it, each on the second node.
func TestStrangersNeitherClashNorChangeTheRanks(t *testing.T) {
	s := mount(t, 2)
	here := s.mounts[1]
	source := filepath.Join(t.TempDir(), "notes")
	must(t, os.WriteFile(source, []byte("notes of the batch script"), 0o644))
	j := start(t, "dying", "mpirun", "job1", 2, s.onNodes())
	if !j.runTo("checkpoint") {
		t.Fatal("the program ended early: ", j.said())
	}
	s.await("the boundary of the first checkpoint", settled)
	j.release()
	if !j.runTo("mid-file") {
		t.Fatal("the program ended early: ", j.said())
	}
	dir := here + "/step_20/"
	stranger(t, nil, "cp", source, dir+"copied")
	stranger(t, nil, "sh", "-c", "echo helper >'"+dir+"written' && mv '"+dir+"written' '"+dir+"moved'")
	stranger(t, launchers["mpirun"](0, 2, "small"), "cp", source, dir+"of_another_world")
	stranger(t, launchers["mpirun"](0, world, "second-step"), "cp", source, dir+"of_a_second_step")
	j.release()
	if !j.runTo("checkpoint") {
		t.Fatal("the program ended early: ", j.said())
	}
	s.await("the boundary of the second checkpoint", settled)
	s.flush()
	got, ranks := s.published("step_20")
	var want []string
	for r := range world {
		want = append(want, fmt.Sprintf("model_%d_0.pt@%d", r, r), fmt.Sprintf("model_%d_1.pt@%d", r, r))
	}
	// The lowest rank of the second node has what its strangers wrote.
	for _, f := range []string{"copied", "moved", "of_another_world", "of_a_second_step"} {
		want = append(want, f+"@2")
	}
	slices.Sort(want)
	if ranks != world {
		t.Errorf("RANKS is %d, want %d", ranks, world)
	}
	if !slices.Equal(got, want) {
		t.Errorf("the dataset has\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestProgramSaysComplete: user.scr.complete ends a dataset whatever the quiet
// time, and 0 makes it vanish; so does fsync of its directory end it early, and
// a file that a commit rule names.
func TestProgramSaysComplete(t *testing.T) {
	rules := filepath.Join(t.TempDir(), "rules")
	must(t, os.WriteFile(rules, []byte("quiet 1h\ncommit DONE\n"), 0o644))
	t.Setenv("SCR_CONF_FILE", rules)
	s := mount(t, 2)
	for i, c := range []struct {
		what string
		end  func(dir string) error
		want func(d daemon.DatasetStatus) bool
	}{
		{"complete", func(dir string) error { return unix.Setxattr(dir, "user.scr.complete", []byte("1"), 0) }, func(d daemon.DatasetStatus) bool { return d.State == "PROTECTED" }},
		{"invalid", func(dir string) error { return unix.Setxattr(dir, "user.scr.complete", []byte("0"), 0) }, func(d daemon.DatasetStatus) bool { return d.State == "LOST" }},
		{"rule", func(dir string) error { return os.WriteFile(dir+"/DONE", nil, 0o644) }, func(d daemon.DatasetStatus) bool { return d.State == "PROTECTED" }},
		{"fsync", func(dir string) error {
			f, err := os.Open(dir)
			if err != nil {
				return err
			}
			defer f.Close()
			return f.Sync()
		}, func(d daemon.DatasetStatus) bool { return d.State == "PROTECTED" }},
	} {
		dir := fmt.Sprintf("%s/ckpt.%d", s.mounts[0], i)
		must(t, os.Mkdir(dir, 0o755))
		must(t, os.WriteFile(dir+"/data", data(c.what, 10000), 0o644))
		if got := xattr(dir, "user.scr.state"); got != "OPEN" {
			t.Errorf("%s: state %q before the end, want OPEN", c.what, got)
		}
		must(t, c.end(dir))
		s.await(c.what, func(st daemon.Status) bool {
			return len(st.Datasets) == i+1 && c.want(st.Datasets[i])
		})
	}
}
