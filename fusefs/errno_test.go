package fusefs_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"syscall"
	"testing"

	"github.com/scrfs/scrfs/fusefs"
	"github.com/scrfs/scrfs/scr"
)

func TestErrnoKnowsWhatProgramsMaySee(t *testing.T) {
	for _, c := range []struct {
		err   error
		want  syscall.Errno
		known bool
	}{
		{nil, 0, true},
		{syscall.EXDEV, syscall.EXDEV, true},
		{&fs.PathError{Op: "open", Path: "x", Err: syscall.ENOSPC}, syscall.ENOSPC, true},
		{errors.Join(syscall.EDQUOT, errors.New("and more")), syscall.EDQUOT, true},
		{fs.ErrNotExist, syscall.ENOENT, true},
		{fs.ErrExist, syscall.EEXIST, true},
		{fs.ErrPermission, syscall.EACCES, true},
		{fs.ErrInvalid, syscall.EINVAL, true},
		{fs.ErrClosed, syscall.EBADF, true},
		{fmt.Errorf("dataset 18: %w", scr.ErrNotFound), syscall.ENOENT, true},
		{scr.ErrExists, syscall.EEXIST, true},
		{scr.ErrNoSpace, syscall.ENOSPC, true},
		{scr.ErrBusy, syscall.EBUSY, true},
		{scr.ErrUnsupported, syscall.EOPNOTSUPP, true},
		{scr.ErrEscape, syscall.EACCES, true},
		{context.DeadlineExceeded, syscall.ETIMEDOUT, true},
		{context.Canceled, syscall.EINTR, true},
		{io.ErrUnexpectedEOF, syscall.EIO, false},
		{scr.ErrCorrupt, syscall.EIO, false},
	} {
		if got, known := fusefs.Errno(c.err); got != c.want || known != c.known {
			t.Errorf("%v: got %v, %v, want %v, %v", c.err, got, known, c.want, c.known)
		}
	}
}
