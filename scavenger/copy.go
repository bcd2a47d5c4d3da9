package scavenger

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"

	"github.com/scrfs/scrfs/flush"
	"github.com/scrfs/scrfs/indexer"
	"github.com/scrfs/scrfs/internal/disk"
	"github.com/scrfs/scrfs/scr"
)

// CopyOptions is what Copy works on.
type CopyOptions struct {
	Control   disk.FS // the node's control directory
	Open      Opener
	Prefix    disk.FS
	PrefixDir string // absolute
	Order     CopyOrder
	// BytesPerSecond bounds the copying; 0 is no bound.
	BytesPerSecond int64
}

// Copy copies this node's part of a dataset into its stage: the user files, the
// redundancy files of the sets that are ordered, and last a filemap for each
// rank, which replaces one that a daemon left. Every file is compared with its
// checksum on the way. What it reports is durable.
//
// A rank of which a file is not as recorded is left without filemap and is in
// Failed; the others are copied all the same. The error is for what concerns
// all of them: the prefix directory is full, or cannot be written;
// scr.ErrNotFound if the node has no such dataset, scr.ErrIncomplete if it was
// not sealed.
func Copy(ctx context.Context, o CopyOptions) (Copied, error) {
	got, err := copyNode(ctx, o)
	if err != nil {
		return got, fmt.Errorf("copy dataset %d: %w", o.Order.Dataset, err)
	}
	return got, nil
}

func copyNode(ctx context.Context, o CopyOptions) (Copied, error) {
	v, err := readControl(o.Control)
	if err != nil {
		return Copied{}, err
	}
	id := o.Order.Dataset
	l := look{view: v, fm: v.Filemap, id: id, open: o.Open, d: CachedDataset{ID: id}}
	l.dataset()
	switch {
	case l.d.Unsealed != "":
		return Copied{}, fmt.Errorf("%s: %w", l.d.Unsealed, scr.ErrIncomplete)
	case len(l.d.Held) == 0:
		return Copied{}, fmt.Errorf("in this cache: %w", scr.ErrNotFound)
	}
	x := indexer.New(o.Prefix, o.PrefixDir, indexer.Options{})
	stage, err := x.OpenStage(id)
	if err != nil {
		return Copied{}, err
	}
	cacheDir := path.Join(v.cacheDir, own.CacheDataset(id, 0))
	c := copier{CopyOptions: o, fm: v.Filemap, cacheDir: cacheDir, stage: stage}
	if len(l.dirs) > 0 {
		c.cache, err = l.openDir(cacheDir)
	} else {
		c.cache, err = disk.NewMem(), nil // ranks without files
	}
	if err != nil {
		return Copied{}, err
	}
	return c.all(ctx, l.d.Held)
}

// copier copies one dataset's ranks.
type copier struct {
	CopyOptions
	fm       *scr.Filemap
	cacheDir string // absolute
	cache    disk.FS
	stage    disk.FS
	got      Copied
}

func (c *copier) all(ctx context.Context, held []HeldRank) (Copied, error) {
	for _, h := range held {
		if !c.wanted(h) {
			continue
		}
		if h.Missing != "" {
			c.got.Failed = append(c.got.Failed, FailedRank{h.Rank, h.Missing})
			continue
		}
		err := c.rank(ctx, h)
		switch {
		case err == nil:
			c.got.Ranks = append(c.got.Ranks, h.Rank)
		case ofRank(err):
			c.got.Failed = append(c.got.Failed, FailedRank{h.Rank, err.Error()})
		default:
			return c.got, err
		}
	}
	return c.got, nil
}

// wanted tells whether a rank is copied: it was ordered, and is the node's own
// or that of a node that failed.
func (c *copier) wanted(h HeldRank) bool {
	if len(c.Order.Ranks) > 0 && !slices.Contains(c.Order.Ranks, h.Rank) {
		return false
	}
	return h.PartnerOf == "" || slices.Contains(c.Order.Failed, h.PartnerOf)
}

// ofRank tells whether an error is one of the rank's files and not of the place
// they go to.
func ofRank(err error) bool {
	return errors.Is(err, scr.ErrCorrupt) || errors.Is(err, scr.ErrIncomplete) || errors.Is(err, scr.ErrEscape) || errors.Is(err, scr.ErrInvalid)
}

// rank copies one rank.
func (c *copier) rank(ctx context.Context, h HeldRank) error {
	set := h.Set.Size > 0 && (c.Order.AllSets || slices.Contains(c.Order.Sets, h.Set.ID))
	part := flush.Part{
		Dataset: c.Order.Dataset, Filemap: c.only(h.Rank), Cache: c.cache, CacheDir: c.cacheDir, Prefix: c.PrefixDir,
		Redundancy: set && h.Redundancy, Failed: c.Order.Failed,
	}
	copied, err := flush.CopyPart(ctx, part, c.stage, flush.Options{BytesPerSecond: c.BytesPerSecond})
	if err != nil {
		return err
	}
	for _, f := range copied[h.Rank] {
		c.got.Files++
		c.got.Bytes += f.SizeBytes
	}
	return nil
}

// only is a filemap of one rank.
func (c *copier) only(rank scr.Rank) *scr.Filemap {
	m := scr.NewFilemap()
	id := c.Order.Dataset
	for key, value := range c.fm.Entry(id, rank).All() {
		m.Entry(id, rank).Set(key, value.Clone())
	}
	return m
}
