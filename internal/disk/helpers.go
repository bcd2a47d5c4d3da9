package disk

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path"
	"syscall"
)

// ReadFile reads the whole file.
func ReadFile(f FS, name string) (data []byte, err error) {
	r, err := f.OpenFile(name, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	fi, err := r.Stat()
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	b.Grow(int(fi.Size()) + bytes.MinRead) // room to see the end without growing
	_, err = b.ReadFrom(r)
	return b.Bytes(), err
}

// MkdirAll makes name and what is missing above it. The new entries are
// durable when it returns nil; one that is there already costs no sync.
func MkdirAll(f FS, name string, perm fs.FileMode) error {
	fi, err := f.Stat(name)
	if err == nil && !fi.IsDir() {
		return &fs.PathError{Op: "mkdir", Path: name, Err: syscall.ENOTDIR}
	}
	if err == nil || !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	dir := path.Dir(path.Clean(name))
	if dir != "." {
		if err := MkdirAll(f, dir, perm); err != nil {
			return err
		}
	}
	if err := f.Mkdir(name, perm); err != nil {
		// Somebody else may have made it since Stat.
		if fi, serr := f.Stat(name); serr != nil || !fi.IsDir() {
			return err
		}
	}
	return f.SyncDir(dir)
}

// RemoveAll removes name and all below it and follows no symbolic link; nil if
// it is not there. It goes on after an error and returns the first. Nothing is
// synced: a crash may bring any of it back.
func RemoveAll(f FS, name string) error {
	err := f.Remove(name)
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	fi, serr := f.Lstat(name)
	if serr != nil || !fi.IsDir() {
		return err
	}
	list, first := f.ReadDir(name)
	for _, e := range list {
		if err := RemoveAll(f, path.Join(name, e.Name())); first == nil {
			first = err
		}
	}
	if first != nil {
		return first
	}
	if err := f.Remove(name); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// Exists reports whether there is something called name, be it a symbolic link
// that leads nowhere.
func Exists(f FS, name string) (bool, error) {
	_, err := f.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}
