package scr

import (
	"errors"

	"github.com/scrfs/scrfs/internal/disk"
)

// The kinds of errors that callers tell apart with errors.Is. The commands
// turn them into exit codes.
var (
	// ErrNotFound: no dataset, rank, file or entry of that name.
	ErrNotFound = errors.New("not found")
	// ErrExists: the name is taken and must not be replaced.
	ErrExists = errors.New("already exists")
	// ErrInvalid: a record that can be read but says something impossible.
	ErrInvalid = errors.New("invalid")
	// ErrCorrupt: bytes that differ from their checksum, size or format.
	ErrCorrupt = errors.New("corrupt")
	// ErrIncomplete: files of the dataset are missing.
	ErrIncomplete = errors.New("incomplete")
	// ErrUnrecoverable: more is missing than the redundancy can mend.
	ErrUnrecoverable = errors.New("unrecoverable")
	// ErrEscape: a name that leads out of the directory it belongs to.
	// disk refuses such names with the same error.
	ErrEscape = disk.ErrEscape
	// ErrAmbiguous: the name stands for several things.
	ErrAmbiguous = errors.New("ambiguous")
	// ErrNoSpace: the file system is full.
	ErrNoSpace = errors.New("no space left")
	// ErrBusy: another process holds it.
	ErrBusy = errors.New("busy")
	// ErrUnsupported: a version or family that scrfs does not read or write.
	ErrUnsupported = errors.New("not supported")
)
