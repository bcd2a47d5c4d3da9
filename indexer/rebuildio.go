package indexer

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"sync"
	"time"

	"github.com/scrfs/scrfs/internal/disk"
	"github.com/scrfs/scrfs/scr"
	"github.com/scrfs/scrfs/xor"
)

// rebuildSink makes the files of a rebuild in its temporary directory.
type rebuildSink struct {
	j     *rebuildJob
	taken map[string]bool
}

func (s *rebuildSink) File(index int, meta scr.FileMeta) (io.WriteCloser, error) {
	rel, name, err := s.j.scan.place(s.j.x.dir, meta)
	if err != nil {
		return nil, err
	}
	if s.taken[rel] {
		return nil, fmt.Errorf("two files would be %q: %w", rel, scr.ErrInvalid)
	}
	s.taken[rel] = true
	temp := path.Join(s.j.temp, fmt.Sprintf("file.%d", index))
	s.j.files = append(s.j.files, rebuiltFile{temp: temp, rel: rel, name: name})
	return s.create(temp, meta.Attr)
}

func (s *rebuildSink) Redundancy(h xor.Header) (io.WriteCloser, error) {
	return s.create(path.Join(s.j.temp, h.FileName().Format(s.j.scan.Family)), nil)
}

func (s *rebuildSink) create(name string, attr *scr.FileAttr) (io.WriteCloser, error) {
	f, err := s.j.x.prefix.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return nil, err
	}
	return &tempFile{File: f, fsys: s.j.x.prefix, name: name, attr: attr, meter: s.j.meter}, nil
}

// tempFile is durable and has its attributes when Close returns nil.
type tempFile struct {
	disk.File
	fsys  disk.FS
	name  string
	attr  *scr.FileAttr
	meter *meter
}

func (f *tempFile) Write(p []byte) (int, error) {
	n, err := f.File.Write(p)
	f.meter.bytes(n)
	return n, err
}

func (f *tempFile) Close() error {
	err := f.File.Sync()
	err = errors.Join(err, f.File.Close())
	f.meter.file()
	if err != nil || f.attr == nil {
		return err
	}
	return applyAttr(f.fsys, f.name, *f.attr)
}

// applyAttr gives a file its mode, owner and time. An owner that only the
// superuser could give is left out.
func applyAttr(fsys disk.FS, name string, a scr.FileAttr) error {
	if err := fsys.Chown(name, int(a.UID), int(a.GID)); err != nil && !errors.Is(err, fs.ErrPermission) {
		return err
	}
	if err := fsys.Chmod(name, fs.FileMode(a.Mode)&fs.ModePerm); err != nil {
		return err
	}
	return fsys.Chtimes(name, stamp(a.Access), stamp(a.Modify))
}

// stamp is a time of stat(2); not recorded, it stays as it is.
func stamp(t scr.Timespec) time.Time {
	if t == (scr.Timespec{}) {
		return time.Time{}
	}
	return time.Unix(t.Secs, t.Nsecs)
}

// filePool opens files when they are first read and keeps a bounded number
// open: a member may have more files than a process may have descriptors.
type filePool struct {
	fsys disk.FS
	mu   sync.Mutex
	open []*pooledFile // least recently used first
}

const poolFiles = 64

func newFilePool(fsys disk.FS) *filePool { return &filePool{fsys: fsys} }

// file is a reader of a file from byte start on.
func (p *filePool) file(name string, start int64) io.ReaderAt {
	return &pooledFile{pool: p, name: name, start: start}
}

type pooledFile struct {
	pool  *filePool
	name  string
	start int64
	f     disk.File
	users int
}

func (f *pooledFile) ReadAt(b []byte, off int64) (int, error) {
	file, err := f.pool.acquire(f)
	if err != nil {
		return 0, err
	}
	defer f.pool.release(f)
	return file.ReadAt(b, f.start+off)
}

func (p *filePool) acquire(f *pooledFile) (disk.File, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if f.f == nil {
		if err := p.makeRoom(); err != nil {
			return nil, err
		}
		file, err := p.fsys.OpenFile(f.name, os.O_RDONLY, 0)
		if err != nil {
			return nil, err
		}
		f.f = file
		p.open = append(p.open, f)
	}
	f.users++
	return f.f, nil
}

func (p *filePool) release(f *pooledFile) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f.users--
}

// makeRoom closes the first file that nobody reads.
func (p *filePool) makeRoom() error {
	if len(p.open) < poolFiles {
		return nil
	}
	for i, f := range p.open {
		if f.users == 0 {
			p.open = append(p.open[:i], p.open[i+1:]...)
			err := f.f.Close()
			f.f = nil
			return err
		}
	}
	return nil
}

func (p *filePool) close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	var err error
	for _, f := range p.open {
		err = errors.Join(err, f.f.Close())
		f.f = nil
	}
	p.open = nil
	return err
}
