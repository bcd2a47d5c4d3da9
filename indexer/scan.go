package indexer

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"

	"github.com/scrfs/scrfs/internal/disk"
	"github.com/scrfs/scrfs/scr"
)

// Scan is what lies in a dataset directory, compared with what the rank
// filemaps in it say, and what follows from that.
type Scan struct {
	Family  scr.Family
	Dir     string // dataset directory, relative to the prefix directory
	Dataset scr.Dataset
	Ranks   int // of the job; 0 if no file says it
	Entries map[scr.Rank]*RankEntry
	Sets    map[scr.Rank]*Set

	// Problems lists files and filemaps that do not count because they are
	// absent, damaged or not as recorded. The redundancy may mend them.
	Problems []Problem
	// Invalid lists contradictions. Nothing is rebuilt from records that
	// contradict each other.
	Invalid []Problem

	// Missing ranks have no filemap, or fewer good files than expected.
	Missing []scr.Rank
	// Build says which member of which set is to be rebuilt.
	Build []Build
	// Unrecoverable says, for each set or rank that cannot be mended, why.
	Unrecoverable []string

	// base is where the names in META were relative to when the dataset was
	// written, see place. "" if no file tells it.
	base string

	filemaps int // that are there, readable or not
}

// RankEntry is what a rank has.
type RankEntry struct {
	Expected int              // number of files, redundancy included
	Listed   int              // files in its filemap
	Files    []scr.FileRecord // that are there and as recorded, by name
	Tree     scr.DirTree
	flush    *scr.FlushDescriptor      // nil if the filemap says nothing
	bad      map[string]scr.FileRecord // files that do not count, as recorded
}

// Set is a redundancy set, as the names of its files tell.
type Set struct {
	Members int
	Files   map[int]SetFile // by member, from 0
	group   []scr.Rank      // ranks of the members, nil if not read
}

// SetFile is the redundancy file of one member.
type SetFile struct {
	Rank scr.Rank
	Name string // as the filemap has it
}

// Build is one rebuild that is needed.
type Build struct {
	Set    scr.Rank // its id
	Member int      // from 0
	Rank   scr.Rank // of the lost member
}

// Complete tells whether every file of every rank is there.
func (s *Scan) Complete() bool {
	return len(s.Entries) > 0 && len(s.Missing)+len(s.Invalid)+len(s.Build) == 0
}

// paths names files in the scan's family.
func (s *Scan) paths() scr.Paths { return scr.Paths{Family: s.Family} }

// Scan reads the filemaps of a dataset directory and looks at every file they
// list. It changes nothing. An error means that one could not look; what is
// wrong with the dataset is in the Scan.
func (x *Indexer) Scan(ctx context.Context, f scr.Family, dir string) (*Scan, error) {
	s, err := x.scanIn(ctx, x.prefix, f, dir, !x.o.NoCRC)
	if err != nil {
		return nil, fmt.Errorf("scan %s: %w", dir, err)
	}
	return s, nil
}

// scanIn scans below prefix, which may be a stage.
func (x *Indexer) scanIn(ctx context.Context, prefix disk.FS, f scr.Family, dir string, crc bool) (*Scan, error) {
	s := &Scan{Family: f, Dir: dir, Entries: map[scr.Rank]*RankEntry{}, Sets: map[scr.Rank]*Set{}}
	ranks, err := filemapsIn(prefix, s.paths(), dir)
	if err != nil {
		return nil, err
	}
	s.filemaps = len(ranks)
	read := make([]rankRead, len(ranks))
	views := newDirViews(prefix)
	defer views.close()
	if err := parallel(ctx, len(ranks), x.o.Workers, func(i int) error {
		read[i] = readRank(views, s.paths(), dir, ranks[i])
		return nil
	}); err != nil {
		return nil, err
	}
	if err := x.check(ctx, views, read, crc); err != nil {
		return nil, err
	}
	s.merge(read)
	if err := s.readGroups(prefix); err != nil {
		return nil, err
	}
	s.inspect()
	return s, nil
}

// filemapsIn lists the ranks that have a filemap, ascending.
func filemapsIn(prefix disk.FS, p scr.Paths, dir string) ([]scr.Rank, error) {
	list, err := prefix.ReadDir(p.SCRDir(dir))
	if err != nil {
		return nil, err
	}
	var ranks []scr.Rank
	for _, e := range list {
		if r, ok := p.ParseRankFilemapName(e.Name()); ok {
			ranks = append(ranks, r)
		}
	}
	slices.Sort(ranks)
	return ranks, nil
}

// check looks at all files, several at a time.
func (x *Indexer) check(ctx context.Context, views *dirViews, read []rankRead, crc bool) error {
	type place struct{ rank, file int }
	var places []place
	var totalBytes int64
	for i := range read {
		for k := range read[i].files {
			places = append(places, place{i, k})
			totalBytes += read[i].files[k].record.SizeBytes
		}
	}
	if !crc {
		totalBytes = 0
	}
	meter := newMeter(x.o.Progress, "scan", totalBytes)
	return parallel(ctx, len(places), x.o.Workers, func(i int) error {
		c := &read[places[i].rank].files[places[i].file]
		if c.err == nil {
			c.err = c.look(ctx, views, crc, meter)
		}
		meter.file()
		return ctx.Err()
	})
}

// look compares a file with its record.
func (c *fileCheck) look(ctx context.Context, views *dirViews, crc bool, meter *meter) error {
	if !c.complete {
		return fmt.Errorf("recorded as incomplete: %w", scr.ErrIncomplete)
	}
	dir, name := views.of(c.rel)
	fi, err := dir.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("is absent: %w", scr.ErrIncomplete)
	}
	switch {
	case err != nil:
		return err
	case !fi.Mode().IsRegular():
		return fmt.Errorf("is no regular file: %w", scr.ErrIncomplete)
	case fi.Size() != c.record.SizeBytes:
		return fmt.Errorf("%d bytes, expected %d: %w", fi.Size(), c.record.SizeBytes, scr.ErrIncomplete)
	case !crc || !c.record.HasCRC:
		return nil
	}
	got, err := checksum(ctx, dir, name, meter)
	if err == nil && got != c.record.CRC {
		err = fmt.Errorf("crc %v, expected %v: %w", got, c.record.CRC, scr.ErrCorrupt)
	}
	return err
}

// merge brings the ranks together.
func (s *Scan) merge(read []rankRead) {
	var id scr.DatasetID
	for i := range read {
		r := &read[i]
		s.Problems = append(s.Problems, r.problems...)
		s.Invalid = append(s.Invalid, r.invalid...)
		if r.entry == nil {
			continue
		}
		if id == 0 {
			id = r.id
		}
		if r.id != id {
			s.Invalid = append(s.Invalid, Problem{r.rank, "", fmt.Errorf("filemap is of dataset %d, others of dataset %d: %w", r.id, id, scr.ErrInvalid)})
			continue
		}
		if r.dataset != nil && s.Dataset.ID == 0 {
			s.Dataset = *r.dataset
		}
		s.Entries[r.rank] = r.entry
		s.takeBases(r)
		for _, c := range r.files {
			s.take(r.entry, c)
		}
	}
	if s.Dataset.ID == 0 {
		s.Dataset.ID = id
	}
}

// takeBases keeps what the names tell of the place of the dataset then. Two
// places are a contradiction.
func (s *Scan) takeBases(r *rankRead) {
	for _, base := range r.bases {
		if s.base == "" {
			s.base = base
		}
		if base != s.base {
			err := fmt.Errorf("files were written below %q, or below %q: %w", base, s.base, scr.ErrInvalid)
			s.Invalid = append(s.Invalid, Problem{r.rank, "", err})
		}
	}
}

// take enters a file that is as recorded, and notes one that is not.
func (s *Scan) take(e *RankEntry, c fileCheck) {
	if s.Ranks == 0 {
		s.Ranks = c.ranks
	}
	switch {
	case c.ranks != 0 && c.ranks != s.Ranks:
		err := fmt.Errorf("of a job of %d ranks, others of %d: %w", c.ranks, s.Ranks, scr.ErrInvalid)
		s.Invalid = append(s.Invalid, Problem{c.rank, c.record.Name, err})
	case c.err != nil:
		s.Problems = append(s.Problems, Problem{c.rank, c.record.Name, c.err})
		if e.bad == nil {
			e.bad = map[string]scr.FileRecord{}
		}
		e.bad[c.record.Name] = c.record
	default:
		e.Files = append(e.Files, c.record)
		if c.kind == scr.XORFile {
			s.takeXOR(c)
		}
	}
}

// takeXOR enters a redundancy file into its set.
func (s *Scan) takeXOR(c fileCheck) {
	invalid := func(format string, args ...any) {
		s.Invalid = append(s.Invalid, Problem{c.rank, c.record.Name, fmt.Errorf(format+": %w", append(args, scr.ErrInvalid)...)})
	}
	m, ok := s.paths().ParseXORName(path.Base(c.record.Name))
	if !ok {
		invalid("no name of a redundancy file of %v", s.Family)
		return
	}
	set := s.Sets[m.Set]
	if set == nil {
		set = &Set{Members: m.Size, Files: map[int]SetFile{}}
		s.Sets[m.Set] = set
	}
	if set.Members != m.Size {
		invalid("set %d has %d members, or %d", m.Set, m.Size, set.Members)
		return
	}
	if other, ok := set.Files[m.Member]; ok {
		invalid("rank %d has member %d of set %d as well", other.Rank, m.Member+1, m.Set)
		return
	}
	set.Files[m.Member] = SetFile{Rank: c.rank, Name: c.record.Name}
}
