package disk

import (
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"sync"
	"syscall"
	"time"
)

// Mem is a tree in memory with the semantics of Real, used as the superuser
// with a umask of 0: permissions are kept but not enforced. It remembers which
// bytes and entries have been synced; CrashClone is what a power cut leaves of
// it. Times come from a clock that makes one microsecond in each operation, so
// that a test sees the same ones in every run. Files grow to 1 GiB at most.
type Mem struct {
	*memState
	root *memNode
	base string // path of root, for messages
}

// memState is what a Mem shares with its views.
type memState struct {
	mu            sync.Mutex
	unlocked      *sync.Cond // some flock was given back
	top           *memNode
	lastIno       uint64
	ticks         int64
	capacityBytes int64
}

const (
	memMaxFileBytes = 1 << 30
	memDevice       = 0x6d656d // "mem"
	memEpoch        = 1.6e9    // seconds since 1970 of the first operation
)

// memNode is an inode. Those of a crash clone share nothing that changes with
// those they were cloned from.
type memNode struct {
	ino    uint64
	nlink  int // names, for a directory 2 and one for each directory in it
	attr   memAttr
	synced memAttr // attr as the disk has it

	// A regular file. cow says that data must be copied before it is changed,
	// since diskData or a clone shares it.
	data, diskData []byte
	cow            bool

	target string // a symbolic link

	// A directory: its entries now, on the disk, and the changes between.
	entries, diskEntries map[string]*memNode
	pending              []memChange
	parent               *memNode // nil at the top and when removed
	name                 string   // its entry in parent

	readers int // shared flocks held
	writer  bool
}

type memAttr struct {
	mode                fs.FileMode
	uid, gid            int
	atime, mtime, ctime time.Time
}

// memChange is what one operation does to one directory; nil removes the name.
type memChange map[string]*memNode

// NewMem makes an empty tree.
func NewMem() *Mem {
	st := &memState{capacityBytes: 1 << 40}
	st.unlocked = sync.NewCond(&st.mu)
	st.top = st.newNode(fs.ModeDir | 0o755)
	return &Mem{memState: st, root: st.top, base: "/mem"}
}

// SetCapacity limits the bytes of all files together; what would exceed it
// fails with ENOSPC. Files that have no name any more do not count.
func (m *Mem) SetCapacity(bytes int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.capacityBytes = bytes
}

func (m *Mem) Usage() (Usage, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return Usage{
		TotalBytes: m.capacityBytes,
		FreeBytes:  max(0, m.capacityBytes-m.usedBytes()),
		FSType:     "mem",
		Device:     memDevice,
	}, nil
}

func (m *Mem) Sub(name string) (FS, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n, err := m.findDir(name)
	if err != nil {
		return nil, m.fail("sub", name, err)
	}
	return &Mem{memState: m.memState, root: n, base: path.Join(m.base, name)}, nil
}

func (st *memState) newNode(mode fs.FileMode) *memNode {
	st.lastIno++
	now := st.now()
	n := &memNode{ino: st.lastIno, attr: memAttr{mode: mode, atime: now, mtime: now, ctime: now}}
	n.synced = n.attr
	if mode.IsDir() {
		n.nlink = 2
		n.entries = map[string]*memNode{}
		n.diskEntries = map[string]*memNode{}
	}
	return n
}

func (st *memState) now() time.Time {
	st.ticks++
	return time.Unix(memEpoch, st.ticks*1000)
}

func (st *memState) usedBytes() int64 {
	seen := map[*memNode]bool{}
	var add func(*memNode) int64
	add = func(n *memNode) int64 {
		if seen[n] {
			return 0
		}
		seen[n] = true
		sum := int64(len(n.data))
		for _, c := range n.entries {
			sum += add(c)
		}
		return sum
	}
	return add(st.top)
}

// change alters the entries of a directory: in memory now, on the disk when it
// is synced.
func (st *memState) change(dir *memNode, c memChange) {
	apply(dir.entries, c)
	dir.pending = append(dir.pending, c)
	dir.attr.mtime = st.now()
	dir.attr.ctime = dir.attr.mtime
}

func apply(entries map[string]*memNode, c memChange) {
	for name, n := range c {
		if n == nil {
			delete(entries, name)
		} else {
			entries[name] = n
		}
	}
}

// sync puts a node on the disk: bytes of a file, entries of a directory, and
// attributes of both.
func (n *memNode) sync() {
	n.synced = n.attr
	n.diskData, n.cow = n.data, true
	for _, c := range n.pending {
		apply(n.diskEntries, c)
	}
	n.pending = nil
}

func (n *memNode) isDir() bool  { return n.attr.mode.IsDir() }
func (n *memNode) isLink() bool { return n.attr.mode&fs.ModeSymlink != 0 }

// info is a snapshot for Stat.
func (n *memNode) info(name string) memInfo {
	a := n.attr
	st := &syscall.Stat_t{
		Dev: memDevice, Ino: n.ino, Nlink: uint64(n.nlink), Mode: rawMode(a.mode),
		Uid: uint32(a.uid), Gid: uint32(a.gid), Blksize: 4096,
		Atim: syscall.NsecToTimespec(a.atime.UnixNano()),
		Mtim: syscall.NsecToTimespec(a.mtime.UnixNano()),
		Ctim: syscall.NsecToTimespec(a.ctime.UnixNano()),
	}
	switch {
	case n.isDir():
		st.Size = 4096
	case n.isLink():
		st.Size = int64(len(n.target))
	default:
		st.Size = int64(len(n.data))
		st.Blocks = (st.Size + 511) / 512
	}
	return memInfo{name: path.Base(name), mode: a.mode, mtime: a.mtime, stat: st}
}

func rawMode(m fs.FileMode) uint32 {
	raw := uint32(m.Perm())
	for bit, flag := range map[fs.FileMode]uint32{
		fs.ModeDir: syscall.S_IFDIR, fs.ModeSymlink: syscall.S_IFLNK,
		fs.ModeSetuid: syscall.S_ISUID, fs.ModeSetgid: syscall.S_ISGID, fs.ModeSticky: syscall.S_ISVTX,
	} {
		if m&bit != 0 {
			raw |= flag
		}
	}
	if m.IsRegular() {
		raw |= syscall.S_IFREG
	}
	return raw
}

type memInfo struct {
	name  string
	mode  fs.FileMode
	mtime time.Time
	stat  *syscall.Stat_t
}

func (i memInfo) Name() string       { return i.name }
func (i memInfo) Size() int64        { return i.stat.Size }
func (i memInfo) Mode() fs.FileMode  { return i.mode }
func (i memInfo) ModTime() time.Time { return i.mtime }
func (i memInfo) IsDir() bool        { return i.mode.IsDir() }
func (i memInfo) Sys() any           { return i.stat }

func (m *Mem) fail(op, name string, err error) error {
	if err == nil {
		return nil
	}
	return &fs.PathError{Op: op, Path: m.base + "/" + name, Err: err}
}

func (m *Mem) failTwo(op, oldname, newname string, err error) error {
	if err == nil {
		return nil
	}
	return &os.LinkError{Op: op, Old: m.base + "/" + oldname, New: m.base + "/" + newname, Err: err}
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
