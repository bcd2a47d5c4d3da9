package daemon

import (
	"sync"
	"syscall"
	"time"

	"github.com/scrfs/scrfs/catalog"
	"github.com/scrfs/scrfs/fusefs"
	"github.com/scrfs/scrfs/internal/disk"
)

// files are the catalogue files that programs on this node have open.
type files struct {
	mu    sync.Mutex
	byIno map[catalog.Ino]map[*openFile]struct{}
}

func newFiles() *files { return &files{byIno: map[catalog.Ino]map[*openFile]struct{}{}} }

func (t *files) add(f *openFile) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.byIno[f.inode.Ino] == nil {
		t.byIno[f.inode.Ino] = map[*openFile]struct{}{}
	}
	t.byIno[f.inode.Ino][f] = struct{}{}
}

func (t *files) remove(f *openFile) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.byIno[f.inode.Ino], f)
	if len(t.byIno[f.inode.Ino]) == 0 {
		delete(t.byIno, f.inode.Ino)
	}
}

// written tells whether a program on this node has the file open for writing.
func (t *files) written(ino catalog.Ino) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for f := range t.byIno[ino] {
		if f.writes {
			return true
		}
	}
	return false
}

// count is the number of open descriptors.
func (t *files) count() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := 0
	for _, m := range t.byIno {
		n += len(m)
	}
	return n
}

// local returns some open descriptor of a file whose bytes lie here.
func (t *files) local(ino uint64) (*openFile, disk.File) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for f := range t.byIno[catalog.Ino(ino)] {
		if f.local != nil {
			return f, f.local
		}
	}
	return nil, nil
}

// unlinkedAttr answers for a file that has no name any more but is open here.
func (t *files) unlinkedAttr(ino uint64) (fusefs.Entry, error) {
	f, local := t.local(ino)
	if f == nil {
		return fusefs.Entry{}, syscall.ESTALE
	}
	st, err := local.Stat()
	if err != nil {
		return fusefs.Entry{}, err
	}
	i := f.inode
	e := fusefs.Entry{
		Ino: ino, Mode: i.Mode, UID: i.UID, GID: i.GID, SizeBytes: st.Size(), Blocks: (st.Size() + 511) / 512,
		Mtime: st.ModTime(), Ctime: st.ModTime(), Atime: time.Unix(0, i.Atime),
	}
	return e, nil
}

// setUnlinkedAttr changes the size of such a file; the rest has no meaning any
// more and is left.
func (t *files) setUnlinkedAttr(ino uint64, ch fusefs.AttrChange) (fusefs.Entry, error) {
	f, local := t.local(ino)
	if f == nil {
		return fusefs.Entry{}, syscall.ESTALE
	}
	if ch.SizeBytes != nil {
		if err := local.Truncate(*ch.SizeBytes); err != nil {
			return fusefs.Entry{}, err
		}
	}
	return t.unlinkedAttr(ino)
}
