package daemon

import (
	"io/fs"
	"os"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/scrfs/scrfs/internal/disk"
)

// kernelFile is one open of a file that the kernel reads and writes by itself.
type kernelFile struct {
	disk.File
	held   *held
	writes bool
	once   sync.Once
}

// OSFile is the file for the kernel; nil if it is none of the operating system.
func (f *kernelFile) OSFile() *os.File {
	if r, ok := f.File.(interface{ OSFile() *os.File }); ok {
		return r.OSFile()
	}
	return nil
}

func (f *kernelFile) Close() (err error) {
	f.once.Do(func() { err = f.held.close(f) })
	return err
}

// daemonFile is one open of a file that the daemon reads and writes. All opens of
// it share one descriptor. When the cache has no room for a write, the whole
// file is spilled first.
type daemonFile struct {
	held   *held
	writes bool
	once   sync.Once
}

var _ disk.File = (*daemonFile)(nil)

func (f *daemonFile) use(do func(disk.File) error) error {
	f.held.mu.RLock()
	defer f.held.mu.RUnlock()
	return do(f.held.file)
}

func (f *daemonFile) ReadAt(p []byte, off int64) (n int, err error) {
	err = f.use(func(file disk.File) error { n, err = file.ReadAt(p, off); return err })
	return n, err
}

func (f *daemonFile) WriteAt(p []byte, off int64) (n int, err error) {
	err = f.fitting(int64(len(p)), func(file disk.File) error { n, err = file.WriteAt(p, off); return err })
	return n, err
}

// fitting does what takes up to so many bytes, after spilling the file if the
// cache has no room for them.
func (f *daemonFile) fitting(bytes int64, do func(disk.File) error) error {
	h := f.held
	full := true
	err := f.use(func(file disk.File) error {
		if full = !h.spilled && h.n.room.full(file, bytes); full {
			return nil
		}
		err := do(file)
		full = !h.spilled && noRoom(err)
		return err
	})
	if !full {
		return err
	}
	if err := h.toPrefix(); err != nil {
		return err
	}
	return f.use(do)
}

// toPrefix spills the file, unless that was done.
func (h *held) toPrefix() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.spilled {
		return nil
	}
	f, err := h.n.spillFile(h.ino, h.dataset, h.file)
	if err != nil {
		return err
	}
	old := h.file
	h.file, h.spilled = f, true
	return old.Close() // gives back its room
}

// fallocate is fallocate(2) with its mode bits.
func (f *daemonFile) fallocate(off, bytes int64, mode uint32) error {
	do := func(file disk.File) error {
		fd, ok := file.Fd()
		if !ok {
			return unix.EOPNOTSUPP
		}
		return unix.Fallocate(int(fd), mode, off, bytes)
	}
	if mode&^unix.FALLOC_FL_KEEP_SIZE != 0 {
		return f.use(do) // punches, zeroes or moves what is there
	}
	return f.fitting(bytes, do)
}

func (f *daemonFile) Allocate(off, n int64) error {
	return f.fallocate(off, n, unix.FALLOC_FL_KEEP_SIZE)
}

// seek is lseek(2) with SEEK_DATA or SEEK_HOLE.
func (f *daemonFile) seek(off int64, whence int) (at int64, err error) {
	err = f.use(func(file disk.File) error {
		fd, ok := file.Fd()
		if !ok {
			return unix.EOPNOTSUPP
		}
		at, err = unix.Seek(int(fd), off, whence)
		return err
	})
	return at, err
}

func (f *daemonFile) Stat() (st fs.FileInfo, err error) {
	err = f.use(func(file disk.File) error { st, err = file.Stat(); return err })
	return st, err
}

func (f *daemonFile) Sync() error { return f.use(disk.File.Sync) }

func (f *daemonFile) Truncate(size int64) error {
	return f.use(func(file disk.File) error { return file.Truncate(size) })
}

// Fd: the descriptor may change at any time.
func (f *daemonFile) Fd() (uintptr, bool) { return ^uintptr(0), false }

func (f *daemonFile) Name() string { return f.held.path }

// errNotHere: the daemon reads and writes files at offsets only.
var errNotHere = unix.EINVAL

func (f *daemonFile) Read([]byte) (int, error)       { return 0, errNotHere }
func (f *daemonFile) Write([]byte) (int, error)      { return 0, errNotHere }
func (f *daemonFile) Seek(int64, int) (int64, error) { return 0, errNotHere }

func (f *daemonFile) Close() (err error) {
	f.once.Do(func() {
		f.held.mu.Lock()
		if f.writes {
			f.held.wrote(f.held.file)
		}
		f.held.mu.Unlock()
		err = f.held.close(nil)
	})
	return err
}

func itoa(fd uintptr) string { return strconv.FormatUint(uint64(fd), 10) }
