package prefixfs

import (
	"bytes"
	"encoding/binary"

	"golang.org/x/sys/unix"
)

// DirEntry is one name of a directory.
type DirEntry struct {
	Name string
	Ino  uint64
	Mode uint32 // type bits; 0 where the file system does not tell
}

// OpenDir opens the directory n for ReadDir and Sync.
func (n *Node) OpenDir() (*File, error) {
	var file *File
	err := n.with(func(fd int) error {
		dfd, err := unix.Openat(fd, ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err == nil {
			file = &File{fs: n.fs, fd: dfd}
		}
		return err
	})
	return file, err
}

// ReadDir returns all names of the directory, without "." and "..", in the
// order of the file system. It may be called again and starts anew.
func (f *File) ReadDir() ([]DirEntry, error) {
	var entries []DirEntry
	buf := make([]byte, 256<<10)
	err := f.fs.pool.do(func() error {
		if _, err := unix.Seek(f.fd, 0, 0); err != nil {
			return err
		}
		for {
			n, err := unix.Getdents(f.fd, buf)
			if err != nil || n == 0 {
				return err
			}
			entries = appendDirents(entries, buf[:n])
		}
	})
	return entries, err
}

// appendDirents decodes the linux_dirent64 records of getdents64(2):
// ino 8 bytes, offset 8, record length 2, type 1, name with a zero byte.
func appendDirents(to []DirEntry, buf []byte) []DirEntry {
	for len(buf) >= 19 {
		length := int(binary.NativeEndian.Uint16(buf[16:]))
		if length < 19 || length > len(buf) {
			return to
		}
		name, _, _ := bytes.Cut(buf[19:length], []byte{0})
		if s := string(name); s != "." && s != ".." && s != "" {
			to = append(to, DirEntry{
				Name: s,
				Ino:  binary.NativeEndian.Uint64(buf),
				Mode: uint32(buf[18]) << 12, // DT_x is S_IFx shifted by 12
			})
		}
		buf = buf[length:]
	}
	return to
}
