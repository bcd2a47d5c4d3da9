package indexer

import (
	"io"
	"path"
	"sync"

	"github.com/scrfs/scrfs/internal/disk"
)

// dirViews keeps directories open in which many files are looked at: through a
// view a file costs one look-up, not one for each directory above it. It holds
// a bounded number; more directories are opened anew each time.
type dirViews struct {
	fsys disk.FS
	mu   sync.Mutex
	open map[string]disk.FS
}

const mostViews = 256

func newDirViews(fsys disk.FS) *dirViews {
	return &dirViews{fsys: fsys, open: map[string]disk.FS{}}
}

// of returns a view of the directory of a name, and the name in it. Without a
// view it is the whole tree and the whole name.
func (d *dirViews) of(name string) (disk.FS, string) {
	dir := path.Dir(name)
	if dir == "." {
		return d.fsys, name
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	view := d.open[dir]
	if view == nil && len(d.open) < mostViews {
		var err error
		if view, err = d.fsys.Sub(dir); err != nil {
			return d.fsys, name // which says what is wrong
		}
		d.open[dir] = view
	}
	if view == nil {
		return d.fsys, name
	}
	return view, path.Base(name)
}

// close gives the directories back.
func (d *dirViews) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, view := range d.open {
		if c, ok := view.(io.Closer); ok {
			_ = c.Close() // nothing was written through it
		}
	}
	clear(d.open)
}
