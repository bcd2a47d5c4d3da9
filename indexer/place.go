package indexer

import (
	"fmt"
	"path"
	"strings"

	"github.com/scrfs/scrfs/scr"
)

// The header of a redundancy file says what the lost files were called when
// they were written; the prefix directory or the dataset directory may have
// another name since. Where they go now follows from the files that are there:
// their filemaps have the old and the new name side by side.
//
//	F11       the base name, in the dataset directory
//	F14, SCR  the base name, in the dataset directory
//	F14, ours the path from the prefix directory, FILE; a dataset directory
//	          that is a root may have been renamed, base is its old name
//	F12       the absolute PATH and NAME; base is the old prefix directory

// baseOf returns what the two names of a file tell; false if nothing.
func baseOf(p scr.Paths, dir, name string, m scr.FileMeta) (string, bool) {
	switch p.Family {
	case scr.F12:
		return scr.OldPrefix(name, m)
	case scr.F14:
		if looseDir(dir) {
			return "", false
		}
		return strings.CutSuffix(m.File, "/"+name)
	}
	return "", false
}

// looseDir tells whether a dataset directory of F14 is one that cannot be
// renamed, as its files lie elsewhere.
func looseDir(dir string) bool {
	_, ok := scr.ParseDatasetName(path.Base(dir))
	return ok && path.Dir(dir) == scrDir
}

// place says where a file goes that is described by the meta data in a header:
// its name relative to the prefix directory, and its name in a filemap. Names
// that lead out of the prefix directory, or to SCR's own files, give
// scr.ErrEscape.
func (s *Scan) place(prefixDir string, m scr.FileMeta) (rel, name string, err error) {
	p := s.paths()
	switch {
	case s.Family == scr.F12:
		base := s.base
		if base == "" {
			base = prefixDir
		}
		rel, err = scr.Below(base, m.Path, m.Name)
	case s.Family == scr.F14 && looseDir(s.Dir):
		rel, err = scr.Below("/", ".", m.File)
	case s.Family == scr.F14 && strings.Contains(m.File, "/"):
		base := s.base
		if base == "" {
			base = s.Dir
		}
		below, ok := strings.CutPrefix(m.File, base+"/")
		if !ok {
			return "", "", fmt.Errorf("name %q is not in dataset directory %q: %w", m.File, base, scr.ErrEscape)
		}
		rel, err = p.Resolve(s.Dir, below)
	default:
		if strings.Contains(m.File, "/") {
			return "", "", fmt.Errorf("name %q is no base name: %w", m.File, scr.ErrEscape)
		}
		rel, err = p.Resolve(s.Dir, m.File)
	}
	if err != nil {
		return "", "", err
	}
	name = p.NameIn(s.Dir, rel)
	if _, err := p.UserFile(s.Dir, name); err != nil {
		return "", "", err
	}
	return rel, name, nil
}
