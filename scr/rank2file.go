package scr

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/scrfs/scrfs/kvtree"
)

// Rank2File says which rank wrote which files of a dataset in the prefix
// directory. F11 keeps it in the summary; F14 and F12 in a tree of files, see
// Split.
type Rank2File struct {
	// Ranks is the number of ranks of the job.
	Ranks int
	// Entries is ascending by rank, each rank at most once and below Ranks.
	// A rank can be missing in a dataset that is incomplete.
	Entries []RankFiles
}

// RankFiles are the files of one rank.
type RankFiles struct {
	Rank Rank
	// Expected is the number of files, redundancy included. A flush by SCR's
	// library does not record it.
	Expected Limit
	// Files is sorted by name in what was read.
	Files []FileRecord
	// Tree has the rank's directories and links; our key.
	Tree DirTree
}

// Tree returns RANKS and RANK, as the summary of F11 has it under RANK2FILE and
// a leaf has it besides LEVEL.
func (m Rank2File) Tree(f Family) *kvtree.Tree {
	t := kvtree.New()
	t.PutInt(keyRanks, int64(m.Ranks))
	for _, e := range m.Entries {
		t.Sub(keyRank).Set(e.Rank.String(), e.hash(f))
	}
	return t
}

// Rank2FileFromTree reads RANKS and RANK. Errors name the rank, the file, the
// key and the value, and wrap ErrInvalid.
func Rank2FileFromTree(t *kvtree.Tree) (Rank2File, error) {
	f := fields{tree: t, record: "rank2file"}
	m := Rank2File{Ranks: int(f.number(keyRanks, 0, MaxRanks))}
	if f.err != nil {
		return Rank2File{}, f.err
	}
	entries, err := rankEntries(t.Get(keyRank), m.Ranks)
	if err != nil {
		return Rank2File{}, err
	}
	m.Entries = entries
	return m, nil
}

// rankEntries reads the hash below RANK; every rank must be below limit.
func rankEntries(t *kvtree.Tree, limit int) ([]RankFiles, error) {
	ranks, err := rankKeys("rank2file: RANK", t)
	if err != nil {
		return nil, err
	}
	entries := make([]RankFiles, len(ranks))
	for i, r := range ranks {
		if int(r) >= limit {
			return nil, fmt.Errorf("rank2file: key RANK: value %d is not below RANKS %d: %w", r, limit, ErrInvalid)
		}
		if entries[i], err = rankFilesFromTree(r, t.Get(r.String())); err != nil {
			return nil, fmt.Errorf("rank2file: %w", err)
		}
	}
	return entries, nil
}

// hash returns the hash below the rank.
func (e RankFiles) hash(f Family) *kvtree.Tree {
	t := kvtree.New()
	if e.Expected.Set {
		t.PutInt(keyFiles, e.Expected.N)
	}
	if len(e.Files) > 0 {
		files := kvtree.New()
		for _, file := range e.Files {
			files.Set(file.Name, file.Tree(f))
		}
		t.Set(keyFile, files)
	}
	if !e.Tree.Empty() {
		t.Set(keyExtraTree, e.Tree.Tree(f))
	}
	return t
}

func rankFilesFromTree(r Rank, t *kvtree.Tree) (RankFiles, error) {
	f := fields{tree: t, record: "rank " + r.String()}
	e := RankFiles{Rank: r}
	if t.Has(keyFiles) {
		e.Expected = LimitOf(f.number(keyFiles, 0, math.MaxInt32))
	}
	if f.err != nil {
		return RankFiles{}, f.err
	}
	files := t.Get(keyFile)
	e.Files = make([]FileRecord, 0, files.Len())
	for name, record := range files.All() {
		file, err := FileRecordFromTree(name, record)
		if err != nil {
			return RankFiles{}, fmt.Errorf("rank %d: %w", r, err)
		}
		e.Files = append(e.Files, file)
	}
	slices.SortFunc(e.Files, func(a, b FileRecord) int { return strings.Compare(a.Name, b.Name) })
	tree, err := DirTreeFromTree(t.Get(keyExtraTree))
	if err != nil {
		return RankFiles{}, fmt.Errorf("rank %d: %w", r, err)
	}
	e.Tree = tree
	return e, nil
}
