package indexer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/scrfs/scrfs/scr"
)

// Report says what Add or Verify found and did.
type Report struct {
	Place
	Dataset scr.Dataset
	// Name is what the index calls it.
	Name string
	// Already: it was complete and in the index, and nothing was done.
	Already bool
	// Ranks, Files and SizeBytes count what the dataset has, redundancy
	// included.
	Ranks, Files int
	SizeBytes    int64
	// Rebuilt lists what was brought back.
	Rebuilt []RebuiltRank
	// Scan is what was found, before anything was rebuilt; nil if nobody had to
	// look.
	Scan *Scan
}

// Add looks at a dataset directory, rebuilds what is missing, writes rank2file
// map and summary, and enters the dataset into the index, each in its own
// family. A dataset that is complete and in the index stays as it is.
//
// Records that contradict each other give scr.ErrInvalid or scr.ErrEscape; more
// lost than the redundancy can mend gives scr.ErrUnrecoverable and names the
// ranks. After any error the index is as it was, and so is every file; after a
// crash the index has the dataset or not, and if it has, every byte is there.
// CURRENT is left alone: which dataset to restart from is the user's to say.
func (x *Indexer) Add(ctx context.Context, nameOrID string) (r Report, err error) {
	if _, err := x.RollForward(ctx); err != nil {
		return r, err
	}
	if r.Place, err = x.Locate(nameOrID); err != nil {
		return r, fmt.Errorf("index: add: %w", err)
	}
	p := scr.Paths{Family: r.Family}
	lock, err := x.lockRebuild(p)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	if err := x.add(ctx, p, &r); err != nil {
		return r, fmt.Errorf("index: add %s: %w", r.Dir, err)
	}
	return r, nil
}

func (x *Indexer) add(ctx context.Context, p scr.Paths, r *Report) error {
	summary, serr := scr.ReadSummary(x.prefix, p, r.Dir)
	if serr == nil && summary.Complete {
		r.Dataset, r.Name = summary.Dataset, nameInIndex(p, r.Dir, summary.Dataset)
		indexed, err := x.isIndexed(p, r.Name, summary.Dataset.ID)
		if err != nil {
			return err
		}
		if indexed {
			r.Already = true
			return nil
		}
	}
	s, err := x.Scan(ctx, r.Family, r.Dir)
	if err != nil {
		return err
	}
	if s.filemaps == 0 { // SCR's flush leaves none
		if serr != nil {
			return fmt.Errorf("no filemap of any rank: %w", serr)
		}
		return x.addFlushed(ctx, p, r, summary)
	}
	r.Scan = s
	if err := s.mendable(); err != nil {
		return err
	}
	if s, err = x.mend(ctx, s, r); err != nil {
		return err
	}
	r.Dataset, r.Name = s.Dataset, nameInIndex(p, r.Dir, s.Dataset)
	r.count(s)
	if err := s.writeResult(x.prefix); err != nil {
		return err
	}
	return x.addEntry(p, r)
}

// mend rebuilds what a scan found missing and looks again. What was just written
// was verified then, and what was there before by the first look.
func (x *Indexer) mend(ctx context.Context, s *Scan, r *Report) (*Scan, error) {
	if len(s.Build) == 0 {
		return s, nil
	}
	var err error
	if r.Rebuilt, err = x.rebuild(ctx, s, s.Build); err != nil {
		return nil, err
	}
	again, err := x.scanIn(ctx, x.prefix, s.Family, s.Dir, false)
	if err != nil {
		return nil, err
	}
	if !again.Complete() {
		return nil, fmt.Errorf("after the rebuild ranks %v are missing\n%s: %w", again.Missing, describe(append(again.Invalid, again.Problems...)), scr.ErrIncomplete)
	}
	return again, nil
}

// mendable reports why a dataset can be neither used nor rebuilt.
func (s *Scan) mendable() error {
	if err := listed(s.Invalid); err != nil {
		return err
	}
	switch {
	case len(s.Unrecoverable) > 0:
	case len(s.Entries) == 0:
		return fmt.Errorf("no filemap of any rank: %w", scr.ErrIncomplete)
	case nameInIndex(s.paths(), s.Dir, s.Dataset) == "":
		return fmt.Errorf("no filemap says what the dataset is called: %w", scr.ErrInvalid)
	default:
		return nil
	}
	text := ""
	for _, why := range s.Unrecoverable {
		text += why + "\n"
	}
	if len(s.Problems) > 0 {
		text += describe(s.Problems) + "\n"
	}
	return fmt.Errorf("%sranks %v are missing: %w", text, s.Missing, scr.ErrUnrecoverable)
}

// nameInIndex is the dataset directory, in F12 the dataset's own name.
func nameInIndex(p scr.Paths, dir string, d scr.Dataset) string {
	if p.Family == scr.F12 {
		return d.Name
	}
	return dir
}

func (x *Indexer) isIndexed(p scr.Paths, name string, id scr.DatasetID) (bool, error) {
	entries, err := entriesOf(x.prefix, p)
	if err != nil {
		return false, err
	}
	for _, e := range entries {
		if e.ID == id && e.Name == name && e.Complete == scr.LimitOf(1) {
			return true, nil
		}
	}
	return false, nil
}

// addFlushed enters a dataset that a flush left: files, summary, rank2file and
// no filemaps. Nothing of it can be rebuilt.
func (x *Indexer) addFlushed(ctx context.Context, p scr.Paths, r *Report, summary scr.Summary) error {
	if !summary.Complete {
		return fmt.Errorf("its summary says that it is not complete, and there is no filemap of any rank: %w", scr.ErrIncomplete)
	}
	problems, err := x.verifyFlushed(ctx, p, r, summary)
	if err != nil {
		return err
	}
	if err := listed(problems); err != nil {
		return err
	}
	return x.addEntry(p, r)
}

// addEntry puts the dataset into the index. What fetches said of it before it
// was mended no longer counts, but when it was fetched.
func (x *Indexer) addEntry(p scr.Paths, r *Report) error {
	d := r.Dataset
	e := scr.IndexEntry{ID: d.ID, Name: r.Name, Dataset: &d, Complete: scr.LimitOf(1), Flushed: []scr.Stamp{scr.StampOf(x.o.Now())}}
	err := scr.UpdateIndex(x.prefix, p, func(index *scr.Index) error {
		entries, err := index.Entries()
		if err != nil {
			return err
		}
		for _, old := range entries {
			if old.ID == e.ID && old.Name == e.Name {
				e.Fetched = old.Fetched
			}
		}
		return index.Put(e)
	})
	if err == nil {
		x.log.Info("dataset indexed", slog.Int("dataset", int(d.ID)), slog.String("dir", r.Dir), slog.Int("rebuilt", len(r.Rebuilt)))
	}
	return err
}

func (r *Report) count(s *Scan) {
	r.Ranks = s.Ranks
	for _, e := range s.Entries {
		r.Files += len(e.Files)
		for _, f := range e.Files {
			r.SizeBytes += f.SizeBytes
		}
	}
}

// DryRun scans as Add does and changes nothing at all.
func (x *Indexer) DryRun(ctx context.Context, nameOrID string) (*Scan, error) {
	place, err := x.Locate(nameOrID)
	if err != nil {
		return nil, fmt.Errorf("index: %w", err)
	}
	s, err := x.Scan(ctx, place.Family, place.Dir)
	if err == nil && s.filemaps == 0 {
		return nil, fmt.Errorf("index: %s has no filemap of any rank: %w", place.Dir, scr.ErrNotFound)
	}
	return s, err
}
