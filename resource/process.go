package resource

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// maxAncestors bounds the walk towards the process that a launcher started.
const maxAncestors = 32

// cached bounds the identities an Identifier keeps.
const cached = 4096

// Identifier tells who a process is, asking /proc once for each.
type Identifier struct {
	proc string

	mu    sync.Mutex
	known map[process]Identity
}

// process is a process, when it was started, in clock ticks after boot, and
// where its environment lies: ids are used again, and another program is
// executed with another environment.
type process struct {
	pid   int
	start uint64
	env   uint64
}

// NewIdentifier returns an Identifier over a proc file system, "/proc" in
// earnest.
func NewIdentifier(proc string) *Identifier {
	return &Identifier{proc: proc, known: map[process]Identity{}}
}

// Of returns the identity of the process that thread tid belongs to: that of
// its own environment, else of its nearest ancestor that has one. The
// application of a process without a launcher is its root process: the ancestor
// that the leader of the session (a batch script, a shell) has started. A
// process that is gone, or cannot be read, has no rank.
func (i *Identifier) Of(tid uint32) Identity {
	st, err := i.stat(int(tid))
	if tid == 0 || err != nil {
		return Identity{Rank: NoRank}
	}
	key := process{int(tid), st.start, st.env}
	i.mu.Lock()
	id, ok := i.known[key]
	i.mu.Unlock()
	if ok {
		return id
	}
	id = i.ask(int(tid), st)
	i.mu.Lock()
	if len(i.known) >= cached {
		clear(i.known)
	}
	i.known[key] = id
	i.mu.Unlock()
	return id
}

func (i *Identifier) ask(pid int, st stat) Identity {
	own := Identity{Rank: NoRank, PID: i.group(pid)}
	if own.PID != pid {
		if leader, err := i.stat(own.PID); err == nil {
			st = leader // of the threads
		}
	}
	root := i.root(own.PID, st)
	for at, depth := own.PID, 0; depth < maxAncestors; depth++ {
		if id, ok := i.identify(at); ok {
			id.PID, id.Top = own.PID, false
			if at == own.PID {
				above, ok := i.identify(st.parent)
				id.Top = !ok || above.Rank != id.Rank || above.App != id.App
			}
			if id.App == "" || id.restarts {
				id.App = path.Join(id.App, root)
			}
			return id
		}
		now, err := i.stat(at)
		if err != nil || now.parent <= 1 {
			break
		}
		at = now.parent
	}
	own.App, own.Top = root, true
	return own
}

// identify reads the environment of one process.
func (i *Identifier) identify(pid int) (Identity, bool) {
	env, err := os.ReadFile(fmt.Sprintf("%s/%d/environ", i.proc, pid))
	if err != nil {
		return Identity{}, false
	}
	return Identify(strings.Split(string(env), "\x00"))
}

// group is the process that a thread belongs to.
func (i *Identifier) group(tid int) int {
	b, err := readLine(i.proc + "/" + strconv.Itoa(tid) + "/status")
	if err != nil {
		return tid
	}
	_, rest, _ := strings.Cut(string(b), "\nTgid:")
	line, _, _ := strings.Cut(rest, "\n")
	if pid, err := strconv.Atoi(strings.TrimSpace(line)); err == nil {
		return pid
	}
	return tid
}

// root names the ancestor of a process that the leader of its session has
// started: whatever a batch script starts anew has another.
func (i *Identifier) root(pid int, st stat) string {
	for range maxAncestors {
		above, err := i.stat(st.parent)
		if err != nil || pid == st.session || st.parent == st.session || above.session != st.session {
			break
		}
		pid, st = st.parent, above
	}
	return fmt.Sprintf("process/%d.%d", pid, st.start)
}

// pfExiting is a task flag of the kernel (include/linux/sched.h), stable since
// Linux 2.6.
const pfExiting = 0x4

// Killed tells whether the thread is on its way out because of a fatal signal.
// Asked while it closes its files (FUSE_FLUSH), this distinguishes a killed
// writer from one that has finished.
//
// The flag PF_SIGNALED beside it would not do: when one thread calls
// exit_group(2), the others have it too.
//
// A thread that closes files because it calls execve(2) holds a lock of the
// kernel that reading its stat file waits for, until the close is answered:
// who waited for the file here would wait for ever. So the question is given
// up after a moment, and the answer is no: an exec is not a death.
func (i *Identifier) Killed(tid uint32) bool {
	killed := make(chan bool, 1)
	go func() {
		st, err := i.stat(int(tid))
		killed <- err == nil && st.flags&pfExiting != 0 && st.exit.Signaled()
	}()
	select {
	case k := <-killed:
		return k
	case <-time.After(execPause):
		return false
	}
}

// execPause is far longer than the stat file of a thread that ends takes to
// read, and what an execve with an open file costs.
const execPause = 50 * time.Millisecond

// stat holds the fields of /proc/<pid>/stat that are used here (proc(5)).
type stat struct {
	parent, session int
	ended           bool // but its parent has not asked how
	flags           uint64
	start           uint64
	env             uint64 // address of the environment
	exit            syscall.WaitStatus
}

func (i *Identifier) stat(pid int) (stat, error) {
	b, err := readLine(i.proc + "/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return stat{}, err
	}
	// The command, field 2, is in parentheses and may hold anything.
	end := bytes.LastIndexByte(b, ')')
	fields := strings.Fields(string(b[end+1:]))
	if end < 0 || len(fields) < 20 {
		return stat{}, fmt.Errorf("%s/%d/stat: %d fields after the command, want 20 or more", i.proc, pid, len(fields))
	}
	var st stat
	st.parent, _ = strconv.Atoi(fields[1])
	st.session, _ = strconv.Atoi(fields[3])
	st.flags, _ = strconv.ParseUint(fields[6], 10, 64)
	st.start, _ = strconv.ParseUint(fields[19], 10, 64)
	st.ended = fields[0] == "Z" || fields[0] == "X"
	if len(fields) > 49 { // since Linux 3.5
		st.env, _ = strconv.ParseUint(fields[47], 10, 64)
		code, _ := strconv.ParseUint(fields[49], 10, 32)
		st.exit = syscall.WaitStatus(code)
	}
	return st, nil
}

// readLine reads a short file of /proc by three system calls. Each file that a
// program makes asks for two of them, and os.ReadFile takes a dozen: it offers
// the descriptor to the poller and looks for the end of the file.
func readLine(name string) ([]byte, error) {
	fd, err := unix.Open(name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	defer func() { _ = unix.Close(fd) }() // nothing was written
	b := make([]byte, 1024)
	n, err := unix.Read(fd, b)
	if err != nil {
		return nil, &fs.PathError{Op: "read", Path: name, Err: err}
	}
	return b[:n], nil
}
