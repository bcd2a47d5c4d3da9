package disk

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Real is a directory of the operating system. It holds one descriptor, given
// back by Close or when nothing refers to it any more.
type Real struct {
	root *os.Root
	dir  string // absolute, for messages
}

// Open opens the directory dir, which must be there.
func Open(dir string) (FS, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", dir, err)
	}
	root, err := openRoot(abs)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: abs, Err: cause(err)}
	}
	return &Real{root: root, dir: abs}, nil
}

func openRoot(abs string) (*os.Root, error) {
	// os.OpenRoot would wait for a writer on a FIFO and has no errno for a file.
	if fi, err := os.Stat(abs); err != nil {
		return nil, err
	} else if !fi.IsDir() {
		return nil, unix.ENOTDIR
	}
	return os.OpenRoot(abs)
}

// Close gives the descriptor back. Files and views opened before stay usable.
func (r *Real) Close() error { return r.root.Close() }

// String is the absolute path of the directory when it was opened.
func (r *Real) String() string { return r.dir }

func (r *Real) Mkdir(name string, perm fs.FileMode) error {
	n, err := cleanEntry(name)
	if err == nil && perm&^fs.ModePerm != 0 {
		err = unix.EINVAL
	}
	if err == nil {
		err = r.root.Mkdir(n, perm)
	}
	return r.fail("mkdir", name, err)
}

func (r *Real) Remove(name string) error {
	n, err := cleanEntry(name)
	if err == nil {
		err = r.root.Remove(n)
	}
	return r.fail("remove", name, err)
}

func (r *Real) Link(oldname, newname string) error {
	o, n, err := cleanTwo(oldname, newname)
	if err == nil {
		err = r.root.Link(o, n)
	}
	return r.failTwo("link", oldname, newname, err)
}

func (r *Real) Symlink(target, name string) error {
	n, err := cleanEntry(name)
	if err == nil {
		err = r.root.Symlink(target, n)
	}
	return r.fail("symlink", name, err)
}

func (r *Real) Readlink(name string) (string, error) {
	target := ""
	n, err := clean(name)
	if err == nil {
		target, err = r.root.Readlink(n)
	}
	return target, r.fail("readlink", name, err)
}

func (r *Real) Stat(name string) (fs.FileInfo, error)  { return r.stat("stat", name, r.root.Stat) }
func (r *Real) Lstat(name string) (fs.FileInfo, error) { return r.stat("lstat", name, r.root.Lstat) }

func (r *Real) stat(op, name string, stat func(string) (fs.FileInfo, error)) (fs.FileInfo, error) {
	n, err := clean(name)
	if err != nil {
		return nil, r.fail(op, name, err)
	}
	fi, err := stat(n)
	if err != nil {
		return nil, r.fail(op, name, err)
	}
	return fi, nil
}

func (r *Real) ReadDir(name string) ([]fs.DirEntry, error) {
	d, err := r.openDir(name)
	if err != nil {
		return nil, r.fail("readdir", name, err)
	}
	defer d.Close()
	list, err := d.ReadDir(-1)
	if err != nil {
		return nil, r.fail("readdir", name, err)
	}
	for i, e := range list {
		list[i] = dirEntry{fsys: r, dir: path.Clean(name), name: e.Name(), mode: e.Type()}
	}
	sortEntries(list)
	return list, nil
}

func (r *Real) SyncDir(name string) error {
	d, err := r.openDir(name)
	if err == nil {
		defer d.Close()
		err = d.Sync()
	}
	// EINVAL: this file system has no fsync for directories, and nothing more
	// can be done for the entries on it.
	if cause(err) == unix.EINVAL {
		err = nil
	}
	return r.fail("syncdir", name, err)
}

func (r *Real) Chmod(name string, mode fs.FileMode) error {
	n, err := clean(name)
	if err == nil {
		err = r.root.Chmod(n, mode)
	}
	return r.fail("chmod", name, err)
}

func (r *Real) Chown(name string, uid, gid int) error {
	n, err := clean(name)
	if err == nil {
		err = r.root.Chown(n, uid, gid)
	}
	return r.fail("chown", name, err)
}

func (r *Real) Chtimes(name string, atime, mtime time.Time) error {
	n, err := clean(name)
	if err == nil {
		err = r.root.Chtimes(n, atime, mtime)
	}
	return r.fail("chtimes", name, err)
}

func (r *Real) Sub(name string) (FS, error) {
	n, err := clean(name)
	if err != nil {
		return nil, r.fail("sub", name, err)
	}
	if fi, err := r.root.Stat(n); err != nil {
		return nil, r.fail("sub", name, err)
	} else if !fi.IsDir() {
		return nil, r.fail("sub", name, unix.ENOTDIR)
	}
	root, err := r.root.OpenRoot(n)
	if err != nil {
		return nil, r.fail("sub", name, err)
	}
	return &Real{root: root, dir: path.Join(r.dir, n)}, nil
}

// openDir opens a directory for calls relative to it; symbolic links in name
// are resolved within the root.
func (r *Real) openDir(name string) (*os.File, error) {
	n, err := clean(name)
	if err != nil {
		return nil, err
	}
	return r.root.OpenFile(n, unix.O_RDONLY|unix.O_DIRECTORY, 0)
}

func (r *Real) full(name string) string { return r.dir + "/" + name }

func (r *Real) fail(op, name string, err error) error {
	if err == nil {
		return nil
	}
	return &fs.PathError{Op: op, Path: r.full(name), Err: cause(err)}
}

func (r *Real) failTwo(op, oldname, newname string, err error) error {
	if err == nil {
		return nil
	}
	return &os.LinkError{Op: op, Old: r.full(oldname), New: r.full(newname), Err: cause(err)}
}

func cleanTwo(a, b string) (string, string, error) {
	a, err := cleanEntry(a)
	if err != nil {
		return "", "", err
	}
	b, err = cleanEntry(b)
	return a, b, err
}

// dirEntry looks an entry up through the tree it came from, so that Info
// cannot leave the tree.
type dirEntry struct {
	fsys      FS
	dir, name string
	mode      fs.FileMode
}

func (e dirEntry) Name() string               { return e.name }
func (e dirEntry) IsDir() bool                { return e.mode.IsDir() }
func (e dirEntry) Type() fs.FileMode          { return e.mode.Type() }
func (e dirEntry) Info() (fs.FileInfo, error) { return e.fsys.Lstat(path.Join(e.dir, e.name)) }
func (e dirEntry) String() string             { return fs.FormatDirEntry(e) }

func sortEntries(list []fs.DirEntry) {
	slices.SortFunc(list, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
}
