package indexer

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"slices"

	"github.com/scrfs/scrfs/scr"
)

// rankRead is one filemap, then what the files it lists were found to be.
type rankRead struct {
	rank     scr.Rank
	id       scr.DatasetID
	dataset  *scr.Dataset
	entry    *RankEntry // nil if the filemap cannot be used
	bases    []string   // that the files tell
	files    []fileCheck
	problems []Problem // the rank or file does not count
	invalid  []Problem
}

// fileCheck is a file that a filemap lists.
type fileCheck struct {
	rank     scr.Rank
	rel      string // relative to the prefix directory
	record   scr.FileRecord
	kind     scr.FileType
	ranks    int
	complete bool
	err      error // why it does not count
}

func (r *rankRead) problem(name string, err error) {
	r.problems = append(r.problems, Problem{r.rank, name, err})
}

func (r *rankRead) contradiction(name string, err error) {
	r.invalid = append(r.invalid, Problem{r.rank, name, err})
}

// readRank reads a rank's filemap. A damaged one makes the rank a missing one.
func readRank(views *dirViews, p scr.Paths, dir string, rank scr.Rank) rankRead {
	r := rankRead{rank: rank}
	view, name := views.of(p.RankFilemap(dir, rank))
	m, err := scr.ReadFilemap(view, name)
	if err != nil {
		r.problem("", fmt.Errorf("filemap: %w", err))
		return r
	}
	ids := m.Datasets()
	if ranks := m.Ranks(); len(ids) != 1 || len(ranks) != 1 || ranks[0] != rank {
		r.contradiction("", fmt.Errorf("filemap %s is of ranks %v and datasets %v: %w", p.RankFilemap(dir, rank), ranks, ids, scr.ErrInvalid))
		return r
	}
	r.id = ids[0]
	if err := r.readEntry(m); err != nil {
		r.problem("", err)
		return r
	}
	for name, t := range m.EachFile(r.id, rank) {
		r.readFile(p, dir, name, func() (scr.FileMeta, error) { return scr.FileMetaFromTree(t.Get("META")) })
	}
	slices.SortFunc(r.files, func(a, b fileCheck) int { return cmp.Compare(a.record.Name, b.record.Name) })
	return r
}

func (r *rankRead) readEntry(m *scr.Filemap) error {
	expected, err := m.ExpectedFiles(r.id, r.rank)
	if err != nil {
		return err
	}
	e := &RankEntry{Expected: expected, Listed: m.FileCount(r.id, r.rank)}
	if e.Tree, err = m.DirTree(r.id, r.rank); err != nil {
		return err
	}
	if m.Entry(r.id, r.rank).Has("FLUSH") {
		flush, err := m.Flush(r.id, r.rank)
		if err != nil {
			return err
		}
		e.flush = &flush
	}
	d, err := m.Dataset(r.id, r.rank)
	if err == nil {
		r.dataset = &d
	} else if !errors.Is(err, scr.ErrNotFound) { // a partner copy has none in F11
		return err
	}
	r.entry = e
	if e.Listed > e.Expected {
		r.contradiction("", fmt.Errorf("%d files, expected %d: %w", e.Listed, e.Expected, scr.ErrInvalid))
	}
	return nil
}

// readFile takes over one file of the filemap. A name that leads out of the
// prefix directory, or to one of SCR's own files, is a contradiction: a filemap
// with such a name was not written by SCR.
func (r *rankRead) readFile(p scr.Paths, dir, name string, meta func() (scr.FileMeta, error)) {
	c := fileCheck{rank: r.rank, record: scr.FileRecord{Name: name}}
	m, err := meta()
	if err != nil {
		c.err = err
		r.files = append(r.files, c)
		return
	}
	if m.Type == scr.UserFile {
		c.rel, err = p.UserFile(dir, name)
	} else {
		c.rel, err = redundancyName(p, dir, name)
	}
	if err != nil {
		r.contradiction(name, err)
		return
	}
	c.kind, c.ranks, c.complete = m.Type, m.Ranks, m.Complete
	c.record.SizeBytes, c.record.CRC, c.record.HasCRC = m.SizeBytes, m.CRC, m.HasCRC
	c.record.NoFetch, c.record.Attr = m.Type != scr.UserFile, m.Attr
	if m.Type == scr.UserFile {
		if base, ok := baseOf(p, dir, name, m); ok && !slices.Contains(r.bases, base) {
			r.bases = append(r.bases, base)
		}
	}
	r.files = append(r.files, c)
}

// redundancyName resolves the name of a redundancy file, which must lie among
// SCR's files of the dataset.
func redundancyName(p scr.Paths, dir, name string) (string, error) {
	rel, err := p.Resolve(dir, name)
	if err == nil && path.Dir(rel) != p.SCRDir(dir) {
		err = fmt.Errorf("redundancy file %q is not in %s: %w", name, p.SCRDir(dir), scr.ErrEscape)
	}
	return rel, err
}
