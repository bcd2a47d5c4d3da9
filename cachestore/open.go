package cachestore

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"

	"github.com/scrfs/scrfs/internal/disk"
	"github.com/scrfs/scrfs/scr"
)

// Open takes over a cache and a control directory, with what an earlier daemon,
// or SCR itself in the format F14, left there. Entries whose file is not there
// are dropped, unless the file was sealed: then its rank is incomplete. Files
// without an entry are reported by Adopted and left alone.
//
// A damaged filemap or journal is an error that wraps scr.ErrCorrupt,
// scr.ErrInvalid or scr.ErrEscape and names the file; nothing is changed then.
// A journal whose last line is torn is whole: the line's file was not made.
func Open(o Options) (*Store, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	s := &Store{o: o}
	if err := s.open(); err != nil {
		return nil, fmt.Errorf("open cache store of node %s in %s: %w", o.Node, o.ControlDir, err)
	}
	return s, nil
}

func (s *Store) open() error {
	var err error
	if s.state, err = read(s.o.Control, s.o.CacheDir); err != nil {
		return err
	}
	if err := s.adopt(); err != nil {
		return err
	}
	if err := s.removeTemps(); err != nil {
		return err
	}
	// The filemap is written before the master filemap names it alone, and
	// before the lines it has taken in leave the journal.
	s.state.mark++
	s.state.filemap.Tree().PutInt(markKey, s.state.mark)
	if err := scr.WriteFilemap(s.o.Control, filemapName, s.state.filemap); err != nil {
		return err
	}
	s.saved = s.state.version
	master := scr.MasterFilemap{path.Join(s.o.ControlDir, filemapName)}
	if err := scr.WriteMasterFilemap(s.o.Control, own.MasterFilemap(), master); err != nil {
		return err
	}
	s.journal = &journal{control: s.o.Control}
	return s.journal.rewrite(s.state.lines())
}

// View is what a control directory says without the cache at hand.
type View struct {
	// Filemap has the sealed datasets; files that were touched since are
	// incomplete or left out.
	Filemap *scr.Filemap
	// Pending lists by dataset the files that were entered and not sealed,
	// sorted. Some may not be there.
	Pending map[scr.DatasetID][]string
}

// Read reads a control directory, of a daemon that runs or of one that is gone,
// and changes nothing. CacheDir is the absolute path that the cache had.
func Read(control disk.FS, cacheDir string) (View, error) {
	st, err := read(control, cacheDir)
	if err != nil {
		return View{}, fmt.Errorf("read cache store: %w", err)
	}
	v := View{Filemap: st.filemap, Pending: map[scr.DatasetID][]string{}}
	for id := range st.sets {
		if list := st.pending(id); len(list) > 0 {
			v.Pending[id] = list
		}
	}
	return v, nil
}

// read puts filemap and journal together. The journal is read first: were it
// cut after the filemap was read, its lines would be in neither.
func read(control disk.FS, cacheDir string) (*state, error) {
	data, err := disk.ReadFile(control, journalName)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	list, _, err := parseJournal(data)
	if err != nil {
		return nil, fmt.Errorf("journal %s: %w", journalName, err)
	}
	m, written, err := readFilemaps(control)
	if err != nil {
		return nil, err
	}
	st, err := newState(cacheDir, m)
	if err != nil {
		return nil, err
	}
	st.replay(list, written)
	return st, nil
}

// readFilemaps reads what the master filemap names, and the mark of our own. No
// master filemap means that nothing was written yet.
func readFilemaps(control disk.FS) (*scr.Filemap, int64, error) {
	there, err := disk.Exists(control, own.MasterFilemap())
	if err != nil || !there {
		return scr.NewFilemap(), 0, err
	}
	m, err := scr.ReadNodeFilemap(control)
	if err != nil {
		return nil, 0, err
	}
	t, err := scr.ReadTree(control, filemapName)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !t.Has(markKey) {
		return m, 0, nil // left by SCR
	}
	if err != nil {
		return nil, 0, err
	}
	mark, err := t.Int(markKey)
	if err != nil || mark < 0 {
		return nil, 0, fmt.Errorf("filemap %s: key %s: %d: %w", filemapName, markKey, mark, scr.ErrInvalid)
	}
	return m, mark, nil
}

// lines is the shortest journal that says what is not in the filemap.
func (s *state) lines() []entry {
	list := []entry{{kind: kindMark, number: s.mark}}
	for _, id := range s.datasets() {
		for _, p := range s.pending(id) {
			list = append(list, entry{kind: kindEnter, dataset: id, path: p})
		}
	}
	return list
}

// adopt compares the entries with what is in the cache.
func (s *Store) adopt() error {
	for _, id := range s.state.datasets() {
		if err := s.adoptDataset(id); err != nil {
			return err
		}
	}
	top, err := s.o.Cache.ReadDir(".")
	if err != nil {
		return err
	}
	for _, e := range top {
		id, ok := scr.ParseDatasetName(e.Name())
		if !ok || !e.IsDir() {
			continue // control files may lie here too
		}
		if err := s.findUnknown(id, "."); err != nil {
			return err
		}
	}
	s.adopted.Datasets = s.state.datasets()
	return nil
}

// adoptDataset drops entries without a file. A dataset that had files and whose
// directory is gone was being removed.
func (s *Store) adoptDataset(id scr.DatasetID) error {
	there, err := disk.Exists(s.o.Cache, scr.DatasetName(id))
	if err != nil {
		return err
	}
	if !there {
		if n := s.state.set(id); len(n.sealed)+len(n.pending) == 0 {
			return s.makeDirs(scr.DatasetName(id)) // its ranks here have no files
		}
		s.state.forget(id)
		s.adopted.Dropped = append(s.adopted.Dropped, scr.DatasetName(id))
		return nil
	}
	for _, p := range s.state.pending(id) {
		there, err := disk.Exists(s.o.Cache, cacheName(id, p))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if !there {
			s.state.drop(id, p)
			s.adopted.Dropped = append(s.adopted.Dropped, cacheName(id, p))
		}
	}
	return nil
}

func (s *Store) findUnknown(id scr.DatasetID, dir string) error {
	list, err := s.o.Cache.ReadDir(cacheName(id, dir))
	if err != nil {
		return err
	}
	n := s.state.sets[id]
	for _, e := range list {
		p := path.Join(dir, e.Name())
		switch {
		case e.IsDir():
			if err := s.findUnknown(id, p); err != nil {
				return err
			}
		case n == nil || !n.has(p):
			s.adopted.Unknown = append(s.adopted.Unknown, cacheName(id, p))
		}
	}
	return nil
}

// removeTemps removes what a crash left of files being replaced.
func (s *Store) removeTemps() error {
	list, err := s.o.Control.ReadDir(".")
	if err != nil {
		return err
	}
	ours := []string{"." + filemapName + ".tmp-", "." + journalName + ".tmp-", "." + own.MasterFilemap() + ".tmp-"}
	for _, e := range list {
		name := e.Name()
		mine := slices.ContainsFunc(ours, func(begin string) bool { return len(name) > len(begin) && name[:len(begin)] == begin })
		if !mine || !disk.IsTemp(name) {
			continue
		}
		if err := s.o.Control.Remove(name); err != nil {
			return err
		}
	}
	return nil
}
