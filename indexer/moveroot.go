package indexer

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"syscall"

	"github.com/scrfs/scrfs/internal/disk"
)

// moveRoot brings one root into place in one step. If the name is taken, what
// only the old directory has is linked into the new one, and the two are
// swapped; a file system that cannot swap gets file after file.
//
// Whether the swap was done before a crash is told by a mark in the new
// directory: without it one would swap back.
func (x *Indexer) moveRoot(pub publication, n int) error {
	root := pub.Roots[n]
	src := path.Join(own.Publish(pub.Dataset.ID), root)
	there, err := disk.Exists(x.prefix, src)
	if err != nil {
		return err
	}
	if !there {
		return x.syncBoth(src, root)
	}
	marked, err := disk.Exists(x.prefix, mark(root, pub))
	if err != nil && !errors.Is(err, syscall.ENOTDIR) {
		return err
	}
	if marked { // src is what was there before
		return x.syncBoth(src, root)
	}
	if err := disk.MkdirAll(x.prefix, path.Dir(root), dirPerm); err != nil {
		return err
	}
	switch err := x.prefix.RenameNoReplace(src, root); {
	case err == nil:
		return x.syncBoth(src, root)
	case !errors.Is(err, fs.ErrExist) && !errors.Is(err, syscall.ENOTEMPTY):
		return err
	}
	if err := x.mergeOld(root, src, true); err != nil {
		return err
	}
	if err := x.makeMark(src, pub); err != nil {
		return err
	}
	err = x.prefix.Exchange(src, root)
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOSYS) || errors.Is(err, syscall.EOPNOTSUPP) {
		// A mark on the way would say that all is there when only some is.
		if err := x.prefix.Remove(mark(src, pub)); err != nil {
			return err
		}
		return x.moveEach(src, root)
	}
	if err != nil {
		return err
	}
	return x.syncBoth(src, root)
}

// mark is a file that says that a root is the one of this publication, and of
// no other of the same dataset.
func mark(root string, pub publication) string {
	return path.Join(root, scrDir, fmt.Sprintf("publish.%d.%s", pub.Dataset.ID, pub.Key))
}

func (x *Indexer) makeMark(root string, pub publication) error {
	if err := disk.MkdirAll(x.prefix, path.Join(root, scrDir), dirPerm); err != nil {
		return err
	}
	return disk.WriteFile(x.prefix, mark(root, pub), nil, 0o644)
}

// unmark removes the mark, and .scr if that was made for it.
func (x *Indexer) unmark(root string, pub publication) error {
	err := x.prefix.Remove(mark(root, pub))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil
	}
	if err != nil {
		return err
	}
	dir := path.Join(root, scrDir)
	switch err := x.prefix.Remove(dir); {
	case err == nil:
		return x.prefix.SyncDir(root)
	case errors.Is(err, syscall.ENOTEMPTY), errors.Is(err, fs.ErrExist):
		return x.prefix.SyncDir(dir)
	default:
		return err
	}
}

// mergeOld gives the new directory what only the old one has. SCR's files of
// what was there before are left behind at the top: they describe files that
// may be others now.
func (x *Indexer) mergeOld(old, merged string, top bool) error {
	fi, err := x.prefix.Lstat(old)
	if err != nil || !fi.IsDir() { // a file that gives way to a directory
		return err
	}
	list, err := x.prefix.ReadDir(old)
	if err != nil {
		return err
	}
	for _, e := range list {
		if top && e.Name() == scrDir {
			continue
		}
		from, to := path.Join(old, e.Name()), path.Join(merged, e.Name())
		if err := x.mergeEntry(e, from, to); err != nil {
			return fmt.Errorf("keep %q: %w", from, err)
		}
	}
	return x.prefix.SyncDir(merged)
}

func (x *Indexer) mergeEntry(e fs.DirEntry, from, to string) error {
	fi, err := x.prefix.Lstat(to)
	switch {
	case err == nil && fi.IsDir() && e.IsDir():
		return x.mergeOld(from, to, false)
	case err == nil: // the new one counts
		return nil
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	if e.IsDir() {
		return x.copyDir(from, to)
	}
	err = x.prefix.Link(from, to)
	if err != nil && e.Type() == fs.ModeSymlink { // not every file system links links
		target, rerr := x.prefix.Readlink(from)
		if rerr != nil {
			return rerr
		}
		return x.prefix.Symlink(target, to)
	}
	return err
}

// copyDir makes a directory like the old one, with links to its files.
func (x *Indexer) copyDir(from, to string) error {
	fi, err := x.prefix.Lstat(from)
	if err != nil {
		return err
	}
	if err := x.prefix.Mkdir(to, 0o700); err != nil {
		return err
	}
	if err := x.mergeOld(from, to, false); err != nil {
		return err
	}
	if st, ok := fi.Sys().(*syscall.Stat_t); ok {
		if err := x.prefix.Chown(to, int(st.Uid), int(st.Gid)); err != nil && !errors.Is(err, fs.ErrPermission) {
			return err
		}
	}
	if err := x.prefix.Chmod(to, fi.Mode()&(fs.ModePerm|fs.ModeSetgid|fs.ModeSticky)); err != nil {
		return err
	}
	return x.prefix.Chtimes(to, fi.ModTime(), fi.ModTime())
}

// moveEach moves the files of a directory one by one, where no other way is to
// be had. What is named .scr goes last: until then the directory does not say
// that it is whole.
func (x *Indexer) moveEach(src, dst string) error {
	fi, err := x.prefix.Lstat(dst)
	switch {
	case err == nil && !fi.IsDir():
		if err := x.prefix.Remove(dst); err != nil {
			return err
		}
		fallthrough
	case errors.Is(err, fs.ErrNotExist):
		if err := x.prefix.Rename(src, dst); err != nil {
			return err
		}
		return x.syncBoth(src, dst)
	case err != nil:
		return err
	}
	list, err := x.prefix.ReadDir(src)
	if err != nil {
		return err
	}
	for _, last := range []bool{false, true} {
		for _, e := range list {
			if (e.Name() == scrDir) != last {
				continue
			}
			if err := x.moveInto(e, path.Join(src, e.Name()), path.Join(dst, e.Name())); err != nil {
				return err
			}
		}
	}
	if err := x.prefix.SyncDir(dst); err != nil {
		return err
	}
	return x.prefix.SyncDir(src)
}

func (x *Indexer) moveInto(e fs.DirEntry, from, to string) error {
	if e.IsDir() {
		return x.moveEach(from, to)
	}
	fi, err := x.prefix.Lstat(to)
	if err == nil && fi.IsDir() { // a directory that gives way to a file
		if err := disk.RemoveAll(x.prefix, to); err != nil {
			return err
		}
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return x.prefix.Rename(from, to)
}
