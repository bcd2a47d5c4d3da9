package cachestore

import (
	"fmt"
	"path"
	"strings"

	"github.com/scrfs/scrfs/scr"
)

// checkPath refuses, with scr.ErrEscape, a path that is not cleaned, leads out
// of the dataset or names SCR's own files.
func checkPath(id scr.DatasetID, p string) error {
	rel, err := own.UserFile(".", p)
	if err == nil && rel != p {
		err = scr.ErrEscape
	}
	if err == nil && (id < 1 || id > scr.MaxDatasetID) {
		err = scr.ErrInvalid
	}
	if err != nil {
		return fmt.Errorf("cache of dataset %d: path %q: %w", id, p, err)
	}
	return nil
}

// checkUser is checkPath for a file of a program. In the cache redundancy files
// lie beside those, so a program's file cannot have such a name.
func checkUser(id scr.DatasetID, p string) error {
	if err := checkPath(id, p); err != nil {
		return err
	}
	if isRedundancy(p) {
		return fmt.Errorf("cache of dataset %d: path %q is the name of a redundancy file: %w", id, p, scr.ErrInvalid)
	}
	return nil
}

func cacheName(id scr.DatasetID, rel string) string {
	return path.Join(scr.DatasetName(id), rel)
}

// isRedundancy tells whether a path is that of a redundancy file.
func isRedundancy(rel string) bool {
	_, xor := own.ParseXORName(rel)
	_, rs := own.ParseRSName(rel)
	return xor || rs
}

// splitKey reads the key of a file in the filemap.
func splitKey(cacheDir, key string) (scr.DatasetID, string, error) {
	rest, below := strings.CutPrefix(key, cacheDir+"/")
	dir, rel, named := strings.Cut(rest, "/")
	id, ok := scr.ParseDatasetName(dir)
	if !below || !named || !ok {
		return 0, "", fmt.Errorf("file %q is not of a dataset in %s: %w", key, cacheDir, scr.ErrEscape)
	}
	return id, rel, checkPath(id, rel)
}

func under(dir, p string) bool { return p == dir || strings.HasPrefix(p, dir+"/") }

func moved(from, to, p string) string { return to + p[len(from):] }
