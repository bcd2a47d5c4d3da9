package indexer

import (
	"errors"
	"fmt"
	"path"
	"strconv"
	"strings"

	"github.com/scrfs/scrfs/internal/disk"
	"github.com/scrfs/scrfs/kvtree"
	"github.com/scrfs/scrfs/scr"
)

// publication is the journal of one publication: what goes where. It lies in
// the stage when that is renamed, and everything after the rename follows from
// it alone.
//
//	DSET / ...              the dataset
//	KEY / <text>            tells this publication from others of the dataset
//	DIR / <name>            its directory
//	ROOT / <n> / <name>     directories that are moved as a whole
//	FILE / <n> / <name>     files and links outside these, in the order to move
//
// Names are relative to the prefix directory, and to the stage.
type publication struct {
	Dataset scr.Dataset
	Key     string
	Dir     string
	Roots   []string
	Loose   []string
}

// journalName is the journal within a stage, where no user file can be.
var journalName = path.Join(scrDir, "publish.scr")

// retiredDir is a stage of which everything is in place and in the index.
func retiredDir(id scr.DatasetID) string {
	return path.Join(scrDir, fmt.Sprintf("published.%d", id))
}

func (p publication) tree() *kvtree.Tree {
	t := kvtree.New()
	t.Set("DSET", p.Dataset.Tree(own.Family))
	t.PutString("KEY", p.Key)
	t.PutString("DIR", p.Dir)
	putList(t, "ROOT", p.Roots)
	putList(t, "FILE", p.Loose)
	return t
}

func putList(t *kvtree.Tree, key string, names []string) {
	for i, name := range names {
		t.Sub(key).PutString(strconv.Itoa(i), name)
	}
}

// readPublication reads the journal in a stage that was renamed.
func readPublication(prefix disk.FS, dir string) (publication, error) {
	t, err := scr.ReadTree(prefix, path.Join(dir, journalName))
	if err != nil {
		return publication{}, err
	}
	p, err := publicationFromTree(t)
	if err != nil {
		return publication{}, fmt.Errorf("journal in %s: %w", dir, err)
	}
	return p, nil
}

// publicationFromTree reads a journal. Errors wrap scr.ErrInvalid or
// scr.ErrEscape.
func publicationFromTree(t *kvtree.Tree) (p publication, err error) {
	if p.Dataset, err = scr.DatasetFromTree(t.Get("DSET")); err != nil {
		return p, err
	}
	p.Dir, _ = t.Value("DIR")
	p.Key, _ = t.Value("KEY")
	if strings.ContainsAny(p.Key, "/\x00") {
		return p, fmt.Errorf("key KEY: value %q: %w", p.Key, scr.ErrInvalid)
	}
	p.Roots, err = getList(t.Get("ROOT"))
	if err == nil {
		p.Loose, err = getList(t.Get("FILE"))
	}
	if err != nil {
		return p, err
	}
	for _, list := range [][]string{{p.Dir}, p.Roots, p.Loose} {
		for _, name := range list {
			if rel, err := scr.Below("/", ".", name); err != nil || rel != name {
				return p, errors.Join(fmt.Errorf("name %q: %w", name, scr.ErrInvalid), err)
			}
		}
	}
	return p, nil
}

func getList(t *kvtree.Tree) ([]string, error) {
	names := make([]string, t.Len())
	for i := range names {
		name, ok := t.Value(strconv.Itoa(i))
		if !ok {
			return nil, fmt.Errorf("%d names, none is number %d: %w", len(names), i, scr.ErrInvalid)
		}
		names[i] = name
	}
	return names, nil
}
