package scr

import (
	"fmt"
	"path"
	"strings"

	"github.com/scrfs/scrfs/internal/disk"
	"github.com/scrfs/scrfs/kvtree"
)

// ReadFilemap reads a filemap file of any family. An absent file gives
// fs.ErrNotExist, a damaged one ErrCorrupt or ErrInvalid.
func ReadFilemap(fsys disk.FS, name string) (*Filemap, error) {
	t, err := ReadTree(fsys, name)
	if err != nil {
		return nil, err
	}
	m, err := FilemapFromTree(t)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	return m, nil
}

// WriteFilemap replaces a filemap file; after a crash it is the old or the new.
func WriteFilemap(fsys disk.FS, name string, m *Filemap) error {
	return WriteTree(fsys, name, m.tree)
}

// MasterFilemap lists the filemap files of the processes of a node by absolute
// path (key Filemap).
type MasterFilemap []string

// Tree returns the hash, the same in every family.
func (m MasterFilemap) Tree(Family) *kvtree.Tree {
	t := kvtree.New()
	for _, name := range m {
		t.SetKV("Filemap", name)
	}
	return t
}

// MasterFilemapFromTree reads the list, in byte order. Every entry must be the
// path of a filemap file; anything else gives an error that wraps ErrInvalid.
func MasterFilemapFromTree(t *kvtree.Tree) (MasterFilemap, error) {
	list := t.Get("Filemap").SortedKeys()
	for _, name := range list {
		base := path.Base(name)
		if !path.IsAbs(name) || !strings.HasPrefix(base, "filemap_") || !strings.HasSuffix(base, ".scrinfo") {
			return nil, fmt.Errorf("master filemap: key Filemap: value %s is no filemap file: %w", quote(name), ErrInvalid)
		}
	}
	return list, nil
}

// ReadMasterFilemap reads the master filemap file.
func ReadMasterFilemap(fsys disk.FS, name string) (MasterFilemap, error) {
	t, err := ReadTree(fsys, name)
	if err != nil {
		return nil, err
	}
	m, err := MasterFilemapFromTree(t)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	return m, nil
}

// WriteMasterFilemap replaces the master filemap file.
func WriteMasterFilemap(fsys disk.FS, name string, m MasterFilemap) error {
	return WriteTree(fsys, name, m.Tree(F14))
}

// ReadNodeFilemap reads the master filemap in a control directory and merges the
// filemaps it names. They are looked for beside it, under their base names,
// wherever the control directory was when they were written. The first file
// that cannot be read ends it, as a filemap left out would lose files silently.
func ReadNodeFilemap(control disk.FS) (*Filemap, error) {
	master, err := ReadMasterFilemap(control, masterName)
	if err != nil {
		return nil, err
	}
	all := NewFilemap()
	for _, name := range master {
		m, err := ReadFilemap(control, path.Base(name))
		if err != nil {
			return nil, err
		}
		all.Merge(m)
	}
	return all, nil
}
