package patterns

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// job is a program being played.
type job struct {
	t     *testing.T
	ranks []*process
}

type process struct {
	cmd      *exec.Cmd
	in       io.WriteCloser
	out      *bufio.Reader
	messages bytes.Buffer
}

// start starts a program on directories, one for each rank. name tells this
// start from others.
func start(t *testing.T, program, launcher, name string, checkpoints int, dirs []string) *job {
	t.Helper()
	j := &job{t: t}
	t.Cleanup(j.end)
	for i, dir := range dirs {
		p := &process{cmd: exec.Command("/proc/self/exe", "play", program, strconv.Itoa(i), strconv.Itoa(len(dirs)), strconv.Itoa(checkpoints), dir)}
		p.cmd.Env = append(os.Environ(), launchers[launcher](i, len(dirs), name)...)
		p.cmd.Stderr = &p.messages
		p.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		var err error
		p.in, err = p.cmd.StdinPipe()
		must(t, err)
		out, err := p.cmd.StdoutPipe()
		must(t, err)
		p.out = bufio.NewReader(out)
		must(t, p.cmd.Start())
		j.ranks = append(j.ranks, p)
	}
	return j
}

// end ends what is left of the job.
func (j *job) end() {
	for _, p := range j.ranks {
		if p.cmd.ProcessState == nil {
			_ = p.cmd.Process.Kill() // it may have ended by itself
			_ = p.cmd.Wait()         // says how; nobody asks any more
		}
	}
}

// next waits until every rank is at a point and returns it. "" is the end of
// the program.
func (j *job) next() string {
	j.t.Helper()
	point := ""
	for i, p := range j.ranks {
		line, err := p.out.ReadString('\n')
		if err != nil && err != io.EOF {
			j.t.Fatal(err)
		}
		line = strings.TrimSpace(line)
		if i > 0 && line != point {
			j.t.Fatalf("rank %d is at %q, others at %q: %s", i, line, point, j.said())
		}
		point = line
	}
	if point == "" {
		j.wait()
	}
	return point
}

// wait waits for the end of every rank, which must be a good one.
func (j *job) wait() {
	j.t.Helper()
	for i, p := range j.ranks {
		if err := p.cmd.Wait(); err != nil {
			j.t.Fatalf("rank %d: %v: %s", i, err, j.said())
		}
	}
}

func (j *job) said() string {
	var all []string
	for _, p := range j.ranks {
		all = append(all, strings.TrimSpace(p.messages.String()))
	}
	return strings.Join(all, "; ")
}

// release lets every rank go on.
func (j *job) release() {
	j.t.Helper()
	for i, p := range j.ranks {
		if _, err := io.WriteString(p.in, "\n"); err != nil {
			j.t.Fatalf("rank %d: %v: %s", i, err, j.said())
		}
	}
}

// runTo releases the ranks until they are at a point.
func (j *job) runTo(point string) bool {
	j.t.Helper()
	for {
		switch got := j.next(); got {
		case point:
			return true
		case "":
			return false
		}
		j.release()
	}
}

// inPlain plays a program in a plain directory and returns it.
func inPlain(t *testing.T, program string, world, checkpoints int) string {
	t.Helper()
	dir := t.TempDir()
	dirs := make([]string, world)
	for i := range dirs {
		dirs[i] = dir
	}
	j := start(t, program, "none", "plain", checkpoints, dirs)
	for j.next() != "" {
		j.release()
	}
	return dir
}

// tree is every file, directory and symbolic link below a directory, with
// what is in it. SCR's directories are left out.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	got := map[string]string{}
	err := filepath.WalkDir(dir, func(name string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(dir, name)
		switch {
		case d.Name() == ".scr":
			return filepath.SkipDir
		case d.IsDir():
			got[rel] = "directory"
		case d.Type()&os.ModeSymlink != 0:
			target, err := os.Readlink(name)
			got[rel] = "to " + target
			return err
		default:
			b, err := os.ReadFile(name)
			got[rel] = fmt.Sprintf("%d bytes, sum %s", len(b), sum(b))
			return err
		}
		return nil
	})
	must(t, err)
	return got
}
