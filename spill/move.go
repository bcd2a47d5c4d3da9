package spill

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"syscall"

	"github.com/scrfs/scrfs/internal/disk"
)

// Create makes an empty file in the place, with the directories above it, and
// opens it to read and write. What was there before, from a run that was
// killed, is replaced.
func (s *FS) Create(at string) (disk.File, error) {
	for try := 0; ; try++ {
		f, err := s.create(at)
		// Another node may have removed the directory with its own last file.
		if err == nil || !errors.Is(err, fs.ErrNotExist) || try == createTries {
			return f, err
		}
	}
}

const createTries = 10

func (s *FS) create(at string) (disk.File, error) {
	if err := disk.MkdirAll(s.place.fs, path.Dir(at), 0o700); err != nil {
		return nil, err
	}
	if err := s.place.fs.Remove(at); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return s.place.fs.OpenFile(at, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
}

// Drop removes a file from the place; none is no error. The directory goes with
// its last file.
func (s *FS) Drop(at string) error {
	if err := s.place.fs.Remove(at); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for dir := path.Dir(at); dir != "."; dir = path.Dir(dir) {
		if s.place.fs.Remove(dir) != nil {
			break // others are in it
		}
	}
	return nil
}

// Replace lets a file of the cache be the one at a name in the place, which has
// the same bytes; the room it took is free when its last descriptor is closed.
// After a crash the name leads to either. But if the cache has no room even for
// the link, the cached file goes first, and after a crash in between the file
// is missing.
func (s *FS) Replace(name, at string) error {
	target := path.Join(s.place.dir, at)
	temp := path.Join(path.Dir(name), ".spill."+path.Base(at))
	err := s.FS.Symlink(target, temp)
	if err == nil {
		if err = s.FS.Rename(temp, name); err != nil {
			err = errors.Join(err, s.FS.Remove(temp))
		}
	}
	if errors.Is(err, syscall.ENOSPC) {
		if err = s.FS.Remove(name); err == nil {
			err = s.FS.Symlink(target, name)
		}
	}
	if err != nil {
		return fmt.Errorf("spill %s: %w", name, err)
	}
	return nil
}

// LinkInto gives a spilled file a second name in the place, instead of one that
// is there. It tells whether it did: not if the file is not spilled or the file
// system has no hard links.
func (s *FS) LinkInto(name, at string) (bool, error) {
	from, ok := s.at(name)
	if !ok {
		return false, nil
	}
	if err := s.place.fs.Remove(at); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	err := s.place.fs.Link(from, at)
	for _, without := range []error{syscall.EPERM, syscall.EOPNOTSUPP, syscall.EMLINK, syscall.EXDEV, errors.ErrUnsupported} {
		if errors.Is(err, without) {
			return false, nil
		}
	}
	return err == nil, err
}
