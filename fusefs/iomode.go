package fusefs

import (
	"log/slog"
	"os"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fuse"
)

// ioMode is how the files of one inode are open now. The kernel refuses (EIO)
// a backing file beside another one or beside a file it caches itself.
type ioMode struct {
	backing int32 // id of the registered backing file, while passing > 0
	passing int   // handles that use it
	cached  int   // handles that go through the kernel's page cache of this inode
}

// ioManner is what one handle contributes to the ioMode of its inode.
type ioManner int

const (
	plain   ioManner = iota // neither: direct requests to this process
	passing                 // reads and writes go to the backing file
	cached                  // through the page cache and this process
)

// admit decides how the kernel shall read and write through h, and writes it
// to out. setid tells that writes must clear set-user-id bits, which only this
// process can see to.
func (m *Mount) admit(h *handle, setid bool, out *fuse.OpenOut) {
	n := h.node
	fd, local := h.localFd()
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.io.passing == 0 && local && n.io.cached == 0 {
		m.register(n, fd)
	}
	switch {
	case n.io.passing > 0 || n.io.backing != 0:
		n.io.passing++
		h.manner = passing
		out.BackingID = n.io.backing
		out.OpenFlags |= fuse.FOPEN_PASSTHROUGH
		if setid && h.writes() || !local {
			out.OpenFlags |= fuse.FOPEN_DIRECT_IO
		}
	case local && m.mayCache(h):
		n.io.cached++
		h.manner = cached
	default:
		out.OpenFlags |= fuse.FOPEN_DIRECT_IO
	}
	if !h.writes() {
		// Nothing to write back, so close(2) need not wait for an answer.
		out.OpenFlags |= fuse.FOPEN_NOFLUSH
	}
}

// mayCache tells whether a file that goes through this process is better read
// through the page cache. Writes are: requests of 1 MiB instead of pages. But
// only files that the page cache knows can be mapped shared on kernels before
// 6.6, and only a descriptor that reads and writes can be mapped so.
func (m *Mount) mayCache(h *handle) bool {
	switch int(h.flags) & syscall.O_ACCMODE {
	case os.O_WRONLY:
		return false
	case os.O_RDWR:
		return !m.directMmap
	}
	return int(h.flags)&syscall.O_DIRECT == 0
}

// register makes fd the backing file of n, if the kernel lets us. The caller
// holds n.mu.
func (m *Mount) register(n *node, fd int) {
	if !m.passthrough {
		return
	}
	id, errno := m.server.RegisterBackingFd(&fuse.BackingMap{Fd: int32(fd)})
	if errno != 0 {
		// For instance ELOOP, where the cache lies on an overlay.
		m.passFailed.Do(func() {
			m.log.Warn("a file goes through the daemon: the kernel refused passthrough", slog.String("error", errno.Error()))
		})
		return
	}
	n.io.backing = id
}

// dismiss undoes admit when h is released.
func (m *Mount) dismiss(h *handle) {
	n := h.node
	n.mu.Lock()
	defer n.mu.Unlock()
	switch h.manner {
	case passing:
		n.io.passing--
		if n.io.passing == 0 {
			if errno := m.server.UnregisterBackingFd(n.io.backing); errno != 0 && errno != syscall.EBADF {
				m.log.Error("a backing file cannot be given back", slog.String("error", errno.Error()))
			}
			n.io.backing = 0
		}
	case cached:
		n.io.cached--
	}
	h.manner = plain
}
