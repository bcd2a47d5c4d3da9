package fusefs

import (
	"fmt"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"
	"github.com/scrfs/scrfs/prefixfs"
	"golang.org/x/sys/unix"
)

// unlinkedAttr returns the attributes of a catalogue file that has been
// removed but is open: what was said last of it, and what its data tells.
func (r *requests) unlinkedAttr(n *node, out *fuse.AttrOut) error {
	if n.openHandle(func(*handle) bool { return true }) == nil {
		return errStale
	}
	n.mu.Lock()
	e := n.last
	n.mu.Unlock()
	e.Nlink = 0
	if h := n.openHandle(func(h *handle) bool { _, ok := h.localFd(); return ok }); h != nil {
		fd, _ := h.localFd()
		var st unix.Stat_t
		if err := unix.Fstat(fd, &st); err != nil {
			return err
		}
		e.SizeBytes, e.Blocks = st.Size, st.Blocks
		e.Atime, e.Mtime, e.Ctime = time.Unix(st.Atim.Unix()), time.Unix(st.Mtim.Unix()), time.Unix(st.Ctim.Unix())
	}
	attrFromEntry(&e, &out.Attr)
	return nil
}

// setUnlinked changes the attributes of a catalogue file that has been removed
// but is open.
func setUnlinked(n *node, ch AttrChange) error {
	h := n.openHandle(func(h *handle) bool { _, ok := h.localFd(); return ok })
	if h == nil {
		return errStale
	}
	fd, _ := h.localFd()
	if ch.UID != nil || ch.GID != nil {
		if err := unix.Fchown(fd, optional(ch.UID), optional(ch.GID)); err != nil {
			return err
		}
	}
	if ch.Mode != nil {
		if err := unix.Fchmod(fd, *ch.Mode); err != nil {
			return err
		}
		n.mu.Lock()
		n.last.Mode = n.last.Mode&unix.S_IFMT | *ch.Mode
		n.mu.Unlock()
	}
	if ch.SizeBytes != nil {
		if err := unix.Ftruncate(fd, *ch.SizeBytes); err != nil {
			return err
		}
	}
	if ch.Atime == nil && ch.Mtime == nil {
		return nil
	}
	ts := []unix.Timespec{spec(ch.Atime), spec(ch.Mtime)}
	return unix.UtimesNanoAt(unix.AT_FDCWD, fmt.Sprintf("/proc/self/fd/%d", fd), ts, 0)
}

func optional(id *uint32) int {
	if id == nil {
		return -1
	}
	return int(*id)
}

func spec(t *time.Time) unix.Timespec {
	if t == nil {
		return prefixfs.Omit
	}
	return unix.Timespec{Sec: t.Unix(), Nsec: int64(t.Nanosecond())}
}
