package disk_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"

	"github.com/scrfs/scrfs/internal/disk"
	"golang.org/x/sys/unix"
)

// The test binary is its own second process: it takes the lock, says so, and
// holds it until its standard input ends.
const lockDir = "SCRFS_DISK_TEST_LOCK_DIR"

func TestMain(m *testing.M) {
	if dir := os.Getenv(lockDir); dir != "" {
		if err := holdLock(dir); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	unix.Umask(0o022) // the modes which these tests use pass it
	os.Exit(m.Run())
}

func holdLock(dir string) error {
	f, err := disk.Open(dir)
	if err != nil {
		return err
	}
	l, err := f.Lock("lock", true)
	if err != nil {
		return err
	}
	fmt.Println("locked")
	_, _ = io.Copy(io.Discard, os.Stdin) // its end is all we wait for
	if err := disk.WriteFile(f, "done", nil, 0o644); err != nil {
		return err
	}
	return l.Close()
}

func TestLockExcludesAnotherProcess(t *testing.T) {
	dir := t.TempDir()
	f, err := disk.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	other := exec.Command(os.Args[0])
	other.Env = append(os.Environ(), lockDir+"="+dir)
	in, err := other.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := other.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "locked\n" {
		t.Fatalf("got %q, %v", line, err)
	}
	type result struct {
		done bool
		err  error
	}
	got := make(chan result)
	go func() {
		l, err := f.Lock("lock", false)
		if err != nil {
			got <- result{err: err}
			return
		}
		done, err := disk.Exists(f, "done")
		l.Close()
		got <- result{done, err}
	}()
	select {
	case r := <-got:
		t.Errorf("got the lock while the other held it: %+v", r)
	default:
		in.Close()
		if r := <-got; r.err != nil || !r.done {
			t.Errorf("got %+v, want done: the other had not given it back", r)
		}
	}
	if err := other.Wait(); err != nil {
		t.Error(err)
	}
}

func TestLockOfAKilledProcessIsFree(t *testing.T) {
	dir := t.TempDir()
	other := exec.Command(os.Args[0])
	other.Env = append(os.Environ(), lockDir+"="+dir)
	if _, err := other.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := other.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "locked\n" {
		t.Fatalf("got %q, %v", line, err)
	}
	if err := other.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	f, err := disk.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	l, err := f.Lock("lock", true)
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	if err := other.Wait(); err == nil {
		t.Error("the killed process ended well")
	}
}
