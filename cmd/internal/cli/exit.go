package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"strings"
	"syscall"

	urfave "github.com/urfave/cli/v2"

	"github.com/scrfs/scrfs/control"
	"github.com/scrfs/scrfs/scr"
)

// Code is an exit code. docs/exit-codes.md is the table for users; a test
// holds it against this one.
type Code int

// The exit codes of all commands.
const (
	OK            Code = 0  // done
	Failed        Code = 1  // anything that has no code of its own
	Usage         Code = 2  // the command line or a setting is wrong
	NotFound      Code = 3  // no such dataset, file or directory
	Unrecoverable Code = 4  // files of a dataset are missing and cannot be rebuilt
	Damaged       Code = 5  // a file is corrupt, or says what cannot be
	NoRoom        Code = 6  // no space left
	NotPermitted  Code = 7  // permission denied
	Taken         Code = 8  // in use: a mount, a prefix directory, a name
	NoFUSE        Code = 9  // this machine cannot mount
	NoDaemon      Code = 10 // no daemon answers, or the nodes of the job do not
)

// UsageError is a wrong command line or setting.
type UsageError struct{ Err error }

func (e *UsageError) Error() string { return e.Err.Error() }
func (e *UsageError) Unwrap() error { return e.Err }

// Usagef makes a UsageError.
func Usagef(format string, args ...any) error { return &UsageError{fmt.Errorf(format, args...)} }

// Hinted is an error with the next step for the user.
type Hinted struct {
	Err  error
	Hint string
}

func (h *Hinted) Error() string { return h.Err.Error() }
func (h *Hinted) Unwrap() error { return h.Err }

// Hint adds what the user can do about an error; nil stays nil.
func Hint(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return &Hinted{err, fmt.Sprintf(format, args...)}
}

// ErrTaken: something is in use by another.
var ErrTaken = errors.New("is in use")

// ErrNoFUSE: the machine has no FUSE, or does not let us use it.
var ErrNoFUSE = errors.New("FUSE cannot be used here")

// codes is tried in order: the first sentinel an error wraps gives its code.
var codes = []struct {
	err  error
	code Code
}{
	{ErrTaken, Taken},
	{ErrNoFUSE, NoFUSE},
	{control.ErrNoDaemon, NoDaemon},
	{scr.ErrUnrecoverable, Unrecoverable},
	{scr.ErrIncomplete, Unrecoverable},
	{scr.ErrAmbiguous, Usage},
	{scr.ErrCorrupt, Damaged},
	{scr.ErrInvalid, Damaged},
	{scr.ErrEscape, Damaged},
	{scr.ErrNotFound, NotFound},
	{syscall.ENOSPC, NoRoom},
	{syscall.EDQUOT, NoRoom},
	{fs.ErrNotExist, NotFound},
	{fs.ErrPermission, NotPermitted},
	{syscall.EROFS, NotPermitted},
	{fs.ErrExist, Taken},
	{syscall.EBUSY, Taken},
}

// CodeOf is the exit code an error gives.
func CodeOf(err error) Code {
	var usage *UsageError
	var own interface{ ExitCode() Code }
	switch {
	case err == nil:
		return OK
	case errors.As(err, &own):
		return own.ExitCode()
	case errors.As(err, &usage):
		return Usage
	}
	for _, c := range codes {
		if errors.Is(err, c.err) {
			return c.code
		}
	}
	return Failed
}

// Report shows an error: each line of it behind "error:", then the next step.
func Report(w io.Writer, program string, err error) {
	for line := range strings.Lines(err.Error()) {
		line = strings.TrimRight(line, "\n")
		if hint, ok := strings.CutPrefix(line, "hint: "); ok {
			fmt.Fprintf(w, "%s: hint: %s\n", program, hint)
			continue
		}
		fmt.Fprintf(w, "%s: error: %s\n", program, line)
	}
	var h *Hinted
	if errors.As(err, &h) {
		fmt.Fprintf(w, "%s: hint: %s\n", program, h.Hint)
	}
}

// Main runs a command and returns its exit code. SIGINT and SIGTERM end the
// context; a second one ends the process.
func Main(app *urfave.App, args []string) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	app.ExitErrHandler = func(*urfave.Context, error) {}
	app.OnUsageError = usageError
	for _, c := range app.Commands {
		prepare(c)
	}
	err := app.RunContext(ctx, args)
	if err != nil {
		Report(os.Stderr, app.Name, err)
	}
	return int(CodeOf(err))
}

func prepare(c *urfave.Command) {
	c.OnUsageError = usageError
	for _, sub := range c.Subcommands {
		prepare(sub)
	}
}

func usageError(_ *urfave.Context, err error, _ bool) error { return &UsageError{err} }
