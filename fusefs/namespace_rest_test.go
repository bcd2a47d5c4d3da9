package fusefs_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/scrfs/scrfs/fusefs"
	"golang.org/x/sys/unix"
)

func (d *dirNamespace) GetXattr(_ context.Context, ino uint64, name string) ([]byte, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := d.inodes[ino]
	if n == nil {
		return nil, syscall.ESTALE
	}
	v, ok := n.xattrs[name]
	if !ok {
		return nil, syscall.ENODATA
	}
	return v, nil
}

func (d *dirNamespace) ListXattr(_ context.Context, ino uint64) ([]string, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := d.inodes[ino]
	if n == nil {
		return nil, syscall.ESTALE
	}
	var names []string
	for name := range n.xattrs {
		names = append(names, name)
	}
	slices.Sort(names)
	return names, nil
}

func (d *dirNamespace) SetXattr(_ context.Context, ino uint64, name string, value []byte, _ uint32) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := d.inodes[ino]
	if n == nil {
		return syscall.ESTALE
	}
	n.xattrs[name] = value
	return nil
}

func (d *dirNamespace) RemoveXattr(_ context.Context, ino uint64, name string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := d.inodes[ino]
	if n == nil || n.xattrs[name] == nil {
		return syscall.ENODATA
	}
	delete(n.xattrs, name)
	return nil
}

func (d *dirNamespace) SyncDir(context.Context, uint64) error { return nil }

func (d *dirNamespace) PrefixDirRenamed(_ context.Context, oldPath, newPath string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, dir := range slices.Collect(mapKeys(d.tops)) {
		if rest, ok := strings.CutPrefix(dir+"/", oldPath+"/"); ok {
			to := filepath.Join(newPath, rest)
			d.tops[to] = d.tops[dir]
			delete(d.tops, dir)
		}
	}
	return nil
}

func mapKeys(m map[string]map[string]uint64) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

func (d *dirNamespace) PrefixChanged(ev fusefs.PrefixEvent) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.events = append(d.events, ev)
}

type dirFile struct {
	d *dirNamespace
	f *os.File
}

func (f *dirFile) Local() (*os.File, bool) { return f.f, f.d.local }

func (f *dirFile) ReadAt(_ context.Context, p []byte, off int64) (int, error) {
	return f.f.ReadAt(p, off)
}

func (f *dirFile) WriteAt(_ context.Context, p []byte, off int64) (int, error) {
	f.d.mu.Lock()
	f.d.writes++
	f.d.mu.Unlock()
	return f.f.WriteAt(p, off)
}

func (f *dirFile) Sync(context.Context, bool) error { return f.f.Sync() }

func (f *dirFile) Allocate(_ context.Context, off, size int64, mode uint32) error {
	return unix.Fallocate(int(f.f.Fd()), mode, off, size)
}

func (f *dirFile) Seek(_ context.Context, off int64, whence int) (int64, error) {
	return unix.Seek(int(f.f.Fd()), off, whence)
}

func (f *dirFile) Flush(context.Context, fusefs.Caller) error { return nil }

func (f *dirFile) Release() { _ = f.f.Close() }
