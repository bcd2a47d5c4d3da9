package daemon

import (
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/scrfs/scrfs/catalog"
	"github.com/scrfs/scrfs/fusefs"
	"github.com/scrfs/scrfs/internal/disk"
)

// removed are the inodes of the catalogue that have no name any more but that
// the kernel still remembers: a program has them open, stands in them, or is
// about to open them. Their bytes are reached through a descriptor that was
// opened before the cache file went.
type removed struct {
	mount atomic.Pointer[fusefs.Mount] // nil before there is one
	mu    sync.Mutex
	byIno map[catalog.Ino]*removedInode
}

type removedInode struct {
	inode *catalog.Inode
	file  disk.File // nil if it is no regular file, or its bytes are elsewhere
	users int       // the kernel's memory is one, each open another
}

func newRemoved() *removed { return &removed{byIno: map[catalog.Ino]*removedInode{}} }

// keep takes over an inode whose name is going; path is that of its bytes. It
// is called before the cache file is removed.
func (n *Node) keep(i *catalog.Inode, path string) {
	m := n.removed.mount.Load()
	if m == nil || !m.Remembers(uint64(i.Ino)) {
		return
	}
	r := &removedInode{inode: i.Copy(), users: 1}
	if i.IsRegular() && n.owns(i) {
		f, err := n.store.OpenFile(i.Dataset, path, os.O_RDWR)
		if err != nil {
			return // who has it open keeps its own descriptor
		}
		r.file = f
	}
	n.removed.mu.Lock()
	n.removed.byIno[i.Ino] = r
	n.removed.mu.Unlock()
	if !m.Remembers(uint64(i.Ino)) {
		n.removed.Forget(uint64(i.Ino)) // it came in between
	}
}

// Forget is told when the kernel has forgotten an inode.
func (t *removed) Forget(ino uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.byIno[catalog.Ino(ino)]
	if r == nil {
		return
	}
	delete(t.byIno, catalog.Ino(ino))
	r.leaveLocked()
}

func (r *removedInode) leaveLocked() {
	if r.users--; r.users == 0 && r.file != nil {
		_ = r.file.Close() // the file has no name: nothing can be lost
	}
}

// close forgets all, after the mount has ended.
func (t *removed) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, r := range t.byIno {
		r.leaveLocked()
	}
	clear(t.byIno)
}

// get returns a copy of the inode, nil if there is none.
func (t *removed) get(ino uint64) *catalog.Inode {
	t.mu.Lock()
	defer t.mu.Unlock()
	if r := t.byIno[catalog.Ino(ino)]; r != nil {
		return r.inode.Copy()
	}
	return nil
}

// open opens a removed file once more. It is nobody's write any more, so the
// job is not told.
func (n *Node) openRemoved(ino uint64, flags uint32) (*openFile, error) {
	t := n.removed
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.byIno[catalog.Ino(ino)]
	if r == nil || r.file == nil {
		return nil, syscall.ESTALE
	}
	if flags&syscall.O_TRUNC != 0 {
		if err := r.file.Truncate(0); err != nil {
			return nil, err
		}
	}
	r.users++
	f := &openFile{n: n, inode: r.inode.Copy(), local: &sharedFile{File: r.file, done: sync.OnceFunc(func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		r.leaveLocked()
	})}}
	n.files.add(f)
	return f, nil
}

// sharedFile is a file that is closed for one of its users.
type sharedFile struct {
	disk.File
	done func()
}

func (s *sharedFile) Close() error {
	s.done()
	return nil
}

// OSFile lets the kernel read and write the file by itself.
func (s *sharedFile) OSFile() *os.File {
	if f, ok := s.File.(interface{ OSFile() *os.File }); ok {
		return f.OSFile()
	}
	return nil
}

// attr answers for an inode without a name; ESTALE if it is not known.
func (t *removed) attr(ino uint64, files *files) (fusefs.Entry, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.byIno[catalog.Ino(ino)]
	if r == nil {
		return files.unlinkedAttr(ino)
	}
	i := r.inode
	e := fusefs.Entry{
		Ino: ino, Mode: i.Mode, UID: i.UID, GID: i.GID, SizeBytes: i.SizeBytes, Target: i.Target,
		Atime: time.Unix(0, i.Atime), Mtime: time.Unix(0, i.Mtime), Ctime: time.Unix(0, i.Ctime),
	}
	file := r.file
	if _, open := files.local(ino); open != nil {
		file = open // it knows what does not lie in the cache
	}
	if file == nil {
		return e, nil
	}
	st, err := file.Stat()
	if err != nil {
		return e, err
	}
	fromFile(&e, st.Size(), st.ModTime(), st.Sys())
	return e, nil
}

// setAttr changes the attributes of an inode without a name.
func (t *removed) setAttr(ino uint64, ch fusefs.AttrChange, files *files) (fusefs.Entry, error) {
	t.mu.Lock()
	r := t.byIno[catalog.Ino(ino)]
	if r == nil {
		t.mu.Unlock()
		return files.setUnlinkedAttr(ino, ch)
	}
	err := r.change(ch)
	t.mu.Unlock()
	if err != nil {
		return fusefs.Entry{}, err
	}
	return t.attr(ino, files)
}

func (r *removedInode) change(ch fusefs.AttrChange) error {
	i := r.inode
	if ch.Mode != nil {
		i.Mode = i.Mode&syscall.S_IFMT | *ch.Mode&0o7777
	}
	if ch.UID != nil {
		i.UID = *ch.UID
	}
	if ch.GID != nil {
		i.GID = *ch.GID
	}
	if ch.Atime != nil {
		i.Atime = ch.Atime.UnixNano()
	}
	if ch.Mtime != nil {
		i.Mtime = ch.Mtime.UnixNano()
	}
	i.Ctime = time.Now().UnixNano()
	if r.file == nil {
		return nil
	}
	if ch.SizeBytes != nil {
		if err := r.file.Truncate(*ch.SizeBytes); err != nil {
			return err
		}
	}
	fd, ok := r.file.Fd()
	if !ok || ch.Mtime == nil {
		return nil
	}
	ts := []unix.Timespec{{Nsec: unix.UTIME_OMIT}, unix.NsecToTimespec(ch.Mtime.UnixNano())}
	return unix.UtimesNanoAt(unix.AT_FDCWD, fmt.Sprintf("/proc/self/fd/%d", fd), ts, 0)
}

// Forget is told when the kernel has forgotten an inode.
func (s namespace) Forget(ino uint64) { s.n.removed.Forget(ino) }

var _ fusefs.Forgetter = namespace{}
