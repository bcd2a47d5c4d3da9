package scr

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/scrfs/scrfs/internal/disk"
	"github.com/scrfs/scrfs/kvtree"
)

// filePerm is the mode of SCR's files: names and sizes, no contents.
const filePerm fs.FileMode = 0o644

// dirPerm is that of the directory .scr: what is in it may be listed.
const dirPerm fs.FileMode = 0o755

// ReadTree reads a hash file. Bytes after the hash are ignored, as SCR does. A
// file that is no whole hash gives an error that wraps ErrCorrupt, an absent one
// fs.ErrNotExist.
func ReadTree(fsys disk.FS, name string) (*kvtree.Tree, error) {
	data, err := disk.ReadFile(fsys, name)
	if err != nil {
		return nil, err
	}
	t, _, err := kvtree.Decode(data)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w: %w", name, ErrCorrupt, err)
	}
	return t, nil
}

// WriteTree replaces a hash file. After a crash the file is the old or the new
// one, never a part of each.
func WriteTree(fsys disk.FS, name string, t *kvtree.Tree) error {
	return disk.WriteFile(fsys, name, kvtree.Encode(t), filePerm)
}

// LockedUpdate changes a hash file that is replaced by rename: it takes the
// exclusive lock of lockName, reads name (an absent file is an empty hash), calls
// change, and replaces the file if the hash is another now. The lock file stays;
// were it removed, two writers could hold locks on two files of that name.
//
// If change returns an error, nothing is written and the error is returned.
func LockedUpdate(fsys disk.FS, lockName, name string, change func(*kvtree.Tree) error) (err error) {
	lock, err := fsys.Lock(lockName, true)
	if err != nil {
		return fmt.Errorf("lock %s: %w", lockName, err)
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	t, err := readOrEmpty(fsys, name)
	if err != nil {
		return err
	}
	before := t.Clone()
	if err := change(t); err != nil {
		return err
	}
	if kvtree.Equal(before, t) {
		return nil
	}
	return WriteTree(fsys, name, t)
}

// LockedRead reads a hash file under the shared lock of lockName; an absent file
// is an empty hash.
func LockedRead(fsys disk.FS, lockName, name string) (t *kvtree.Tree, err error) {
	lock, err := fsys.Lock(lockName, false)
	if err != nil {
		return nil, fmt.Errorf("lock %s: %w", lockName, err)
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	return readOrEmpty(fsys, name)
}

func readOrEmpty(fsys disk.FS, name string) (*kvtree.Tree, error) {
	t, err := ReadTree(fsys, name)
	if errors.Is(err, fs.ErrNotExist) {
		return kvtree.New(), nil
	}
	return t, err
}

// updateInPlace changes a hash file that others lock and rewrite in place, as
// SCR does: exclusive lock on the file itself, read, change, write from the
// start, cut to the new length, sync. A crash in between leaves a file that its
// checksum rejects; only a rename could prevent it, and would lose the lock.
func updateInPlace(fsys disk.FS, name string, change func(*kvtree.Tree) error) (err error) {
	if err := touch(fsys, name); err != nil {
		return err
	}
	lock, err := fsys.Lock(name, true)
	if err != nil {
		return fmt.Errorf("lock %s: %w", name, err)
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	f, err := fsys.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	t, err := readOpen(f, name)
	if err != nil {
		return err
	}
	before := t.Clone()
	if err := change(t); err != nil {
		return err
	}
	if kvtree.Equal(before, t) {
		return nil
	}
	return writeOpen(f, name, kvtree.Encode(t))
}

// readInPlace reads such a file under a shared lock; an absent or empty file is
// an empty hash, and no file is made.
func readInPlace(fsys disk.FS, name string) (t *kvtree.Tree, err error) {
	there, err := disk.Exists(fsys, name)
	if err != nil {
		return nil, err
	}
	if !there {
		return kvtree.New(), nil
	}
	lock, err := fsys.Lock(name, false)
	if err != nil {
		return nil, fmt.Errorf("lock %s: %w", name, err)
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	f, err := fsys.OpenFile(name, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return readOpen(f, name)
}

// touch makes the file if it is absent. Lock would do so too, but so that no
// other user could read it.
func touch(fsys disk.FS, name string) error {
	f, err := fsys.OpenFile(name, os.O_RDWR|os.O_CREATE, filePerm)
	if err != nil {
		return err
	}
	return f.Close()
}

func readOpen(f disk.File, name string) (*kvtree.Tree, error) {
	data, err := io.ReadAll(f)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	if len(data) == 0 { // just created, by us or by an SCR that has not written yet
		return kvtree.New(), nil
	}
	t, _, err := kvtree.Decode(data)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w: %w", name, ErrCorrupt, err)
	}
	return t, nil
}

func writeOpen(f disk.File, name string, data []byte) error {
	if _, err := f.WriteAt(data, 0); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	if err := f.Truncate(int64(len(data))); err != nil {
		return fmt.Errorf("truncate %s: %w", name, err)
	}
	if err := f.Sync(); err != nil {
		return fmt.Errorf("sync %s: %w", name, err)
	}
	return nil
}
