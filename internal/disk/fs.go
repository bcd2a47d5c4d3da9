package disk

import (
	"io"
	"io/fs"
	"time"
)

// FS is one directory tree. Names are separated by slashes and relative, "."
// is the root itself. A name that is empty, absolute, holds a NUL byte or a
// ".." element is refused with ErrEscape or fs.ErrInvalid before anything is
// touched; symbolic links are followed as long as they are relative and stay
// within the tree, at most eight to a name.
//
// What is written, created, renamed or removed survives a crash only after
// Sync of the file (bytes, size) and SyncDir of the directory (its entries).
type FS interface {
	// OpenFile opens as open(2) does; flag is passed through, O_NOFOLLOW
	// included, and O_CLOEXEC added. perm has permission bits only, others are
	// refused; the umask applies.
	OpenFile(name string, flag int, perm fs.FileMode) (File, error)
	// Mkdir makes one directory; perm as in OpenFile.
	Mkdir(name string, perm fs.FileMode) error
	// Remove unlinks a file or symbolic link or removes an empty directory.
	Remove(name string) error

	// Rename replaces newname in one step, as rename(2): a directory replaces
	// only an empty directory.
	Rename(oldname, newname string) error
	// RenameNoReplace gives fs.ErrExist if newname is there.
	RenameNoReplace(oldname, newname string) error
	// Exchange swaps two names in one step. Both must be there. EINVAL from
	// file systems that cannot.
	Exchange(a, b string) error

	// Link makes a hard link; a symbolic link is not followed.
	Link(oldname, newname string) error
	// Symlink stores target as it is. It need not exist nor lie in the tree,
	// but a link that leads out of the tree is never followed.
	Symlink(target, name string) error
	Readlink(name string) (string, error)

	// Stat follows symbolic links, Lstat does not. Sys() of the result is a
	// *syscall.Stat_t.
	Stat(name string) (fs.FileInfo, error)
	Lstat(name string) (fs.FileInfo, error)
	// ReadDir lists a directory sorted by name, without "." and "..".
	ReadDir(name string) ([]fs.DirEntry, error)
	// SyncDir makes the entries of a directory durable (not what they name).
	SyncDir(name string) error

	// Chmod, Chown and Chtimes follow symbolic links. An id of -1 and a zero
	// time change nothing.
	Chmod(name string, mode fs.FileMode) error
	Chown(name string, uid, gid int) error
	Chtimes(name string, atime, mtime time.Time) error

	// Lock takes flock(2) on the file, which is made with mode 0600 if absent,
	// and waits for it. Two calls exclude each other in one process as in two.
	// If the name was given to another file while it waited, it locks that
	// one. Close gives the lock back; the file stays. It orders what is done to
	// files; goroutines that share variables need a mutex besides.
	Lock(name string, exclusive bool) (io.Closer, error)

	// Sub is a view of a directory, which is its root: names in it cannot
	// leave it. It stays at the directory when that is renamed.
	Sub(name string) (FS, error)
	// Usage tells how full the file system is.
	Usage() (Usage, error)
}

// File is an open file. Close after writing may report the loss of what was
// written and is to be checked.
type File interface {
	io.Reader
	io.ReaderAt
	io.Writer
	io.WriterAt // refused on files opened with O_APPEND
	io.Seeker
	io.Closer

	// Name is the name given to OpenFile, cleaned.
	Name() string
	Stat() (fs.FileInfo, error)
	// Sync makes bytes and size durable, not the directory entry.
	Sync() error
	// Truncate sets the size in bytes; the offset stays.
	Truncate(size int64) error
	// Fd is the raw descriptor, valid until Close; false if there is none.
	Fd() (uintptr, bool)
	// Allocate reserves space for n bytes at off and leaves the size as it is.
	// errors.ErrUnsupported from file systems that cannot.
	Allocate(off, n int64) error
}

// Usage describes the file system below an FS.
type Usage struct {
	TotalBytes int64
	FreeBytes  int64  // free to an unprivileged user
	FSType     string // ext4, xfs, tmpfs, lustre ...; 0x and the magic number if unknown
	Device     uint64 // st_dev: equal for trees between which Rename and Link work
}
