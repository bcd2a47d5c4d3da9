package fusefs_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"syscall"
	"time"

	"github.com/scrfs/scrfs/fusefs"
	"golang.org/x/sys/unix"
)

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
