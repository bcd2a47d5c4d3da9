package flush

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/scrfs/scrfs/internal/disk"
	"github.com/scrfs/scrfs/scr"
)

var own = scr.Paths{Family: scr.F14}

// dirTag is the tag of a rank's entry in the cache's filemap that says where the
// dataset directory is below the prefix directory.
const dirTag = scr.TagDatasetDir

// Part is what one node has of a dataset.
type Part struct {
	Dataset scr.DatasetID
	Filemap *scr.Filemap // of the node
	Cache   disk.FS      // the directory of the cached dataset
	// CacheDir is what Cache is called in the keys of the filemap, and Prefix
	// the prefix directory in PATH; both absolute.
	CacheDir, Prefix string
	// Redundancy: copy the redundancy files too. A rank that cannot be read is
	// left out then, and the others are copied: it can be rebuilt from them.
	Redundancy bool
	// Failed are the nodes that are lost. Files kept for another node are
	// copied only if it is one of them.
	Failed []string
	// Place, if not nil, may bring a file into the stage without its bytes being
	// copied, names relative to Cache and to the stage, and tells whether it did.
	// What is there under the name it replaces. The file is read all the same,
	// for its checksum.
	Place func(src, dst string) (bool, error)
}

// rankPart is one rank of a part.
type rankPart struct {
	rank  scr.Rank
	dir   string // dataset directory in the stage
	files []*file
	err   error // why the rank is left out
}

// file is one file to be copied. Names are relative to Cache and to the stage.
type file struct {
	of       *rankPart
	key      string // in the cache's filemap
	src, dst string
	meta     scr.FileMeta
}

// ranks lists what is to be copied. A rank that is not whole has its err set.
func (p Part) ranks() ([]*rankPart, error) {
	if p.Filemap == nil || p.Cache == nil || !path.IsAbs(p.CacheDir) || !path.IsAbs(p.Prefix) {
		return nil, fmt.Errorf("part without filemap, cache or absolute directories: %w", scr.ErrInvalid)
	}
	var list []*rankPart
	owner := map[string]scr.Rank{}
	for _, r := range p.Filemap.RanksOf(p.Dataset) {
		if _, err := p.Filemap.Dataset(p.Dataset, r); errors.Is(err, scr.ErrNotFound) {
			continue // only the descriptor of a neighbour
		}
		how, err := p.Filemap.Flush(p.Dataset, r)
		if err == nil && how.Partner != "" && !slices.Contains(p.Failed, how.Partner) {
			continue
		}
		rp := &rankPart{rank: r, dir: p.datasetDir(r)}
		rp.err = err
		if err == nil {
			rp.err = p.addFiles(rp)
		}
		for _, f := range rp.files {
			// Two writers of one name would mix their bytes.
			if other, taken := owner[f.dst]; taken {
				return nil, fmt.Errorf("ranks %d and %d: both have %s: %w", other, r, f.dst, scr.ErrInvalid)
			}
			owner[f.dst] = r
		}
		list = append(list, rp)
	}
	return list, nil
}

// datasetDir is the dataset directory of a rank. SCR's own caches do not say
// it: there every dataset has a directory of SCR's.
func (p Part) datasetDir(r scr.Rank) string {
	if dir, ok := p.Filemap.Tag(p.Dataset, r, dirTag); ok {
		return dir
	}
	return own.DatasetDir(p.Dataset, "")
}

func (p Part) addFiles(rp *rankPart) error {
	if dir, err := own.Resolve(".", rp.dir); err != nil || dir != rp.dir {
		return fmt.Errorf("dataset directory %q: %w", rp.dir, scr.ErrEscape)
	}
	m, id := p.Filemap, p.Dataset
	want, err := m.ExpectedFiles(id, rp.rank)
	if err != nil {
		return fmt.Errorf("%w: %w", scr.ErrIncomplete, err)
	}
	if have := m.FileCount(id, rp.rank); have != want {
		return fmt.Errorf("%d files, expected %d: %w", have, want, scr.ErrIncomplete)
	}
	for _, key := range m.Files(id, rp.rank) {
		meta, err := m.Meta(id, rp.rank, key)
		if err != nil {
			return fmt.Errorf("%w: %w", scr.ErrIncomplete, err)
		}
		if meta.Type != scr.UserFile && !p.Redundancy {
			continue
		}
		f := &file{of: rp, key: key, meta: meta}
		if err := p.place(f); err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
		if !meta.Complete {
			return fmt.Errorf("%s: was written after the dataset was sealed: %w", f.dst, scr.ErrIncomplete)
		}
		rp.files = append(rp.files, f)
	}
	return nil
}

// place finds where a file lies and where it goes. Names come from programs and
// must stay below the cached dataset and below the prefix directory.
func (p Part) place(f *file) error {
	src, below := strings.CutPrefix(f.key, p.CacheDir+"/")
	clean, err := own.Resolve(".", src)
	if !below || err != nil || clean != src {
		return fmt.Errorf("is not in %s: %w", p.CacheDir, scr.ErrEscape)
	}
	f.src = src
	if f.meta.Type != scr.UserFile {
		f.dst = own.Redundancy(f.of.dir, path.Base(src))
		return nil
	}
	dst, err := scr.Below(p.Prefix, f.meta.Path, f.meta.Name)
	if err == nil {
		dst, err = own.UserFile(".", dst)
	}
	f.dst = dst
	return err
}
