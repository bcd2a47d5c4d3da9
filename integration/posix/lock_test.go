package posix

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"testing"

	"golang.org/x/sys/unix"
)

func init() {
	add(map[string]func(*testing.T, place){
		"lock/flock":                 lockFlock,
		"lock/of open descriptions":  lockOFD,
		"lock/of processes":          lockProcesses,
		"lock/fcntl needs the right": lockRights,
		"lock/leases":                lockLease,
	})
}

func command(name string, args ...string) (string, error) {
	out, err := exec.Command(name, args...).Output()
	return string(out), err
}

func lockFlock(t *testing.T, p place) {
	touch(t, p.at("f"))
	a, b := int(open(t, p.at("f"), unix.O_RDWR).Fd()), int(open(t, p.at("f"), unix.O_RDONLY).Fd())
	flock := func(fd, how int) func() error { return func() error { return unix.Flock(fd, how) } }
	try(t,
		call{"exclusive", nil, flock(a, unix.LOCK_EX|unix.LOCK_NB)},
		call{"the other exclusive", unix.EWOULDBLOCK, flock(b, unix.LOCK_EX|unix.LOCK_NB)},
		call{"the other shared", unix.EWOULDBLOCK, flock(b, unix.LOCK_SH|unix.LOCK_NB)},
		call{"to shared", nil, flock(a, unix.LOCK_SH|unix.LOCK_NB)},
		call{"both shared", nil, flock(b, unix.LOCK_SH|unix.LOCK_NB)},
		call{"back to exclusive", unix.EWOULDBLOCK, flock(a, unix.LOCK_EX|unix.LOCK_NB)},
		call{"given up", nil, flock(b, unix.LOCK_UN)},
		call{"exclusive at last", nil, flock(a, unix.LOCK_EX|unix.LOCK_NB)},
	)
	if out, err := command("flock", "-n", p.at("f"), "true"); err == nil {
		t.Errorf("another process got the lock: %q", out)
	}
	d := int(open(t, p.dir, unix.O_RDONLY).Fd())
	do(t, unix.Flock(d, unix.LOCK_EX|unix.LOCK_NB))
}

func lockOFD(t *testing.T, p place) {
	touch(t, p.at("f"))
	a, b := open(t, p.at("f"), unix.O_RDWR), open(t, p.at("f"), unix.O_RDWR)
	lock := func(fd uintptr, kind int16, from, length int64) func() error {
		return func() error {
			return unix.FcntlFlock(fd, unix.F_OFD_SETLK, &unix.Flock_t{Type: kind, Start: from, Len: length})
		}
	}
	try(t,
		call{"first ten", nil, lock(a.Fd(), unix.F_WRLCK, 0, 10)},
		call{"next ten", nil, lock(b.Fd(), unix.F_WRLCK, 10, 10)},
		call{"overlapping", unix.EAGAIN, lock(b.Fd(), unix.F_RDLCK, 5, 10)},
		call{"to the end", unix.EAGAIN, lock(a.Fd(), unix.F_WRLCK, 5, 0)},
		call{"given up in part", nil, lock(a.Fd(), unix.F_UNLCK, 5, 5)},
		call{"the part", nil, lock(b.Fd(), unix.F_RDLCK, 5, 5)},
	)
	held := unix.Flock_t{Type: unix.F_WRLCK, Start: 0, Len: 10}
	do(t, unix.FcntlFlock(b.Fd(), unix.F_OFD_GETLK, &held))
	if held.Type != unix.F_WRLCK || held.Start != 0 || held.Len != 5 {
		t.Errorf("held is %+v", held)
	}
	do(t, a.Close())
	try(t, call{"after close", nil, lock(b.Fd(), unix.F_WRLCK, 0, 0)})
}

func lockProcesses(t *testing.T, p place) {
	touch(t, p.at("f"))
	f := open(t, p.at("f"), unix.O_RDWR)
	do(t, unix.FcntlFlock(f.Fd(), unix.F_SETLK, &unix.Flock_t{Type: unix.F_WRLCK}))
	other := func() string {
		t.Helper()
		cmd := exec.Command("/proc/self/exe")
		cmd.Env = append(os.Environ(), lockEnv+"="+p.at("f"))
		out, err := cmd.Output()
		do(t, err)
		return string(out)
	}
	if got := other(); got != "refused" {
		t.Errorf("another process: %q", got)
	}
	// Closing any descriptor of the file gives all locks of the process up.
	do(t, open(t, p.at("f"), unix.O_RDONLY).Close())
	if got := other(); got != "got it" {
		t.Errorf("after close: %q", got)
	}
}

// lockEnv makes this program try to lock a file, and nothing else.
const lockEnv = "SCRFS_TEST_LOCK"

func lockAndSay(path string) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		fmt.Print(err)
		return
	}
	switch err := unix.FcntlFlock(f.Fd(), unix.F_SETLK, &unix.Flock_t{Type: unix.F_WRLCK}); err {
	case nil:
		fmt.Print("got it")
	case unix.EAGAIN, unix.EACCES:
		fmt.Print("refused")
	default:
		fmt.Print(err)
	}
}

func lockRights(t *testing.T, p place) {
	touch(t, p.at("f"))
	r, w := open(t, p.at("f"), unix.O_RDONLY), open(t, p.at("f"), unix.O_WRONLY)
	try(t,
		call{"exclusive with a reader", unix.EBADF, func() error {
			return unix.FcntlFlock(r.Fd(), unix.F_OFD_SETLK, &unix.Flock_t{Type: unix.F_WRLCK})
		}},
		call{"shared with a writer", unix.EBADF, func() error {
			return unix.FcntlFlock(w.Fd(), unix.F_OFD_SETLK, &unix.Flock_t{Type: unix.F_RDLCK})
		}},
	)
}

func lockLease(t *testing.T, p place) {
	touch(t, p.at("f"))
	f := open(t, p.at("f"), unix.O_RDONLY)
	_, err := unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_RDLCK)
	if err != nil && !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.EAGAIN) {
		t.Errorf("lease: %v", err)
	}
}
