package disk

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
)

// Kind names a call on an FS or a File.
type Kind string

// The calls. Open with O_CREATE is OpCreate; the second line works on an open
// file, OpUnlock on the result of Lock.
const (
	OpOpen, OpCreate, OpMkdir, OpRemove     Kind = "open", "create", "mkdir", "remove"
	OpRename, OpRenameNoReplace, OpExchange Kind = "rename", "rename-noreplace", "exchange"
	OpLink, OpSymlink, OpReadlink           Kind = "link", "symlink", "readlink"
	OpStat, OpLstat, OpReadDir, OpSyncDir   Kind = "stat", "lstat", "readdir", "syncdir"
	OpChmod, OpChown, OpChtimes             Kind = "chmod", "chown", "chtimes"
	OpLock, OpUnlock, OpSub, OpUsage        Kind = "lock", "unlock", "sub", "usage"
	OpRead, OpWrite, OpSeek, OpFstat        Kind = "read", "write", "seek", "fstat"
	OpSync, OpTruncate, OpAllocate, OpClose Kind = "sync", "truncate", "allocate", "close"
)

// Op is one call, as Trace and Inject show it.
type Op struct {
	Kind  Kind
	Name  string // seen from the root of the wrapped FS, also in its views
	To    string // the second name, the target of a symbolic link
	Tag   string // as given to Tag
	Off   int64  // of ReadAt, WriteAt, Allocate; -1 elsewhere
	Bytes int64  // read or written, the new size, the length to allocate
	Err   error  // Trace only; the end of a file is none

	limit int // Inject: write no more than this
}

// Changes reports whether the call may alter the tree or what a crash leaves
// of it.
func (o Op) Changes() bool {
	switch o.Kind {
	case OpOpen, OpReadlink, OpStat, OpLstat, OpReadDir, OpUnlock, OpSub, OpUsage, OpRead, OpSeek, OpFstat, OpClose:
		return false
	}
	return true
}

// String is one line of a golden I/O order:
//
//	[flush] write a/.b.tmp-0 bytes 12
//	rename a/.b.tmp-0 -> a/b: input/output error
func (o Op) String() string {
	var b strings.Builder
	if o.Tag != "" {
		fmt.Fprintf(&b, "[%s] ", o.Tag)
	}
	fmt.Fprintf(&b, "%s %s", o.Kind, o.Name)
	if o.To != "" {
		fmt.Fprintf(&b, " -> %s", o.To)
	}
	if o.Off >= 0 {
		fmt.Fprintf(&b, " at %d", o.Off)
	}
	switch o.Kind {
	case OpRead, OpWrite, OpTruncate, OpAllocate:
		fmt.Fprintf(&b, " bytes %d", o.Bytes)
	}
	if o.Err != nil {
		fmt.Fprintf(&b, ": %v", cause(o.Err))
	}
	return b.String()
}

// Trace calls fn after each call on f and what was opened through it, with its
// result, from the goroutine that made the call.
func Trace(f FS, fn func(Op)) FS {
	return &hooked{inner: f, around: func(op *Op, call func() error) error {
		err := call()
		if err != io.EOF {
			op.Err = err
		}
		fn(*op)
		return err
	}}
}

// Inject asks rule before each call on f and what was opened through it. An
// error from rule is the result of the call, which is then not made, with two
// exceptions: Close closes all the same, and a ShortWrite writes its bytes
// first. rule runs in the goroutine of the call and may be called by several
// at once.
func Inject(f FS, rule func(Op) error) FS {
	return &hooked{inner: f, around: func(op *Op, call func() error) error {
		err := rule(*op)
		if err == nil {
			return call()
		}
		var short ShortWrite
		if errors.As(err, &short) {
			err = short.Err
			op.limit = short.Bytes
			if op.Kind == OpWrite {
				if cerr := call(); cerr != nil {
					return cerr
				}
			}
		}
		if op.Kind == OpClose || op.Kind == OpUnlock {
			if cerr := call(); cerr != nil {
				return cerr
			}
		}
		return op.wrap(err)
	}}
}

// ShortWrite as the error of a rule lets a write come as far as Bytes and then
// fail with Err.
type ShortWrite struct {
	Bytes int
	Err   error
}

func (s ShortWrite) Error() string { return fmt.Sprintf("after %d bytes: %v", s.Bytes, s.Err) }
func (s ShortWrite) Unwrap() error { return s.Err }

// Tag names the calls made through the result, so that a rule or a trace can
// tell a flush from a rebuild at the same file. It changes nothing for an FS
// that is neither traced nor injected.
func Tag(f FS, tag string) FS {
	h, ok := f.(*hooked)
	if !ok {
		return f
	}
	c := *h
	c.tag = tag
	c.inner = Tag(h.inner, tag)
	return &c
}

// wrap gives an injected error the names that a true one would have.
func (o *Op) wrap(err error) error {
	switch err.(type) {
	case *fs.PathError, *os.LinkError:
		return err
	}
	if o.To != "" && o.Kind != OpSymlink {
		return &os.LinkError{Op: string(o.Kind), Old: o.Name, New: o.To, Err: err}
	}
	return &fs.PathError{Op: string(o.Kind), Path: o.Name, Err: err}
}
