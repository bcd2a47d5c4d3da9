package spill

import (
	"io/fs"
	"os"
	"path"
	"strings"
	"sync"
	"time"

	"github.com/scrfs/scrfs/internal/disk"
)

// dirPrefix begins the names of the directories of spilled files, one for each
// job, in the place.
const dirPrefix = "spill."

// JobDir is the directory of a job's spilled files, relative to the place.
func JobDir(job string) string { return dirPrefix + job }

// FS is a cache directory with spilled files in it.
type FS struct {
	disk.FS // the cache
	place   *place
}

// place is the directory .scr of the prefix directory. It is shared by all views
// of a cache.
type place struct {
	mu   sync.Mutex
	fs   disk.FS
	dir  string                        // its absolute path, as links have it
	open func(string) (disk.FS, error) // how to get fs, if there is none yet
}

// New returns a view of a cache whose spilled files lie in the directory .scr of
// the prefix directory. dir is its absolute path.
func New(cache, scrDir disk.FS, dir string) *FS {
	return &FS{FS: cache, place: &place{fs: scrDir, dir: path.Clean(dir)}}
}

// Opener returns a function that opens cache directories by their absolute
// path, for who does not know the prefix directory: the first link tells it.
func Opener(open func(dir string) (disk.FS, error)) func(dir string) (disk.FS, error) {
	return func(dir string) (disk.FS, error) {
		cache, err := open(dir)
		if err != nil {
			return nil, err
		}
		return &FS{FS: cache, place: &place{open: open}}, nil
	}
}

// at returns where the bytes of a spilled file lie, relative to the place.
func (s *FS) at(name string) (string, bool) {
	link, err := s.FS.Readlink(name)
	if err != nil {
		return "", false
	}
	return s.place.find(link)
}

func (p *place) find(link string) (string, bool) {
	dir, rest, ok := strings.Cut(link, "/.scr/"+dirPrefix)
	if !ok || path.Clean(link) != link {
		return "", false
	}
	dir += "/.scr"
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.fs == nil {
		opened, err := p.open(dir)
		if err != nil {
			return "", false
		}
		p.fs, p.dir = opened, dir
	}
	return dirPrefix + rest, dir == p.dir
}

// Spilled tells whether a name of the cache is that of a spilled file.
func (s *FS) Spilled(name string) bool {
	_, ok := s.at(name)
	return ok
}

// OpenFile opens a spilled file on the prefix directory. Nothing is made there.
func (s *FS) OpenFile(name string, flag int, perm fs.FileMode) (disk.File, error) {
	f, err := s.FS.OpenFile(name, flag, perm)
	if err == nil || flag&os.O_EXCL != 0 {
		return f, err
	}
	if at, ok := s.at(name); ok {
		return s.place.fs.OpenFile(at, flag&^os.O_CREATE, perm)
	}
	return nil, err
}

func (s *FS) Stat(name string) (fs.FileInfo, error) { return s.stat(name, s.FS.Stat) }

// Lstat describes a spilled file as the regular file it is to programs.
func (s *FS) Lstat(name string) (fs.FileInfo, error) { return s.stat(name, s.FS.Lstat) }

func (s *FS) stat(name string, stat func(string) (fs.FileInfo, error)) (fs.FileInfo, error) {
	fi, err := stat(name)
	if err == nil && fi.Mode()&fs.ModeSymlink == 0 {
		return fi, nil
	}
	at, ok := s.at(name)
	if !ok {
		return fi, err
	}
	if fi, err = s.place.fs.Lstat(at); err != nil {
		return nil, err
	}
	return info{fi, path.Base(name)}, nil
}

// info describes a spilled file under the name it has in the cache.
type info struct {
	fs.FileInfo
	name string
}

func (i info) Name() string { return i.name }

// ReadDir lists spilled files as regular ones. One whose bytes are gone stays
// the link that it is.
func (s *FS) ReadDir(name string) ([]fs.DirEntry, error) {
	list, err := s.FS.ReadDir(name)
	for i, e := range list {
		if e.Type()&fs.ModeSymlink == 0 {
			continue
		}
		if fi, err := s.Lstat(path.Join(name, e.Name())); err == nil {
			list[i] = fs.FileInfoToDirEntry(fi)
		}
	}
	return list, err
}

// Remove removes the bytes of a spilled file, then its name: after a crash in
// between the file is missing, and nothing is left behind for ever.
func (s *FS) Remove(name string) error {
	if at, ok := s.at(name); ok {
		if err := s.Drop(at); err != nil {
			return err
		}
	}
	return s.FS.Remove(name)
}

// Rename replaces a spilled file as any other.
func (s *FS) Rename(oldname, newname string) error {
	at, replaced := s.at(newname)
	if err := s.FS.Rename(oldname, newname); err != nil || !replaced || path.Clean(oldname) == path.Clean(newname) {
		return err
	}
	return s.Drop(at)
}

func (s *FS) Chmod(name string, mode fs.FileMode) error {
	if at, ok := s.at(name); ok {
		return s.place.fs.Chmod(at, mode)
	}
	return s.FS.Chmod(name, mode)
}

func (s *FS) Chown(name string, uid, gid int) error {
	if at, ok := s.at(name); ok {
		return s.place.fs.Chown(at, uid, gid)
	}
	return s.FS.Chown(name, uid, gid)
}

func (s *FS) Chtimes(name string, atime, mtime time.Time) error {
	if at, ok := s.at(name); ok {
		return s.place.fs.Chtimes(at, atime, mtime)
	}
	return s.FS.Chtimes(name, atime, mtime)
}

// Sub is a view of a directory of the cache with the same place.
func (s *FS) Sub(name string) (disk.FS, error) {
	sub, err := s.FS.Sub(name)
	if err != nil {
		return nil, err
	}
	return &FS{FS: sub, place: s.place}, nil
}
