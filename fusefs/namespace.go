package fusefs

import (
	"context"
	"os"
	"time"
)

// Kind is the kind of a file that is about to be made.
type Kind int

// The kinds a program can make. Special covers FIFOs, sockets and devices,
// which never belong to a dataset.
const (
	RegularFile Kind = iota
	Directory
	SymbolicLink
	Special
)

// Caller is who asks: the credentials of the request and the thread that
// issued it. PID is a thread id (Linux puts the id of the calling thread into
// the request header); it is 0 for requests the kernel makes by itself.
type Caller struct {
	UID, GID uint32
	PID      uint32
}

// Dir names a directory of the merged tree. A directory that a dataset of
// this job made is known by its inode number in the catalogue; any other lies
// on the prefix directory and is known by its path below it ("" is the prefix
// directory itself), with Ino 0.
type Dir struct {
	Ino  uint64
	Path string
}

// Entry is what the catalogue knows of one of its names.
type Entry struct {
	// Ino has bit 63 set, so it cannot clash with one of the prefix directory.
	Ino uint64
	// Mode is st_mode: type and permission bits.
	Mode                uint32
	UID, GID            uint32
	Nlink               uint32
	SizeBytes           int64
	Blocks              int64 // of 512 bytes
	Atime, Mtime, Ctime time.Time
	// Target is the text of a symbolic link.
	Target string
	// Private is true while no other node can change the file's size and
	// times: only then may the kernel cache them.
	Private bool
}

// DirEntry is one name in a directory listing.
type DirEntry struct {
	Name string
	Ino  uint64
	Mode uint32 // type bits only
}

// AttrChange says which attributes a caller sets; nil means leave alone.
type AttrChange struct {
	Mode         *uint32 // permission bits
	UID, GID     *uint32
	SizeBytes    *int64
	Atime, Mtime *time.Time
}

// Namespace is the catalogue as the mount sees it: the names that belong to
// datasets. The mount asks it first and turns to the prefix directory for what
// it does not hold. Errors are those of package scr or syscall.Errno values;
// Errno turns them into what the program sees. Every method may be called
// from many goroutines at once.
type Namespace interface {
	// Claim decides whether a name that does not exist yet, in a directory of
	// the prefix, belongs to a dataset. Below a catalogue directory everything
	// does and Claim is not asked. flags are those of open(2).
	Claim(ctx context.Context, dir Dir, name string, kind Kind, flags uint32, c Caller) bool

	// Lookup finds a name. fs.ErrNotExist means the catalogue has none: in a
	// prefix directory the mount then asks the prefix directory.
	Lookup(ctx context.Context, dir Dir, name string) (Entry, error)
	// Attr returns the present attributes; syscall.ESTALE if the inode is gone.
	Attr(ctx context.Context, ino uint64) (Entry, error)
	SetAttr(ctx context.Context, ino uint64, ch AttrChange, c Caller) (Entry, error)
	// ReadDir lists the catalogue's names in dir, without "." and "..".
	ReadDir(ctx context.Context, dir Dir) ([]DirEntry, error)

	Mkdir(ctx context.Context, dir Dir, name string, mode uint32, c Caller) (Entry, error)
	Symlink(ctx context.Context, dir Dir, name, target string, c Caller) (Entry, error)
	// Create makes a regular file, or opens it if it is there and O_EXCL is
	// not among the flags.
	Create(ctx context.Context, dir Dir, name string, flags, mode uint32, c Caller) (Entry, File, error)
	Open(ctx context.Context, ino uint64, flags uint32, c Caller) (File, error)
	// Unlink removes a name of the catalogue. In a directory of the prefix the
	// mount then removes what the prefix has under the same name.
	Unlink(ctx context.Context, dir Dir, name string, c Caller) error
	Rmdir(ctx context.Context, dir Dir, name string, c Caller) error
	// Rename moves a catalogue name. flags are those of renameat2(2). EXDEV if
	// the target is a directory the catalogue cannot hold. What the prefix has
	// under either name (an older file, the copy of a published one) is left to
	// the Namespace; the mount has seen to RENAME_NOREPLACE.
	Rename(ctx context.Context, from Dir, oldName string, to Dir, newName string, flags uint32, c Caller) error
	Link(ctx context.Context, ino uint64, dir Dir, name string, c Caller) (Entry, error)

	GetXattr(ctx context.Context, ino uint64, name string) ([]byte, error)
	ListXattr(ctx context.Context, ino uint64) ([]string, error)
	SetXattr(ctx context.Context, ino uint64, name string, value []byte, flags uint32) error
	RemoveXattr(ctx context.Context, ino uint64, name string) error
	// SyncDir is fsync(2) of a catalogue directory.
	SyncDir(ctx context.Context, ino uint64) error

	// PrefixDirRenamed tells that a directory of the prefix was renamed
	// through this mount, so that names the catalogue holds below it follow.
	PrefixDirRenamed(ctx context.Context, oldPath, newPath string) error
	// PrefixChanged tells of a finished change to the prefix directory made
	// through this mount (a file closed after writing, a rename, a removal), as
	// the boundary rules need to know of it. It must not block.
	PrefixChanged(ev PrefixEvent)
}

// PrefixEvent is a change of a bypassed path.
type PrefixEvent struct {
	Op      string // "close", "rename", "unlink", "mkdir", "rmdir"
	Path    string
	OldPath string // for rename
	Caller  Caller
}

// File is one open catalogue file.
type File interface {
	// Local returns the open cache file if the data lies on this node and
	// reads and writes may go straight to it: the mount then asks the kernel
	// for passthrough. The caller must not close it; it is valid until Release.
	Local() (*os.File, bool)
	// ReadAt and WriteAt serve files that are not local or may spill.
	ReadAt(ctx context.Context, p []byte, off int64) (int, error)
	WriteAt(ctx context.Context, p []byte, off int64) (int, error)
	Sync(ctx context.Context, dataOnly bool) error
	// Allocate is fallocate(2) with its mode bits.
	Allocate(ctx context.Context, off, size int64, mode uint32) error
	// Seek is lseek(2) with SEEK_DATA or SEEK_HOLE.
	Seek(ctx context.Context, off int64, whence int) (int64, error)
	// Flush is told of each close(2) of a descriptor; the kernel waits for it.
	Flush(ctx context.Context, c Caller) error
	// Release is told once, when the last descriptor of this open is gone.
	Release()
}

// Visitor may be implemented by a Namespace that wants to know who asks before
// anything is looked up for them. It may block the request.
type Visitor interface {
	Visit(ctx context.Context, c Caller)
}

// SpecialMaker may be implemented by a Namespace that holds FIFOs and sockets;
// mode has the kind.
type SpecialMaker interface {
	MakeSpecial(ctx context.Context, dir Dir, name string, mode uint32, c Caller) (Entry, error)
}

// Forgetter may be implemented by a Namespace that wants to know how long the
// kernel remembers an inode. A removed file that is still remembered can still
// be opened by a program that was on its way (the kernel retries once after
// ESTALE, a race can be lost twice) and is asked for its attributes by whoever
// has it open.
type Forgetter interface {
	// Forget tells that the kernel has forgotten ino: no method is called with
	// it again until Lookup or one of the calls that make things returned it
	// anew. It must not block.
	Forget(ino uint64)
}

// StateRemover may be implemented by a Namespace that keeps a hidden directory
// in directories of the prefix.
type StateRemover interface {
	// RemoveState removes the hidden directory from the directory at path, if
	// nothing else is in that: rmdir(2) takes it along.
	RemoveState(ctx context.Context, path string) error
}
