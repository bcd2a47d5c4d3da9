package scr

import (
	"fmt"
	"math"
	"slices"

	"github.com/scrfs/scrfs/internal/disk"
	"github.com/scrfs/scrfs/kvtree"
)

// ReadRank2File reads the map of a dataset directory, with any number of levels
// up to 32. Names in it that lead out of the prefix directory give ErrEscape; a
// rank in two leaves, a part named twice, or counts that disagree ErrInvalid.
func ReadRank2File(prefix disk.FS, p Paths, dir string) (Rank2File, error) {
	r := rank2FileReader{paths: p, dir: dir, seen: map[string]bool{}}
	r.load = func(name string, offset int64) (*kvtree.Tree, error) { return readTreeAt(prefix, name, offset) }
	ranks, err := r.read(p.Rank2File(dir), 0, -1)
	if err != nil {
		return Rank2File{}, fmt.Errorf("rank2file of %s: %w", dir, err)
	}
	slices.SortFunc(r.entries, func(a, b RankFiles) int { return int(a.Rank) - int(b.Rank) })
	for i := 1; i < len(r.entries); i++ {
		if r.entries[i].Rank == r.entries[i-1].Rank {
			return Rank2File{}, fmt.Errorf("rank2file of %s: rank %d is listed twice: %w", dir, r.entries[i].Rank, ErrInvalid)
		}
	}
	return Rank2File{Ranks: r.jobRanks(ranks), Entries: r.entries}, nil
}

// WriteRank2File writes the parts in their order, each whole or not at all. After
// a crash the top names only parts that are there.
func WriteRank2File(prefix disk.FS, parts []Part) error {
	for _, part := range parts {
		if err := WriteTree(prefix, part.Name, part.Tree); err != nil {
			return err
		}
	}
	return nil
}

type rank2FileReader struct {
	paths   Paths
	dir     string
	load    func(name string, offset int64) (*kvtree.Tree, error)
	seen    map[string]bool // a file that names itself would never end
	entries []RankFiles
}

// jobRanks is the number of ranks of the job, as far as one can see here: RANKS
// of the top may count only the ranks that are there, which need not be the lowest.
func (r *rank2FileReader) jobRanks(counted int) int {
	if n := len(r.entries); n > 0 {
		return max(counted, int(r.entries[n-1].Rank)+1)
	}
	return counted
}

// read adds the entries below one part and returns its RANKS. Level is what the
// part above expects, -1 at the top.
func (r *rank2FileReader) read(name string, offset int64, level int) (ranks int, err error) {
	key := name + "@" + itoa(offset)
	if r.seen[key] {
		return 0, fmt.Errorf("%s is named twice: %w", name, ErrInvalid)
	}
	r.seen[key] = true
	t, err := r.load(name, offset)
	if err != nil {
		return 0, err
	}
	f := fields{tree: t, record: name}
	ranks = int(f.number(keyRanks, 0, MaxRanks))
	own := int(f.number(keyLevel, 0, maxLevels))
	if f.err == nil && level >= 0 && own != level {
		f.fail("key LEVEL: value %d, not %d as the part above says: %w", own, level, ErrInvalid)
	}
	if f.err != nil {
		return 0, f.err
	}
	if own > 0 {
		return ranks, r.inner(name, t, own, ranks)
	}
	entries, err := rankEntries(t.Get(keyRank), MaxRanks)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", name, err)
	}
	if len(entries) > ranks {
		return 0, fmt.Errorf("%s: key RANK: %d entries, but RANKS is %d: %w", name, len(entries), ranks, ErrInvalid)
	}
	r.entries = append(r.entries, entries...)
	return ranks, nil
}

func (r *rank2FileReader) inner(name string, t *kvtree.Tree, level, ranks int) error {
	below := t.Get(keyRank)
	firsts, err := rankKeys(name+": RANK", below)
	if err != nil {
		return err
	}
	sum := 0
	for _, first := range firsts {
		f := fields{tree: below.Get(first.String()), record: name + ": rank " + first.String()}
		file, offset := f.text(keyFile), f.optNumber(keyOffset, 0, math.MaxInt64, 0)
		if f.err != nil {
			return f.err
		}
		child, err := r.paths.Resolve(r.dir, file)
		if err != nil {
			return fmt.Errorf("%s: rank %d: key FILE: %w", name, first, err)
		}
		n, err := r.read(child, offset, level-1)
		if err != nil {
			return err
		}
		sum += n
	}
	if sum > ranks { // fewer is SCR's way of an incomplete dataset
		return fmt.Errorf("%s: key RANKS: value %d, but the parts below have %d: %w", name, ranks, sum, ErrInvalid)
	}
	return nil
}

func readTreeAt(fsys disk.FS, name string, offset int64) (*kvtree.Tree, error) {
	if offset == 0 {
		return ReadTree(fsys, name)
	}
	data, err := disk.ReadFile(fsys, name)
	if err != nil {
		return nil, err
	}
	if offset >= int64(len(data)) {
		return nil, fmt.Errorf("read %s: offset %d is beyond its %d bytes: %w", name, offset, len(data), ErrCorrupt)
	}
	t, _, err := kvtree.Decode(data[offset:])
	if err != nil {
		return nil, fmt.Errorf("read %s at %d: %w: %w", name, offset, ErrCorrupt, err)
	}
	return t, nil
}
