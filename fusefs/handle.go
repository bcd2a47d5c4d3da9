package fusefs

import (
	"os"

	"github.com/scrfs/scrfs/prefixfs"
)

// handle is one open file or directory: the answer to one OPEN, CREATE or
// OPENDIR, however many descriptors the program made of it.
type handle struct {
	id     uint64
	node   *node
	flags  uint32 // of open(2)
	opener Caller // RELEASE does not say who
	manner ioManner

	file   File           // of a catalogue file
	prefix *prefixfs.File // of a file or directory of the prefix
	dir    *listing       // of a directory
}

// addHandle gives h an id and notes it with its node.
func (t *table) addHandle(h *handle) {
	if h.node.prefix != nil {
		// RELEASE and FORGET may overtake each other.
		h.node.prefix.Ref()
	}
	t.mu.Lock()
	h.id = t.nextFile
	t.nextFile++
	t.handles[h.id] = h
	t.mu.Unlock()

	h.node.mu.Lock()
	defer h.node.mu.Unlock()
	if h.node.handles == nil {
		h.node.handles = make(map[*handle]struct{})
	}
	h.node.handles[h] = struct{}{}
}

// handle returns the open file the kernel means by id; nil if there is none.
func (t *table) handle(id uint64) *handle {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.handles[id]
}

// dropHandle takes h out of the tables.
func (t *table) dropHandle(h *handle) {
	t.mu.Lock()
	delete(t.handles, h.id)
	t.mu.Unlock()
	h.node.mu.Lock()
	defer h.node.mu.Unlock()
	delete(h.node.handles, h)
}

// writes tells whether the program may write through h.
func (h *handle) writes() bool { return int(h.flags)&(os.O_WRONLY|os.O_RDWR) != 0 }

// localFd returns the descriptor of the file the handle's data lies in, if it
// lies in one on this node or on the prefix.
func (h *handle) localFd() (int, bool) {
	if h.prefix != nil {
		return h.prefix.Fd(), true
	}
	if h.file == nil {
		return -1, false
	}
	f, ok := h.file.Local()
	if !ok {
		return -1, false
	}
	return int(f.Fd()), true
}

// openHandle returns any open handle of n that satisfies want; nil if none.
func (n *node) openHandle(want func(*handle) bool) *handle {
	n.mu.Lock()
	defer n.mu.Unlock()
	for h := range n.handles {
		if want(h) {
			return h
		}
	}
	return nil
}
