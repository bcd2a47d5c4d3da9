package scr

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// Below returns the name of dir/name relative to prefix, cleaned. Prefix is the
// absolute prefix directory; dir is absolute below it, or relative to it. What
// is not strictly below the prefix gives an error that wraps ErrEscape: an
// absolute name, "..", a directory outside, the prefix itself, a NUL byte.
//
// The check is of names only. Symbolic links are held by the disk.FS through
// which the result is opened.
func Below(prefix, dir, name string) (string, error) {
	if !path.IsAbs(prefix) {
		return "", fmt.Errorf("prefix %s is not absolute: %w", quote(prefix), ErrInvalid)
	}
	if path.IsAbs(dir) {
		rel, ok := cutDir(path.Clean(prefix), path.Clean(dir))
		if !ok {
			return "", fmt.Errorf("directory %s below %s: %w", quote(dir), quote(prefix), ErrEscape)
		}
		dir = rel
	}
	rel, err := inside(dir, name)
	if err != nil {
		return "", fmt.Errorf("name %s in %s below %s: %w", quote(name), quote(dir), quote(prefix), err)
	}
	return rel, nil
}

// inside joins two relative names and holds the result below ".".
func inside(dir, name string) (string, error) {
	if name == "" || path.IsAbs(name) || path.IsAbs(dir) || strings.ContainsRune(dir+name, 0) {
		return "", ErrEscape
	}
	rel := path.Join(dir, name)
	if rel == "." || rel == ".." || strings.HasPrefix(rel, "../") {
		return "", ErrEscape
	}
	return rel, nil
}

// cutDir returns name relative to dir, "." for dir itself. Both are cleaned.
func cutDir(dir, name string) (string, bool) {
	if name == dir {
		return ".", true
	}
	if dir == "/" {
		return strings.CutPrefix(name, "/")
	}
	return strings.CutPrefix(name, dir+"/")
}

// OldPrefix finds the prefix directory of the time when a file was written,
// from the file's meta data and its name relative to that prefix directory. It
// serves a prefix directory that was moved since: Below(old, PATH, NAME) then
// says where a lost file goes in the new one. ok is false if they do not fit.
func OldPrefix(relative string, m FileMeta) (prefix string, ok bool) {
	if !path.IsAbs(m.Path) || m.Name == "" {
		return "", false
	}
	prefix, ok = strings.CutSuffix(path.Join(m.Path, m.Name), "/"+path.Clean(relative))
	if ok && prefix == "" {
		prefix = "/"
	}
	return prefix, ok
}

// UserFile is Resolve for a file of the application. It refuses, with ErrEscape,
// a name inside a .scr directory and, in F11, SCR's own files in the prefix
// directory, so that no record can name the index as a file to be written.
func (p Paths) UserFile(dir, name string) (string, error) {
	rel, err := p.Resolve(dir, name)
	if err != nil {
		return "", err
	}
	if p.reserved(rel) {
		return "", fmt.Errorf("user file %s of %s is SCR's own: %w", quote(name), quote(dir), ErrEscape)
	}
	return rel, nil
}

func (p Paths) reserved(rel string) bool {
	if slices.Contains(strings.Split(rel, "/"), scrDir) {
		return true
	}
	if p.Family != F11 {
		return false
	}
	base := strings.TrimSuffix(path.Base(rel), lockSuffix)
	if rel == path.Base(rel) {
		return base == indexName || base == flushName || base == haltName || base == nodesName || base == currentName
	}
	return base == summaryName
}
