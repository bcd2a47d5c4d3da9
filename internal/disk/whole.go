package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"
)

// Temporary names are ".NAME.tmp-N": beside the file, since rename works only
// within one file system, and with a leading dot, since programs list "*".
const (
	tempMark  = ".tmp-"
	tempTries = 1000 // so many writers, or leftovers of crashes, at one name
)

// WriteFile replaces name by data, whole or not at all: it writes a temporary
// file beside it, syncs that, renames it over name and syncs the directory.
// After a crash name has the old bytes or the new, never a mixture; when
// WriteFile has returned nil it has the new. An error leaves the old file and
// no temporary one, except an error of the last step: then name has the new
// bytes, which a crash may still undo. A crash may leave a temporary file,
// which IsTemp knows. The mode is perm less the umask, whatever it was before;
// a symbolic link at name is replaced, not followed.
func WriteFile(f FS, name string, data []byte, perm fs.FileMode) error {
	tmp, err := writeTemp(f, name, data, perm)
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	if err := f.Rename(tmp, name); err != nil {
		return fmt.Errorf("write %s: %w", name, errors.Join(err, f.Remove(tmp)))
	}
	if err := f.SyncDir(path.Dir(name)); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}

// writeTemp leaves a closed and synced temporary file, or none.
func writeTemp(f FS, name string, data []byte, perm fs.FileMode) (tmp string, err error) {
	tmp, w, err := createTemp(f, name, perm)
	if err != nil {
		return "", err
	}
	_, err = w.Write(data)
	if err == nil {
		err = w.Sync()
	}
	if cerr := w.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return "", errors.Join(err, f.Remove(tmp))
	}
	return tmp, nil
}

func createTemp(f FS, name string, perm fs.FileMode) (string, File, error) {
	for n := range tempTries {
		tmp := tempName(name, n)
		w, err := f.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
		if !errors.Is(err, fs.ErrExist) {
			return tmp, w, err
		}
	}
	return "", nil, fmt.Errorf("%d temporary files beside it: %w", tempTries, fs.ErrExist)
}

func tempName(name string, n int) string {
	dir, base := path.Split(name)
	base = base[:min(len(base), 200)] // a name may have 255 bytes
	return dir + "." + base + tempMark + strconv.Itoa(n)
}

// IsTemp reports whether WriteFile makes temporary files of this name. What
// bears it after a crash is of no use and may be removed by whoever owns the
// directory.
func IsTemp(name string) bool {
	base := path.Base(name)
	i := strings.LastIndex(base, tempMark)
	if i < 1 || base[0] != '.' {
		return false
	}
	n, err := strconv.Atoi(base[i+len(tempMark):])
	return err == nil && n >= 0 && n < tempTries
}
