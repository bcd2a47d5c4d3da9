package disk

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"strings"
	"sync"
	"syscall"
)

// ErrEscape is the cause when a name or a symbolic link leads out of the tree.
var ErrEscape = errors.New("path leads out of the tree")

// clean brings a name into its one form or says why it is none.
func clean(name string) (string, error) {
	if name == "" || strings.IndexByte(name, 0) >= 0 {
		return "", fs.ErrInvalid
	}
	if name[0] == '/' {
		return "", ErrEscape
	}
	for elem := range strings.SplitSeq(name, "/") {
		// Refused even where it would stay inside: "a/.." is not "." when a is
		// a symbolic link, and no caller needs it.
		if elem == ".." {
			return "", ErrEscape
		}
	}
	return path.Clean(name), nil
}

// cleanEntry is clean for operations that make, move or remove an entry: the
// root is none.
func cleanEntry(name string) (string, error) {
	name, err := clean(name)
	if err == nil && name == "." {
		err = syscall.EINVAL
	}
	return name, err
}

// SameFile reports whether two results of Stat describe one file.
func SameFile(a, b fs.FileInfo) bool {
	sa, oka := a.Sys().(*syscall.Stat_t)
	sb, okb := b.Sys().(*syscall.Stat_t)
	return oka && okb && sa.Dev == sb.Dev && sa.Ino == sb.Ino
}

// cause strips the names that lower layers put around an error, so that each
// name appears once.
func cause(err error) error {
	for {
		switch e := err.(type) {
		case *fs.PathError:
			err = e.Err
		case *os.LinkError:
			err = e.Err
		case *os.SyscallError:
			err = e.Err
		default:
			if err != nil && err == rootEscape() {
				return ErrEscape
			}
			return err
		}
	}
}

// rootEscape is the unexported error with which os.Root refuses a name.
var rootEscape = sync.OnceValue(func() error {
	_, err := os.OpenInRoot("/", "../x")
	if e, ok := err.(*fs.PathError); ok {
		return e.Err
	}
	return ErrEscape
})
