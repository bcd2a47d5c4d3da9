package peer

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"path"

	"github.com/scrfs/scrfs/internal/disk"
	"github.com/scrfs/scrfs/scr"
)

// SecretName is where the job's secret lies, below the prefix directory.
const SecretName = ".scr/secret"

// LoadOrCreateSecret returns the job's secret from the prefix directory, and
// makes it if there is none: SecretBytes random bytes, mode 0600. Any number of
// nodes may do so at once, and all get the same; it appears whole and durable
// or, after a crash, not at all. A secret that others than its owner may read,
// or that has another length, is an error and stays as it is: errors.Is finds
// fs.ErrPermission or scr.ErrCorrupt.
func LoadOrCreateSecret(prefix disk.FS) ([]byte, error) {
	s, err := loadSecret(prefix)
	if errors.Is(err, fs.ErrNotExist) {
		if err = createSecret(prefix); err == nil {
			s, err = loadSecret(prefix)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("job secret: %w", err)
	}
	return s, nil
}

func loadSecret(prefix disk.FS) ([]byte, error) {
	info, err := prefix.Lstat(SecretName)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is no regular file: %w", SecretName, fs.ErrPermission)
	}
	if info.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("%s has mode %#o, others may use it: %w", SecretName, info.Mode().Perm(), fs.ErrPermission)
	}
	if info.Size() != SecretBytes {
		return nil, fmt.Errorf("%s has %d bytes, not %d: %w", SecretName, info.Size(), SecretBytes, scr.ErrCorrupt)
	}
	s, err := disk.ReadFile(prefix, SecretName)
	if err != nil {
		return nil, err
	}
	if len(s) != SecretBytes || bytes.Equal(s, make([]byte, SecretBytes)) {
		return nil, fmt.Errorf("%s holds no secret: %w", SecretName, scr.ErrCorrupt)
	}
	return s, nil
}

// createSecret makes the secret unless another node was faster.
func createSecret(prefix disk.FS) error {
	dir := path.Dir(SecretName)
	if err := disk.MkdirAll(prefix, dir, 0o777); err != nil { // as the umask allows
		return err
	}
	s := make([]byte, SecretBytes)
	var number [8]byte
	rand.Read(s)
	rand.Read(number[:])
	// Under a name of its own first, as disk names temporary files; then the
	// name that counts is given in one step that only one node can take. Link
	// comes first: it is atomic on every shared file system, and a rename that
	// does not replace is not to be had on many.
	tmp := fmt.Sprintf("%s/.secret.%x.tmp-0", dir, number)
	if err := disk.WriteFile(prefix, tmp, s, 0o600); err != nil {
		return err
	}
	err := prefix.Link(tmp, SecretName)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		err = prefix.RenameNoReplace(tmp, SecretName)
	}
	if errors.Is(err, fs.ErrExist) {
		err = nil
	}
	if rmErr := prefix.Remove(tmp); rmErr != nil && !errors.Is(rmErr, fs.ErrNotExist) {
		err = errors.Join(err, rmErr)
	}
	if err != nil {
		return err
	}
	return prefix.SyncDir(dir)
}
