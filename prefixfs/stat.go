package prefixfs

import (
	"golang.org/x/sys/unix"
)

// Stat is what statx(2) says of a file, with the birth time where the file
// system has one.
type Stat struct{ unix.Statx_t }

// Key tells one file of the tree from every other. The birth time is part of
// it because inode numbers are used again after a removal.
type Key struct {
	DevMajor, DevMinor uint32
	Ino                uint64
	BirthSec           int64
	BirthNsec          uint32
}

// Key returns the identity of the file.
func (s *Stat) Key() Key {
	k := Key{DevMajor: s.Dev_major, DevMinor: s.Dev_minor, Ino: s.Ino}
	if s.Mask&unix.STATX_BTIME != 0 {
		k.BirthSec, k.BirthNsec = s.Btime.Sec, s.Btime.Nsec
	}
	return k
}

// IsDir tells whether the file is a directory.
func (s *Stat) IsDir() bool { return s.Mode&unix.S_IFMT == unix.S_IFDIR }

// IsRegular tells whether the file is a regular file.
func (s *Stat) IsRegular() bool { return s.Mode&unix.S_IFMT == unix.S_IFREG }

const statWanted = unix.STATX_BASIC_STATS | unix.STATX_BTIME

func statFd(fd int) (Stat, error) {
	var s Stat
	err := unix.Statx(fd, "", unix.AT_EMPTY_PATH, statWanted, &s.Statx_t)
	return s, err
}

func statAt(fd int, name string) (Stat, error) {
	var s Stat
	err := unix.Statx(fd, name, unix.AT_SYMLINK_NOFOLLOW, statWanted, &s.Statx_t)
	return s, err
}
