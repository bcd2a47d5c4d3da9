package fusefs_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
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

func (d *dirNamespace) Mkdir(_ context.Context, dir fusefs.Dir, name string, mode uint32, c fusefs.Caller) (fusefs.Entry, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	n, err := d.add(dir, name, syscall.S_IFDIR|mode, c)
	if err != nil {
		return fusefs.Entry{}, err
	}
	return d.entry(n)
}

func (d *dirNamespace) Symlink(_ context.Context, dir fusefs.Dir, name, target string, c fusefs.Caller) (fusefs.Entry, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	n, err := d.add(dir, name, syscall.S_IFLNK|0o777, c)
	if err != nil {
		return fusefs.Entry{}, err
	}
	n.target = target
	return d.entry(n)
}

func (d *dirNamespace) Create(_ context.Context, dir fusefs.Dir, name string, flags, mode uint32, c fusefs.Caller) (fusefs.Entry, fusefs.File, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	n, _, err := d.find(dir, name)
	switch {
	case err == nil && flags&syscall.O_EXCL != 0:
		return fusefs.Entry{}, nil, fs.ErrExist
	case errors.Is(err, fs.ErrNotExist):
		if n, err = d.add(dir, name, syscall.S_IFREG|mode, c); err != nil {
			return fusefs.Entry{}, nil, err
		}
		f, err := os.OpenFile(d.data(n.ino), os.O_CREATE|os.O_RDWR, 0o600)
		if err != nil {
			return fusefs.Entry{}, nil, err
		}
		err = errors.Join(f.Chown(int(c.UID), int(c.GID)), unix.Fchmod(int(f.Fd()), mode), f.Close())
		if err != nil {
			return fusefs.Entry{}, nil, err
		}
	case err != nil:
		return fusefs.Entry{}, nil, err
	}
	f, err := d.open(n, flags)
	if err != nil {
		return fusefs.Entry{}, nil, err
	}
	e, err := d.entry(n)
	return e, f, err
}

func (d *dirNamespace) open(n *inode, flags uint32) (fusefs.File, error) {
	f, err := os.OpenFile(d.data(n.ino), os.O_RDWR|int(flags)&os.O_TRUNC, 0)
	if err != nil {
		return nil, syscall.ESTALE
	}
	return &dirFile{d: d, f: f}, nil
}

func (d *dirNamespace) Open(_ context.Context, ino uint64, flags uint32, _ fusefs.Caller) (fusefs.File, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := d.inodes[ino]
	if n == nil {
		return nil, syscall.ESTALE
	}
	return d.open(n, flags)
}

// dropName takes name away and, with the last name of a file, its content.
func (d *dirNamespace) dropName(dir fusefs.Dir, names map[string]uint64, name string) error {
	n := d.inodes[names[name]]
	delete(names, name)
	n.nlink--
	n.ctime = time.Now()
	if p := d.inodes[dir.Ino]; p != nil {
		p.mtime, p.ctime = time.Now(), time.Now()
		if n.names != nil {
			p.nlink--
		}
	}
	if n.names != nil {
		n.nlink = 0
		return nil
	}
	if n.nlink > 0 {
		return nil
	}
	if !d.keep {
		d.bury(n)
	}
	return nil
}

// bury removes what is left of an inode without a name.
func (d *dirNamespace) bury(n *inode) {
	delete(d.inodes, n.ino)
	if n.mode&syscall.S_IFMT == syscall.S_IFREG {
		if err := os.Remove(d.data(n.ino)); err != nil {
			panic(err)
		}
	}
}

func (d *dirNamespace) Forget(ino uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if n := d.inodes[ino]; n != nil && n.nlink == 0 {
		d.bury(n)
	}
}

func (d *dirNamespace) Unlink(_ context.Context, dir fusefs.Dir, name string, _ fusefs.Caller) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	n, names, err := d.find(dir, name)
	if err != nil {
		return err
	}
	if n.names != nil {
		return syscall.EISDIR
	}
	return d.dropName(dir, names, name)
}

func (d *dirNamespace) Rmdir(_ context.Context, dir fusefs.Dir, name string, _ fusefs.Caller) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	n, names, err := d.find(dir, name)
	if err != nil {
		return err
	}
	if n.names == nil {
		return syscall.ENOTDIR
	}
	if len(n.names) > 0 {
		return syscall.ENOTEMPTY
	}
	return d.dropName(dir, names, name)
}

func (d *dirNamespace) Rename(_ context.Context, from fusefs.Dir, oldName string, to fusefs.Dir, newName string, flags uint32, _ fusefs.Caller) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	n, names, err := d.find(from, oldName)
	if err != nil {
		return err
	}
	target, err := d.names(to, true)
	if err != nil {
		return err
	}
	old := d.inodes[target[newName]]
	switch {
	case flags&unix.RENAME_EXCHANGE != 0:
		if old == nil {
			return syscall.ENOENT
		}
		names[oldName], target[newName] = old.ino, n.ino
		return nil
	case old == n:
		return nil
	case old != nil && flags&unix.RENAME_NOREPLACE != 0:
		return fs.ErrExist
	case old != nil && old.names != nil && n.names == nil:
		return syscall.EISDIR
	case old != nil && old.names == nil && n.names != nil:
		return syscall.ENOTDIR
	case old != nil && len(old.names) > 0:
		return syscall.ENOTEMPTY
	case old != nil:
		if err := d.dropName(to, target, newName); err != nil {
			return err
		}
	}
	delete(names, oldName)
	target[newName] = n.ino
	n.ctime = time.Now()
	return nil
}

func (d *dirNamespace) Link(_ context.Context, ino uint64, dir fusefs.Dir, name string, _ fusefs.Caller) (fusefs.Entry, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := d.inodes[ino]
	if n == nil {
		return fusefs.Entry{}, syscall.ENOENT
	}
	names, err := d.names(dir, true)
	if err != nil {
		return fusefs.Entry{}, err
	}
	if _, ok := names[name]; ok {
		return fusefs.Entry{}, fs.ErrExist
	}
	names[name] = ino
	n.nlink++
	return d.entry(n)
}

func (d *dirNamespace) GetXattr(_ context.Context, ino uint64, name string) ([]byte, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := d.inodes[ino]
	if n == nil {
		return nil, syscall.ESTALE
	}
	v, ok := n.xattrs[name]
	if !ok {
		return nil, syscall.ENODATA
	}
	return v, nil
}

func (d *dirNamespace) ListXattr(_ context.Context, ino uint64) ([]string, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := d.inodes[ino]
	if n == nil {
		return nil, syscall.ESTALE
	}
	var names []string
	for name := range n.xattrs {
		names = append(names, name)
	}
	slices.Sort(names)
	return names, nil
}

func (d *dirNamespace) SetXattr(_ context.Context, ino uint64, name string, value []byte, _ uint32) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := d.inodes[ino]
	if n == nil {
		return syscall.ESTALE
	}
	n.xattrs[name] = value
	return nil
}

func (d *dirNamespace) RemoveXattr(_ context.Context, ino uint64, name string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := d.inodes[ino]
	if n == nil || n.xattrs[name] == nil {
		return syscall.ENODATA
	}
	delete(n.xattrs, name)
	return nil
}

func (d *dirNamespace) SyncDir(context.Context, uint64) error { return nil }

func (d *dirNamespace) PrefixDirRenamed(_ context.Context, oldPath, newPath string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, dir := range slices.Collect(mapKeys(d.tops)) {
		if rest, ok := strings.CutPrefix(dir+"/", oldPath+"/"); ok {
			to := filepath.Join(newPath, rest)
			d.tops[to] = d.tops[dir]
			delete(d.tops, dir)
		}
	}
	return nil
}

func mapKeys(m map[string]map[string]uint64) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

func (d *dirNamespace) PrefixChanged(ev fusefs.PrefixEvent) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.events = append(d.events, ev)
}

type dirFile struct {
	d *dirNamespace
	f *os.File
}

func (f *dirFile) Local() (*os.File, bool) { return f.f, f.d.local }

func (f *dirFile) ReadAt(_ context.Context, p []byte, off int64) (int, error) {
	return f.f.ReadAt(p, off)
}

func (f *dirFile) WriteAt(_ context.Context, p []byte, off int64) (int, error) {
	f.d.mu.Lock()
	f.d.writes++
	f.d.mu.Unlock()
	return f.f.WriteAt(p, off)
}

func (f *dirFile) Sync(context.Context, bool) error { return f.f.Sync() }

func (f *dirFile) Allocate(_ context.Context, off, size int64, mode uint32) error {
	return unix.Fallocate(int(f.f.Fd()), mode, off, size)
}

func (f *dirFile) Seek(_ context.Context, off int64, whence int) (int64, error) {
	return unix.Seek(int(f.f.Fd()), off, whence)
}

func (f *dirFile) Flush(context.Context, fusefs.Caller) error { return nil }

func (f *dirFile) Release() { _ = f.f.Close() }
