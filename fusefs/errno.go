package fusefs

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fuse"
	"github.com/scrfs/scrfs/scr"
)

// Errno turns an error into what the program sees. known is false for an error
// that has no errno of its own and is shown as EIO.
func Errno(err error) (errno syscall.Errno, known bool) {
	switch {
	case err == nil:
		return 0, true
	case errors.As(err, &errno):
		return errno, true
	case errors.Is(err, fs.ErrNotExist):
		return syscall.ENOENT, true
	case errors.Is(err, fs.ErrExist):
		return syscall.EEXIST, true
	case errors.Is(err, fs.ErrPermission):
		return syscall.EACCES, true
	case errors.Is(err, fs.ErrInvalid):
		return syscall.EINVAL, true
	case errors.Is(err, fs.ErrClosed):
		return syscall.EBADF, true
	case errors.Is(err, scr.ErrNotFound):
		return syscall.ENOENT, true
	case errors.Is(err, scr.ErrExists):
		return syscall.EEXIST, true
	case errors.Is(err, scr.ErrInvalid), errors.Is(err, scr.ErrAmbiguous):
		return syscall.EINVAL, true
	case errors.Is(err, scr.ErrNoSpace):
		return syscall.ENOSPC, true
	case errors.Is(err, scr.ErrBusy):
		return syscall.EBUSY, true
	case errors.Is(err, scr.ErrUnsupported):
		return syscall.EOPNOTSUPP, true
	case errors.Is(err, scr.ErrEscape):
		return syscall.EACCES, true
	case errors.Is(err, context.DeadlineExceeded):
		return syscall.ETIMEDOUT, true
	case errors.Is(err, context.Canceled):
		return syscall.EINTR, true
	}
	return syscall.EIO, false
}

// status is Errno for an answer to the kernel; an unknown error is logged.
func (m *Mount) status(err error) fuse.Status {
	errno, known := Errno(err)
	if !known {
		m.log.Error("file system error", slog.String("error", err.Error()))
	}
	return fuse.Status(errno)
}

const (
	errStale    = syscall.ESTALE
	errNoEntry  = syscall.ENOENT
	errExists   = syscall.EEXIST
	errCrossDev = syscall.EXDEV
)
