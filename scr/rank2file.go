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

// FileRecord is one file of a dataset in the prefix directory.
type FileRecord struct {
	// Name is relative to the dataset directory (F11, F14) or to the prefix
	// directory (F12), and hostile until Paths.Resolve.
	Name string
	// SizeBytes counts unless NoSize. Release 1.2.2 leaves it out of files that
	// it should have put into containers.
	SizeBytes int64
	NoSize    bool
	// CRC counts only if HasCRC.
	CRC    CRC
	HasCRC bool
	// NoFetch: a redundancy file, not to be fetched.
	NoFetch bool
	// Failed: COMPLETE is there and 0, the file was not written whole.
	Failed bool
	// Segments lie in containers and hold the bytes of the file one after the
	// other. A file that is not in a container, or is empty, has none.
	Segments []Segment
	// Attr holds the keys that scrfs adds; nil if there are none.
	Attr *FileAttr
}

// Segment is a part of a file in a container. F14 names the container by File,
// relative as the name of the file; F11 by Container, its number from 0.
type Segment struct {
	File        string
	Container   int
	OffsetBytes int64
	LengthBytes int64
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

// Tree returns the hash below the file's name.
func (r FileRecord) Tree(f Family) *kvtree.Tree {
	t := kvtree.New()
	if !r.NoSize {
		t.PutInt(keySize, r.SizeBytes)
	}
	if r.HasCRC {
		t.PutString(keyCRC, r.CRC.String())
	}
	if r.NoFetch {
		t.PutFlag(keyNoFetch)
	}
	if r.Failed {
		t.PutInt(keyComplete, 0)
	}
	if len(r.Segments) > 0 {
		segments := kvtree.New()
		for i, s := range r.Segments {
			segments.Set(itoa(int64(i)), s.tree(f))
		}
		t.Set(keySegment, segments)
	}
	if r.Attr != nil {
		r.Attr.put(t)
	}
	return t
}

// FileRecordFromTree reads the hash below a file's name. Segments must be
// numbered from 0 without a gap and add up to SIZE. Errors wrap ErrInvalid.
func FileRecordFromTree(name string, t *kvtree.Tree) (FileRecord, error) {
	f := fields{tree: t, record: "file " + quote(name)}
	r := FileRecord{Name: name, NoFetch: t.Has(keyNoFetch)}
	r.Failed = t.Has(keyComplete) && !f.optBool(keyComplete)
	r.NoSize = r.Failed && !t.Has(keySize)
	if !r.NoSize {
		r.SizeBytes = f.bytes(keySize)
	}
	r.CRC, r.HasCRC = f.optCRC(keyCRC)
	r.Attr = attrFromTree(&f)
	if t.Has(keySegment) {
		r.Segments = segmentsFromTree(&f, t.Get(keySegment), r.SizeBytes)
	}
	if name == "" {
		f.fail("name is empty: %w", ErrInvalid)
	}
	if f.err != nil {
		return FileRecord{}, f.err
	}
	return r, nil
}

func (s Segment) tree(f Family) *kvtree.Tree {
	t := kvtree.New()
	t.PutInt(keyLength, s.LengthBytes)
	if f == F11 {
		ctr := t.Sub(keyContainer)
		ctr.PutInt("ID", int64(s.Container))
		ctr.PutInt(keyOffset, s.OffsetBytes)
		return t
	}
	t.PutString(keyFile, s.File)
	t.PutInt(keyOffset, s.OffsetBytes)
	return t
}

func segmentsFromTree(f *fields, t *kvtree.Tree, sizeBytes int64) []Segment {
	segments := make([]Segment, t.Len())
	left := sizeBytes
	for i := range segments {
		record := t.Get(itoa(int64(i)))
		if record == nil {
			f.fail("key SEG: %d entries, but none is %d: %w", len(segments), i, ErrInvalid)
			return nil
		}
		s := fields{tree: record, record: f.record + ": segment " + itoa(int64(i))}
		segments[i] = segmentFromFields(&s)
		left -= segments[i].LengthBytes
		if left < 0 {
			s.fail("key LENGTH: value %d is beyond SIZE %d: %w", segments[i].LengthBytes, sizeBytes, ErrInvalid)
		}
		if s.err != nil {
			f.err = s.err
			return nil
		}
	}
	if left != 0 {
		f.fail("key SEG: segments lack %d bytes of SIZE %d: %w", left, sizeBytes, ErrInvalid)
	}
	return segments
}

func segmentFromFields(f *fields) Segment {
	s := Segment{LengthBytes: f.bytes(keyLength)}
	if ctr := f.tree.Get(keyContainer); ctr != nil {
		c := fields{tree: ctr, record: f.record + ": CTR"}
		s.Container = int(c.number("ID", 0, math.MaxInt32))
		s.OffsetBytes = c.number(keyOffset, 0, math.MaxInt64-s.LengthBytes)
		if f.err == nil {
			f.err = c.err
		}
		return s
	}
	s.File = f.text(keyFile)
	s.OffsetBytes = f.number(keyOffset, 0, math.MaxInt64-s.LengthBytes)
	return s
}
