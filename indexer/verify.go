package indexer

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"

	"github.com/scrfs/scrfs/scr"
	"github.com/scrfs/scrfs/xor"
)

// Verify reads every file of a dataset and compares it with what is recorded,
// and every redundancy file with the files it protects; with NoCRC it compares
// names and sizes. It changes nothing. A
// dataset that is not whole gives an error that lists what is wrong, up to ten
// lines; the Report has all. It wraps the first cause, or scr.ErrIncomplete.
func (x *Indexer) Verify(ctx context.Context, nameOrID string) (Report, error) {
	var r Report
	var err error
	if r.Place, err = x.Locate(nameOrID); err != nil {
		return r, fmt.Errorf("index: verify: %w", err)
	}
	if err := x.verify(ctx, scr.Paths{Family: r.Family}, &r); err != nil {
		return r, fmt.Errorf("index: verify %s: %w", r.Dir, err)
	}
	return r, nil
}

func (x *Indexer) verify(ctx context.Context, p scr.Paths, r *Report) error {
	summary, serr := scr.ReadSummary(x.prefix, p, r.Dir)
	s, err := x.Scan(ctx, r.Family, r.Dir)
	if err != nil {
		return err
	}
	if s.filemaps == 0 {
		if serr != nil {
			return serr
		}
		problems, err := x.verifyFlushed(ctx, p, r, summary)
		if err == nil {
			err = listed(problems)
		}
		return err
	}
	r.Scan, r.Dataset, r.Name = s, s.Dataset, nameInIndex(p, r.Dir, s.Dataset)
	r.count(s)
	problems := append(slices.Clone(s.Invalid), s.Problems...)
	switch {
	case len(problems) > 0:
		return listed(problems)
	case len(s.Missing) > 0:
		return fmt.Errorf("ranks %v are missing: %w", s.Missing, scr.ErrIncomplete)
	case len(s.Build) > 0:
		return fmt.Errorf("the redundancy file of rank %d is missing: %w", s.Build[0].Rank, scr.ErrIncomplete)
	}
	if !x.o.NoCRC {
		if err := x.verifySets(ctx, s); err != nil {
			return err
		}
	}
	switch {
	case errors.Is(serr, fs.ErrNotExist):
		return fmt.Errorf("it has no summary: %w", scr.ErrIncomplete)
	case serr != nil:
		return serr
	case !summary.Complete:
		return fmt.Errorf("its summary says that it is not complete: %w", scr.ErrIncomplete)
	}
	return nil
}

// verifySets computes the redundancy of whole sets again.
func (x *Indexer) verifySets(ctx context.Context, s *Scan) error {
	for _, id := range slices.Sorted(maps.Keys(s.Sets)) {
		j := &rebuildJob{x: x, scan: s, build: Build{Set: id, Member: -1, Rank: -1}}
		members, closeAll, err := j.survivors()
		if err == nil {
			err = xor.Verify(ctx, members, xor.Options{Family: s.Family})
		}
		if err = errors.Join(err, closeAll()); err != nil {
			return fmt.Errorf("set %d: %w", id, err)
		}
	}
	return nil
}

// verifyFlushed compares the files of a dataset without filemaps with its
// rank2file map.
func (x *Indexer) verifyFlushed(ctx context.Context, p scr.Paths, r *Report, summary scr.Summary) ([]Problem, error) {
	r.Dataset, r.Name = summary.Dataset, nameInIndex(p, r.Dir, summary.Dataset)
	ranks := summary.Ranks
	if ranks == nil {
		m, err := scr.ReadRank2File(x.prefix, p, r.Dir)
		if err != nil {
			return nil, err
		}
		ranks = &m
	}
	r.Ranks = ranks.Ranks
	type place struct {
		rank scr.Rank
		file scr.FileRecord
	}
	var places []place
	for _, e := range ranks.Entries {
		for _, f := range e.Files {
			places = append(places, place{e.Rank, f})
			r.Files++
			r.SizeBytes += f.SizeBytes
		}
	}
	found := make([]error, len(places))
	meter := newMeter(x.o.Progress, "scan", 0)
	views := newDirViews(x.prefix)
	defer views.close()
	err := parallel(ctx, len(places), x.o.Workers, func(i int) error {
		found[i] = x.verifyRecord(ctx, views, p, r.Dir, places[i].file, summary, meter)
		meter.file()
		return ctx.Err()
	})
	var problems []Problem
	for i, err := range found {
		if err != nil {
			problems = append(problems, Problem{places[i].rank, places[i].file.Name, err})
		}
	}
	return problems, err
}

func (x *Indexer) verifyRecord(ctx context.Context, views *dirViews, p scr.Paths, dir string, f scr.FileRecord, summary scr.Summary, meter *meter) error {
	if f.Failed {
		return fmt.Errorf("recorded as incomplete: %w", scr.ErrIncomplete)
	}
	if len(f.Segments) > 0 {
		return x.verifySegments(p, dir, f, summary)
	}
	resolve := p.UserFile
	if f.NoFetch {
		resolve = p.Resolve
	}
	rel, err := resolve(dir, f.Name)
	if err != nil {
		return err
	}
	c := fileCheck{rel: rel, record: f, complete: true}
	return c.look(ctx, views, !x.o.NoCRC, meter)
}

// verifySegments reads a file that lies in containers.
func (x *Indexer) verifySegments(p scr.Paths, dir string, f scr.FileRecord, summary scr.Summary) error {
	var sum uint32
	for _, seg := range f.Segments {
		rel, err := containerName(p, dir, seg, summary)
		if err != nil {
			return err
		}
		if sum, err = x.sumSegment(rel, seg, sum); err != nil {
			return fmt.Errorf("container %s: %w", rel, err)
		}
	}
	if f.HasCRC && !x.o.NoCRC && f.CRC != scr.CRC(sum) {
		return fmt.Errorf("crc %v, expected %v: %w", scr.CRC(sum), f.CRC, scr.ErrCorrupt)
	}
	return nil
}

func (x *Indexer) sumSegment(rel string, seg scr.Segment, sum uint32) (uint32, error) {
	file, err := x.prefix.OpenFile(rel, os.O_RDONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, fmt.Errorf("is absent: %w", scr.ErrIncomplete)
	}
	if err != nil {
		return 0, err
	}
	defer file.Close() // read only: nothing can be lost
	crc := crcWriter(sum)
	n, err := io.Copy(&crc, io.NewSectionReader(file, seg.OffsetBytes, seg.LengthBytes))
	if err == nil && n != seg.LengthBytes {
		err = fmt.Errorf("ends at byte %d: %w", seg.OffsetBytes+n, scr.ErrIncomplete)
	}
	if err != nil {
		return 0, err
	}
	return uint32(crc), nil
}

// crcWriter is the checksum of all that was written to it.
type crcWriter uint32

func (c *crcWriter) Write(p []byte) (int, error) {
	*c = crcWriter(crc32.Update(uint32(*c), crc32.IEEETable, p))
	return len(p), nil
}

// containerName finds a container. The oldest family has its absolute name of
// the time of writing; the file lies beside the summary.
func containerName(p scr.Paths, dir string, seg scr.Segment, summary scr.Summary) (string, error) {
	if seg.File != "" {
		return p.Resolve(dir, seg.File)
	}
	c, ok := summary.Container(seg.Container)
	if !ok {
		return "", fmt.Errorf("container %d is not in the summary: %w", seg.Container, scr.ErrInvalid)
	}
	return p.Resolve(dir, path.Base(c.Name))
}
