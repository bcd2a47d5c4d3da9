package prefixfs

import (
	"container/list"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Options bound what an FS may use.
type Options struct {
	// Calls is how many calls to the file system may be under way at once.
	// 0 means 64.
	Calls int
	// Descriptors is how many O_PATH descriptors of idle nodes stay open.
	// 0 means a quarter of the process's limit, at most 16384.
	Descriptors int
}

// FS is one directory tree, reached through a descriptor of its top.
type FS struct {
	dir  string
	pool *pool
	root *Node

	mu    sync.Mutex
	byKey map[Key]*Node
	names map[place]*Node
	idle  *list.List // nodes with an open descriptor that no call uses, latest first
	keep  int        // how many of them may stay open
}

// place is a name in a directory.
type place struct {
	dir  *Node
	name string
}

// Open takes hold of the directory dir. It must be called before a mount
// covers dir; from then on the FS sees what lies beneath the mount. Errors are
// unix.Errno values with the path added.
func Open(dir string, opts Options) (*FS, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("prefix directory %s: %w", dir, err)
	}
	fd, err := unix.Open(abs, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("prefix directory %s: %w", abs, err)
	}
	f, err := OpenFd(fd, abs, opts)
	if err != nil {
		return nil, errors.Join(err, unix.Close(fd))
	}
	return f, nil
}

// OpenFd is Open for a directory that is open already, for instance by the
// process that mounted. The FS owns fd when the error is nil. dir is used in
// messages only.
func OpenFd(fd int, dir string, opts Options) (*FS, error) {
	st, err := statFd(fd)
	if err != nil {
		return nil, fmt.Errorf("prefix directory %s: %w", dir, err)
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		return nil, fmt.Errorf("prefix directory %s: %w", dir, unix.ENOTDIR)
	}
	if opts.Calls == 0 {
		opts.Calls = 64
	}
	if opts.Descriptors == 0 {
		opts.Descriptors = descriptorLimit()
	}
	f := &FS{
		dir:   dir,
		pool:  newPool(opts.Calls),
		byKey: make(map[Key]*Node),
		names: make(map[place]*Node),
		idle:  list.New(),
		keep:  opts.Descriptors,
	}
	f.root = &Node{fs: f, key: st.Key(), fd: fd, refs: 1, pinned: true}
	f.byKey[f.root.key] = f.root
	return f, nil
}

// descriptorLimit leaves three quarters of the process's descriptors to open
// files and connections.
func descriptorLimit() int {
	var r unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &r); err != nil {
		return 256
	}
	return int(min(r.Cur/4, 16384))
}

// Dir is the path the FS was opened with, made absolute. Once a mount covers
// it, the path leads to the mount and not to the FS.
func (f *FS) Dir() string { return f.dir }

// Root is the top directory. It must not be released.
func (f *FS) Root() *Node { return f.root }

// Hung returns how long the oldest call has been under way, queueing not
// counted; 0 if none is. A file system in health answers within milliseconds.
func (f *FS) Hung() time.Duration { return f.pool.oldest() }

// Do runs fn as one call to the file system: it counts against Options.Calls
// and is seen by Hung.
func (f *FS) Do(fn func() error) error { return f.pool.do(fn) }

// Close gives back all descriptors. No node may be in use.
func (f *FS) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	var errs []error
	for _, n := range f.byKey {
		if n.fd >= 0 {
			errs = append(errs, unix.Close(n.fd))
			n.fd = -1
		}
	}
	clear(f.byKey)
	clear(f.names)
	f.idle.Init()
	return errors.Join(errs...)
}
