package scr

import (
	"fmt"
	"math"
	"slices"

	"github.com/scrfs/scrfs/internal/disk"
	"github.com/scrfs/scrfs/kvtree"
)

// summaryVersion is the only one that any of the three families writes.
const summaryVersion = 6

// Summary says what a dataset in the prefix directory is and whether it is
// whole. In F11 it also holds the rank2file map; in the other families that is
// in files of its own.
type Summary struct {
	// Complete: every file of every rank is there. SCR leaves the key out
	// otherwise, and a summary without it must not be believed later.
	Complete bool
	Dataset  Dataset
	// Ranks is the map of F11; nil in the other families.
	Ranks *Rank2File
	// Containers lists F11's containers, by number.
	Containers []Container
}

// Container is a container file of F11.
type Container struct {
	ID        int
	Name      string // absolute path as of the time of writing
	SizeBytes int64
}

// Tree returns the summary as family f writes it.
func (s Summary) Tree(f Family) *kvtree.Tree {
	t := kvtree.New()
	t.PutInt(keyVersion, summaryVersion)
	if s.Complete {
		t.PutInt(keyComplete, 1)
	}
	t.Set(keyDset, s.Dataset.Tree(f))
	if s.Ranks != nil {
		t.Set(keyRank2File, s.Ranks.Tree(f))
	}
	for _, c := range s.Containers {
		record := t.Sub(keyContainer, itoa(int64(c.ID)))
		record.PutString(keyName, c.Name)
		record.PutInt(keySize, c.SizeBytes)
	}
	return t
}

// SummaryFromTree reads version 6 in any family. Another version gives
// ErrUnsupported, other errors wrap ErrInvalid.
func SummaryFromTree(t *kvtree.Tree) (Summary, error) {
	f := fields{tree: t, record: "summary"}
	if v := f.number(keyVersion, 0, math.MaxInt32); f.err == nil && v != summaryVersion {
		f.fail("key VERSION: value %d, scrfs reads %d: %w", v, summaryVersion, ErrUnsupported)
	}
	s := Summary{Complete: f.optBool(keyComplete)}
	if f.err != nil {
		return Summary{}, f.err
	}
	var err error
	if s.Dataset, err = DatasetFromTree(t.Get(keyDset)); err != nil {
		return Summary{}, fmt.Errorf("summary: %w", err)
	}
	if ranks := t.Get(keyRank2File); ranks != nil {
		m, err := Rank2FileFromTree(ranks)
		if err != nil {
			return Summary{}, fmt.Errorf("summary: %w", err)
		}
		s.Ranks = &m
	}
	if s.Containers, err = containersFromTree(t.Get(keyContainer)); err != nil {
		return Summary{}, err
	}
	return s, nil
}

func containersFromTree(t *kvtree.Tree) ([]Container, error) {
	ids, err := numberKeys("summary: CTR", t, 0, math.MaxInt32)
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	list := make([]Container, len(ids))
	for i, id := range ids {
		f := fields{tree: t.Get(itoa(id)), record: "summary: container " + itoa(id)}
		list[i] = Container{ID: int(id), Name: f.text(keyName), SizeBytes: f.bytes(keySize)}
		if f.err != nil {
			return nil, f.err
		}
	}
	return list, nil
}

// Container returns F11's container of that number.
func (s Summary) Container(id int) (Container, bool) {
	i, ok := slices.BinarySearchFunc(s.Containers, id, func(c Container, id int) int { return c.ID - id })
	if !ok {
		return Container{}, false
	}
	return s.Containers[i], true
}

// ReadSummary reads the summary of a dataset directory. An absent file gives
// fs.ErrNotExist, a damaged one ErrCorrupt or ErrInvalid.
func ReadSummary(prefix disk.FS, p Paths, dir string) (Summary, error) {
	t, err := ReadTree(prefix, p.Summary(dir))
	if err != nil {
		return Summary{}, err
	}
	s, err := SummaryFromTree(t)
	if err != nil {
		return Summary{}, fmt.Errorf("read %s: %w", p.Summary(dir), err)
	}
	return s, nil
}

// WriteSummary replaces the summary of a dataset directory in one step. It must
// come after the files and the rank2file map that it vouches for are durable.
func WriteSummary(prefix disk.FS, p Paths, dir string, s Summary) error {
	return WriteTree(prefix, p.Summary(dir), s.Tree(p.Family))
}
