package fusefs_test

import (
	"context"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/scrfs/scrfs/fusefs"
	"golang.org/x/sys/unix"
)

// dirNamespace is a catalogue for tests: the tree is in memory, the content of
// each regular file in a file of its own in one cache directory. It claims
// every name that begins with "ckpt".
type dirNamespace struct {
	cache string
	local bool // files may be passed through
	keep  bool // removed files until the kernel forgets them

	mu     sync.Mutex
	next   uint64
	inodes map[uint64]*inode
	tops   map[string]map[string]uint64 // prefix directory -> names in it
	events []fusefs.PrefixEvent
	writes int64 // WRITE requests that reached a file
}

type inode struct {
	ino          uint64
	mode         uint32
	uid, gid     uint32
	nlink        uint32
	atime, mtime time.Time
	ctime        time.Time
	target       string
	names        map[string]uint64 // of a directory
	xattrs       map[string][]byte
}

func newDirNamespace(cache string, local bool) *dirNamespace {
	return &dirNamespace{cache: cache, local: local, keep: true, next: 1 << 63, inodes: map[uint64]*inode{}, tops: map[string]map[string]uint64{}}
}

func (d *dirNamespace) Claim(_ context.Context, _ fusefs.Dir, name string, kind fusefs.Kind, _ uint32, _ fusefs.Caller) bool {
	return strings.HasPrefix(name, "ckpt") && kind != fusefs.Special
}

// names returns the names of a directory; made tells to make the table.
func (d *dirNamespace) names(dir fusefs.Dir, make_ bool) (map[string]uint64, error) {
	if dir.Ino == 0 {
		if d.tops[dir.Path] == nil && make_ {
			d.tops[dir.Path] = map[string]uint64{}
		}
		return d.tops[dir.Path], nil
	}
	n := d.inodes[dir.Ino]
	switch {
	case n == nil:
		return nil, syscall.ENOENT
	case n.names == nil:
		return nil, syscall.ENOTDIR
	case n.nlink == 0 && make_:
		return nil, syscall.ENOENT
	}
	return n.names, nil
}

func (d *dirNamespace) find(dir fusefs.Dir, name string) (*inode, map[string]uint64, error) {
	names, err := d.names(dir, false)
	if err != nil {
		return nil, nil, err
	}
	ino, ok := names[name]
	if !ok {
		return nil, nil, fs.ErrNotExist
	}
	return d.inodes[ino], names, nil
}

func (d *dirNamespace) data(ino uint64) string {
	return filepath.Join(d.cache, strconv.FormatUint(ino, 16))
}

func (d *dirNamespace) entry(n *inode) (fusefs.Entry, error) {
	e := fusefs.Entry{
		Ino: n.ino, Mode: n.mode, UID: n.uid, GID: n.gid, Nlink: n.nlink,
		Atime: n.atime, Mtime: n.mtime, Ctime: n.ctime, Target: n.target, SizeBytes: int64(len(n.target)), Private: true,
	}
	if n.mode&syscall.S_IFMT == syscall.S_IFREG {
		var st unix.Stat_t
		if err := unix.Stat(d.data(n.ino), &st); err != nil {
			return e, syscall.ESTALE
		}
		e.Mode, e.SizeBytes, e.Blocks, e.UID, e.GID = st.Mode, st.Size, st.Blocks, st.Uid, st.Gid
		e.Atime, e.Mtime, e.Ctime = time.Unix(st.Atim.Unix()), time.Unix(st.Mtim.Unix()), time.Unix(st.Ctim.Unix())
	}
	return e, nil
}

func (d *dirNamespace) Lookup(_ context.Context, dir fusefs.Dir, name string) (fusefs.Entry, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	n, _, err := d.find(dir, name)
	if err != nil {
		return fusefs.Entry{}, err
	}
	return d.entry(n)
}

func (d *dirNamespace) Attr(_ context.Context, ino uint64) (fusefs.Entry, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := d.inodes[ino]
	if n == nil {
		return fusefs.Entry{}, syscall.ESTALE
	}
	return d.entry(n)
}

func (d *dirNamespace) SetAttr(_ context.Context, ino uint64, ch fusefs.AttrChange, _ fusefs.Caller) (fusefs.Entry, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := d.inodes[ino]
	if n == nil {
		return fusefs.Entry{}, syscall.ESTALE
	}
	if n.mode&syscall.S_IFMT == syscall.S_IFREG {
		if err := d.setFile(d.data(ino), ch); err != nil {
			return fusefs.Entry{}, err
		}
		return d.entry(n)
	}
	if ch.Mode != nil {
		n.mode = n.mode&syscall.S_IFMT | *ch.Mode
	}
	if ch.UID != nil {
		n.uid = *ch.UID
	}
	if ch.GID != nil {
		n.gid = *ch.GID
	}
	if ch.Atime != nil {
		n.atime = *ch.Atime
	}
	if ch.Mtime != nil {
		n.mtime = *ch.Mtime
	}
	n.ctime = time.Now()
	return d.entry(n)
}

func (d *dirNamespace) setFile(file string, ch fusefs.AttrChange) error {
	if ch.UID != nil || ch.GID != nil {
		uid, gid := -1, -1
		if ch.UID != nil {
			uid = int(*ch.UID)
		}
		if ch.GID != nil {
			gid = int(*ch.GID)
		}
		if err := unix.Chown(file, uid, gid); err != nil {
			return err
		}
	}
	if ch.Mode != nil {
		if err := unix.Chmod(file, *ch.Mode); err != nil {
			return err
		}
	}
	if ch.SizeBytes != nil {
		if err := unix.Truncate(file, *ch.SizeBytes); err != nil {
			return err
		}
	}
	if ch.Atime != nil || ch.Mtime != nil {
		ts := []unix.Timespec{{Nsec: unix.UTIME_OMIT}, {Nsec: unix.UTIME_OMIT}}
		if ch.Atime != nil {
			ts[0] = unix.Timespec{Sec: ch.Atime.Unix(), Nsec: int64(ch.Atime.Nanosecond())}
		}
		if ch.Mtime != nil {
			ts[1] = unix.Timespec{Sec: ch.Mtime.Unix(), Nsec: int64(ch.Mtime.Nanosecond())}
		}
		return unix.UtimesNanoAt(unix.AT_FDCWD, file, ts, 0)
	}
	return nil
}

func (d *dirNamespace) ReadDir(_ context.Context, dir fusefs.Dir) ([]fusefs.DirEntry, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	names, err := d.names(dir, false)
	if err != nil {
		return nil, err
	}
	var list []fusefs.DirEntry
	for name, ino := range names {
		list = append(list, fusefs.DirEntry{Name: name, Ino: ino, Mode: d.inodes[ino].mode & syscall.S_IFMT})
	}
	slices.SortFunc(list, func(a, b fusefs.DirEntry) int { return strings.Compare(a.Name, b.Name) })
	return list, nil
}

// add makes an inode under a name that must be free.
func (d *dirNamespace) add(dir fusefs.Dir, name string, mode uint32, c fusefs.Caller) (*inode, error) {
	names, err := d.names(dir, true)
	if err != nil {
		return nil, err
	}
	if _, ok := names[name]; ok {
		return nil, fs.ErrExist
	}
	d.next++
	now := time.Now()
	n := &inode{ino: d.next, mode: mode, uid: c.UID, gid: c.GID, nlink: 1, atime: now, mtime: now, ctime: now, xattrs: map[string][]byte{}}
	if mode&syscall.S_IFMT == syscall.S_IFDIR {
		n.names, n.nlink = map[string]uint64{}, 2
	}
	if p := d.inodes[dir.Ino]; p != nil {
		p.mtime, p.ctime = now, now
		if n.names != nil {
			p.nlink++
		}
	}
	d.inodes[n.ino] = n
	names[name] = n.ino
	return n, nil
}
