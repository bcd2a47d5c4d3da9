package disk

import (
	"io"
	"io/fs"
	"os"
	"slices"
	"syscall"
)

// memFile is an open file; its fields are guarded by the mutex of the tree.
type memFile struct {
	m      *Mem
	node   *memNode
	name   string
	flag   int
	off    int64
	closed bool
}

func (m *Mem) OpenFile(name string, flag int, perm fs.FileMode) (File, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n, err := m.open(name, flag, perm)
	if err != nil {
		return nil, m.fail("open", name, err)
	}
	name, _ = clean(name)
	return &memFile{m: m, node: n, name: name, flag: flag}, nil
}

func (m *Mem) open(name string, flag int, perm fs.FileMode) (*memNode, error) {
	if perm&^fs.ModePerm != 0 {
		return nil, syscall.EINVAL
	}
	create := flag&os.O_CREATE != 0
	excl := create && flag&os.O_EXCL != 0
	p, err := m.walk(name, !excl && flag&syscall.O_NOFOLLOW == 0)
	n := p.node
	switch {
	case err != nil:
		return nil, err
	case create && flag&syscall.O_DIRECTORY != 0:
		return nil, syscall.EINVAL
	case n == nil && (!create || p.dir.nlink == 0):
		return nil, syscall.ENOENT
	case n == nil:
		n = m.newNode(perm)
		m.put(p, n)
		return n, nil
	case excl:
		return nil, syscall.EEXIST
	case flag&syscall.O_DIRECTORY != 0 && !n.isDir():
		return nil, syscall.ENOTDIR
	case n.isLink():
		return nil, syscall.ELOOP
	case n.isDir() && (create || writable(flag) || flag&os.O_TRUNC != 0):
		return nil, syscall.EISDIR
	case flag&os.O_TRUNC != 0:
		return n, m.resize(n, 0)
	}
	return n, nil
}

func readable(flag int) bool { return flag&syscall.O_ACCMODE != os.O_WRONLY }
func writable(flag int) bool { return flag&syscall.O_ACCMODE != os.O_RDONLY }

// resize sets the size of a file, makes its bytes changeable and notes the
// time.
func (m *Mem) resize(n *memNode, size int64) error {
	switch {
	case size > memMaxFileBytes:
		return syscall.EFBIG
	case size > int64(len(n.data)) && m.usedBytesOver(size-int64(len(n.data))):
		return syscall.ENOSPC
	}
	have := n.data[:min(size, int64(len(n.data)))]
	if n.cow {
		have = slices.Clone(have)
		n.cow = false
	}
	was := len(have)
	have = slices.Grow(have, int(size)-was)[:size]
	clear(have[was:]) // what a truncation left behind the end
	n.data = have
	n.attr.mtime = m.now()
	n.attr.ctime = n.attr.mtime
	return nil
}

func (m *Mem) usedBytesOver(more int64) bool {
	// Counting is slow and nobody's capacity is the default one.
	return m.capacityBytes < 1<<40 && m.usedBytes()+more > m.capacityBytes
}

// do runs one call on an open file.
func (f *memFile) do(op string, call func() error) error {
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	err := error(fs.ErrClosed)
	if !f.closed {
		err = call()
	}
	if err == io.EOF {
		return err
	}
	return f.m.fail(op, f.name, err)
}

func (f *memFile) Name() string { return f.name }

func (f *memFile) Fd() (uintptr, bool) { return 0, false }

func (f *memFile) Read(b []byte) (n int, err error) {
	err = f.do("read", func() (err error) {
		n, err = f.readAt(b, f.off)
		f.off += int64(n)
		if err == io.EOF && n > 0 {
			err = nil // Read tells the end next time, ReadAt at once
		}
		return err
	})
	return n, err
}

func (f *memFile) ReadAt(b []byte, off int64) (n int, err error) {
	err = f.do("read", func() (err error) {
		n, err = f.readAt(b, off)
		return err
	})
	return n, err
}

func (f *memFile) readAt(b []byte, off int64) (int, error) {
	switch {
	case off < 0:
		return 0, syscall.EINVAL
	case len(b) == 0:
		return 0, nil
	case !readable(f.flag):
		return 0, syscall.EBADF
	case f.node.isDir():
		return 0, syscall.EISDIR
	}
	n := 0
	if off < int64(len(f.node.data)) {
		n = copy(b, f.node.data[off:])
	}
	if n < len(b) {
		return n, io.EOF
	}
	return n, nil
}

func (f *memFile) Write(b []byte) (n int, err error) {
	err = f.do("write", func() (err error) {
		if f.flag&os.O_APPEND != 0 && writable(f.flag) {
			f.off = int64(len(f.node.data))
		}
		n, err = f.writeAt(b, f.off)
		f.off += int64(n)
		return err
	})
	return n, err
}

func (f *memFile) WriteAt(b []byte, off int64) (n int, err error) {
	err = f.do("write", func() (err error) {
		switch {
		case f.flag&os.O_APPEND != 0, off < 0:
			return syscall.EINVAL
		case len(b) == 0:
			return nil
		}
		n, err = f.writeAt(b, off)
		return err
	})
	return n, err
}

func (f *memFile) writeAt(b []byte, off int64) (int, error) {
	switch {
	case !writable(f.flag):
		return 0, syscall.EBADF
	case len(b) == 0:
		return 0, nil
	case off > memMaxFileBytes:
		return 0, syscall.EFBIG
	}
	if err := f.m.resize(f.node, max(int64(len(f.node.data)), off+int64(len(b)))); err != nil {
		return 0, err
	}
	copy(f.node.data[off:], b)
	if f.flag&syscall.O_DSYNC != 0 {
		f.node.sync()
	}
	return len(b), nil
}

func (f *memFile) Seek(off int64, whence int) (pos int64, err error) {
	err = f.do("seek", func() error {
		switch whence {
		case io.SeekStart:
		case io.SeekCurrent:
			off += f.off
		case io.SeekEnd:
			off += int64(len(f.node.data))
		default:
			return syscall.EINVAL
		}
		if off < 0 {
			return syscall.EINVAL
		}
		f.off, pos = off, off
		return nil
	})
	return pos, err
}

func (f *memFile) Stat() (fi fs.FileInfo, err error) {
	err = f.do("stat", func() error {
		fi = f.node.info(f.name)
		return nil
	})
	return fi, err
}

func (f *memFile) Sync() error {
	return f.do("sync", func() error {
		f.node.sync()
		return nil
	})
}

func (f *memFile) Truncate(size int64) error {
	return f.do("truncate", func() error {
		if size < 0 || !writable(f.flag) {
			return syscall.EINVAL
		}
		return f.m.resize(f.node, size)
	})
}

func (f *memFile) Allocate(off, n int64) error {
	return f.do("fallocate", func() error {
		switch {
		case off < 0 || n <= 0:
			return syscall.EINVAL
		case !writable(f.flag):
			return syscall.EBADF
		case f.m.usedBytesOver(off + n - int64(len(f.node.data))):
			return syscall.ENOSPC
		}
		return nil
	})
}

func (f *memFile) Close() error {
	return f.do("close", func() error {
		f.closed = true
		return nil
	})
}
