package resource

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"sync"

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

// process is a process and when it was started, in clock ticks after boot: ids
// are used again, the pair is not.
type process struct {
	pid   int
	start uint64
}

// NewIdentifier returns an Identifier over a proc file system, "/proc" in
// earnest.
func NewIdentifier(proc string) *Identifier {
	return &Identifier{proc: proc, known: map[process]Identity{}}
}

// Of returns the identity of the process that thread tid belongs to: that of
// its own environment, else of its nearest ancestor that has one. The
// application of a process without a launcher is its session. A process that
// is gone, or cannot be read, has no rank.
func (i *Identifier) Of(tid uint32) Identity {
	st, err := i.stat(int(tid))
	if tid == 0 || err != nil {
		return Identity{Rank: NoRank}
	}
	key := process{int(tid), st.start}
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
	session := st.session
	for range maxAncestors {
		if env, err := os.ReadFile(fmt.Sprintf("%s/%d/environ", i.proc, pid)); err == nil {
			if id, ok := Identify(strings.Split(string(env), "\x00")); ok {
				if id.App == "" {
					id.App = sessionName(session)
				}
				return id
			}
		}
		if st.parent <= 1 {
			break
		}
		pid = st.parent
		var err error
		if st, err = i.stat(pid); err != nil {
			break
		}
	}
	return Identity{Rank: NoRank, App: sessionName(session)}
}

func sessionName(session int) string { return "session/" + strconv.Itoa(session) }

// Task flags of the kernel (include/linux/sched.h), stable since Linux 2.6.
const (
	pfExiting  = 0x4
	pfSignaled = 0x400
)

// Killed tells whether the thread is on its way out because of a fatal signal.
// Asked while it closes its files (FUSE_FLUSH), this distinguishes a killed
// writer from one that has finished.
func (i *Identifier) Killed(tid uint32) bool {
	st, err := i.stat(int(tid))
	return err == nil && st.flags&(pfExiting|pfSignaled) == pfExiting|pfSignaled
}

// stat holds the fields of /proc/<pid>/stat that are used here (proc(5)).
type stat struct {
	parent, session int
	flags           uint64
	start           uint64
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
