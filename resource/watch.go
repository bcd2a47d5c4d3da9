package resource

import (
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// Watch waits for the end of one process. The kernel answers for a process
// even when its parent was faster to ask.
type Watch struct {
	ident *Identifier
	pid   int
	start uint64
	file  *os.File // a pidfd
}

// Watch begins to watch a process, by its process id (not that of one of its
// threads). It is an error if there is none.
func (i *Identifier) Watch(pid int) (*Watch, error) {
	fd, err := unix.PidfdOpen(pid, unix.PIDFD_NONBLOCK)
	if err != nil {
		return nil, fmt.Errorf("watch process %d: %w", pid, err)
	}
	w := &Watch{ident: i, pid: pid, file: os.NewFile(uintptr(fd), "pidfd")}
	st, err := i.stat(pid)
	if err != nil {
		return nil, w.closeAfter(fmt.Errorf("watch process %d: %w", pid, err))
	}
	w.start = st.start
	return w, nil
}

func (w *Watch) closeAfter(err error) error {
	_ = w.file.Close() // it was only to be waited on
	return err
}

// Close ends the watch; Wait returns then.
func (w *Watch) Close() error { return w.file.Close() }

// Ended tells at once whether the process has ended.
func (w *Watch) Ended() bool {
	raw, err := w.file.SyscallConn()
	if err != nil {
		return false
	}
	ended := false
	err = raw.Control(func(fd uintptr) { ended = readable(fd) })
	return err == nil && ended
}

// Wait returns when the process has ended, with its exit status as wait(2)
// gives it. It is an error if the watch is closed, or if nobody can tell how
// the process ended (Linux before 6.15, and its parent was faster).
func (w *Watch) Wait() (syscall.WaitStatus, error) {
	raw, err := w.file.SyscallConn()
	if err != nil {
		return 0, err
	}
	if err := raw.Read(readable); err != nil {
		return 0, fmt.Errorf("watch process %d: %w", w.pid, err)
	}
	// Until its parent has asked it is in /proc, afterwards behind the pidfd.
	if st, err := w.ident.stat(w.pid); err == nil && st.start == w.start && st.ended {
		return st.exit, nil
	}
	info := unix.PidfdInfo{Mask: unix.PIDFD_INFO_EXIT}
	var told error
	if err := raw.Control(func(fd uintptr) { told = unix.IoctlPidfdInfo(int(fd), &info) }); err != nil {
		return 0, err
	}
	if told != nil || info.Mask&unix.PIDFD_INFO_EXIT == 0 {
		return 0, fmt.Errorf("watch process %d: the kernel does not tell how it ended: %w", w.pid, told)
	}
	return syscall.WaitStatus(info.Exit_code), nil
}

// readable tells whether a pidfd's process has ended.
func readable(fd uintptr) bool {
	p := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	n, err := unix.Poll(p, 0)
	return err == nil && n == 1
}
