package daemon

import (
	"errors"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/scrfs/scrfs/catalog"
	"github.com/scrfs/scrfs/internal/disk"
	"github.com/scrfs/scrfs/lifecycle"
	"github.com/scrfs/scrfs/scr"
)

// road is how the bytes of a file are written while it is open. It is chosen
// for the first who opens it and holds for all, until the last has closed: the
// kernel cannot be told to let go of a file.
type road int

const (
	undecided road = iota
	byKernel       // straight to the cache file
	byDaemon       // through a daemonFile, which may spill it
)

// held is a file of this node's cache that is open.
type held struct {
	n       *Node
	ino     catalog.Ino
	dataset scr.DatasetID
	users   int // guarded by heldFiles

	mu       sync.RWMutex // written to change any of what follows
	road     road
	writers  int
	path     string    // when it was opened, for its pattern
	file     disk.File // byDaemon
	spilled  bool      // file lies on the prefix directory
	oldBytes int64     // size when the first writer came
	promised int64     // bytes
	setAside bool      // and they are taken from the file system
}

// heldFiles are all of them.
type heldFiles struct {
	mu    sync.Mutex
	byIno map[catalog.Ino]*held
}

func newHeldFiles() *heldFiles { return &heldFiles{byIno: map[catalog.Ino]*held{}} }

func (t *heldFiles) enter(n *Node, i *catalog.Inode) *held {
	t.mu.Lock()
	defer t.mu.Unlock()
	h := t.byIno[i.Ino]
	if h == nil {
		h = &held{n: n, ino: i.Ino, dataset: i.Dataset}
		t.byIno[i.Ino] = h
	}
	h.users++
	return h
}

// leave tells whether nobody holds it any more.
func (t *heldFiles) leave(h *held) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	h.users--
	if h.users == 0 {
		delete(t.byIno, h.ino)
	}
	return h.users == 0
}

// opening says how a file is opened.
type opening struct {
	writes   bool
	truncate bool
	remote   bool // for another node, for one call
}

// openBytes opens the bytes of a file that lies on this node, in the cache or
// where it was spilled.
func (n *Node) openBytes(i *catalog.Inode, p string, o opening) (disk.File, error) {
	h := n.held.enter(n, i)
	f, err := h.open(p, o)
	if err != nil {
		_ = h.close(nil)
		return nil, err
	}
	return f, nil
}

func (h *held) open(p string, o opening) (disk.File, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	mode := os.O_RDONLY
	if o.writes {
		// The kernel may read what surrounds a mapped page it writes.
		mode = os.O_RDWR
	}
	var f disk.File
	if h.road != byDaemon {
		var err error
		if f, err = h.n.store.OpenFile(h.dataset, p, mode); err != nil {
			return nil, err
		}
		if o.truncate {
			err = f.Truncate(0)
		}
		if err != nil {
			return nil, errors.Join(err, f.Close())
		}
		if h.road == undecided {
			if f, err = h.choose(f, p, o); err != nil {
				return nil, err
			}
		}
	} else if o.truncate {
		if err := h.file.Truncate(0); err != nil {
			return nil, err
		}
	}
	if o.writes {
		h.writers++
	}
	if h.road == byDaemon {
		return &daemonFile{held: h, writes: o.writes}, nil
	}
	return &kernelFile{File: f, held: h, writes: o.writes}, nil
}

// choose decides the road for a file that nobody has open. It returns the file
// to be used, which is f or, opened to write, another.
func (h *held) choose(f disk.File, p string, o opening) (disk.File, error) {
	st, err := f.Stat()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	h.path, h.oldBytes, h.road = p, st.Size(), byKernel
	kernel := h.n.kernelWrites() && !o.remote
	if kernel && o.writes {
		kernel = h.promise(f, p, st.Size() == 0)
	} else if !o.writes {
		kernel = kernel || !h.n.beingWritten(h.dataset)
	}
	if kernel {
		return f, nil
	}
	h.spilled = h.n.spilled(h.dataset, p)
	if h.spilled && h.n.kernelWrites() {
		return f, nil // it has left the cache already
	}
	if !o.writes {
		// Who writes it later has to be able to spill it.
		w, err := h.n.store.OpenFile(h.dataset, p, os.O_RDWR)
		if err := errors.Join(err, f.Close()); err != nil {
			return nil, err
		}
		f = w
	}
	h.road, h.file = byDaemon, f
	return f, nil
}

// promise asks for the room that a file needs, and takes it from the file
// system if it is scarce.
func (h *held) promise(f disk.File, p string, empty bool) bool {
	d, err := h.n.room.decide(p, empty, h.n.redundancyBytes)
	if err != nil {
		return true // what the file system does not tell, the program will see
	}
	if d.Short {
		h.n.tellShort(h.dataset)
	}
	if !d.Kernel {
		return false
	}
	if d.SetAside && d.Bytes > 0 && !h.n.spilled(h.dataset, p) {
		err := f.Allocate(0, d.Bytes)
		if noRoom(err) {
			h.n.room.giveBack(d.Bytes)
			return false
		}
		if h.setAside = err == nil; h.setAside {
			// Now the file system counts it.
			h.n.room.giveBack(d.Bytes)
			return true
		}
	}
	h.promised = d.Bytes
	return true
}

// kernelWrites tells whether the kernel can read and write cache files.
func (n *Node) kernelWrites() bool {
	if n.mount == nil {
		return true
	}
	ok, _ := n.mount.Passthrough()
	return ok
}

// beingWritten tells whether a dataset is open in a cache without much room: a
// file of it that is only read now may be written by another program next.
func (n *Node) beingWritten(id scr.DatasetID) bool {
	d, ok := n.dataset(id)
	return ok && d.Phase == lifecycle.PhaseOpen
}

// close ends one use; f is the file to be closed with it, of the kernel's road.
func (h *held) close(f *kernelFile) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	var err error
	if f != nil {
		if f.writes {
			h.wrote(f.File)
		}
		err = f.File.Close()
	}
	if h.n.held.leave(h) && h.file != nil {
		err = errors.Join(err, h.file.Close())
	}
	return err
}

// wrote is called when one who wrote has done; after the last, what was set
// aside and not used is given back. Mu is held.
func (h *held) wrote(f disk.File) {
	h.writers--
	if h.writers > 0 {
		return
	}
	h.n.room.giveBack(h.promised)
	h.promised = 0
	st, err := f.Stat()
	if err != nil {
		return
	}
	h.n.room.learn(h.path, h.dataset, st.Size(), max(0, st.Size()-h.oldBytes))
	h.oldBytes = st.Size()
	if h.setAside {
		h.setAside = false
		trim(f, st.Size(), st.ModTime())
	}
}

// trim frees what lies beyond the end of a file and leaves its time of change.
// It is only about room: if it fails, the room comes back with the file.
func trim(f disk.File, size int64, mtime time.Time) {
	fd, ok := f.Fd()
	if !ok || f.Truncate(size) != nil {
		return
	}
	times := []unix.Timespec{{Nsec: unix.UTIME_OMIT}, unix.NsecToTimespec(mtime.UnixNano())}
	_ = unix.UtimesNanoAt(unix.AT_FDCWD, "/proc/self/fd/"+itoa(fd), times, 0)
}
