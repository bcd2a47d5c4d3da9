package scr

import (
	"fmt"

	"github.com/scrfs/scrfs/internal/disk"
	"github.com/scrfs/scrfs/kvtree"
)

// Location is a place where a dataset is, or is on its way to.
type Location string

// The locations of SCR. A dataset can have any set of them.
const (
	InCache      Location = "CACHE"
	InPrefix     Location = "PFS"
	Flushing     Location = "FLUSHING"
	SyncFlushing Location = "SYNC_FLUSHING"
)

// FlushFile says which datasets are in the cache, in the prefix directory, or
// being flushed (flush.scr).
//
//	DATASET / <id> / LOCATION / CACHE, PFS, FLUSHING, SYNC_FLUSHING
//	                 DIR / <dataset directory>          F14
//	                 NAME / <name>, CKPT / 1, OUTPUT / 1  F12
//
// It holds the hash it was read from, with the keys that it does not know.
type FlushFile struct {
	tree   *kvtree.Tree
	family Family
}

// FlushEntry is what the flush file says of a dataset besides its locations.
type FlushEntry struct {
	// Name is the dataset directory in F14, the dataset's name in F12, and not
	// recorded in F11.
	Name string
	// Checkpoint and Output are recorded in F12 only.
	Checkpoint, Output bool
}

// NewFlushFile returns an empty flush file of family f.
func NewFlushFile(f Family) *FlushFile { return &FlushFile{tree: kvtree.New(), family: f} }

// FlushFileFromTree takes over a hash as a flush file of family f. Errors wrap
// ErrInvalid.
func FlushFileFromTree(f Family, t *kvtree.Tree) (*FlushFile, error) {
	ids, err := numberKeys("flush file: DATASET", t.Get(keyDatasets), 1, MaxDatasetID)
	if err != nil {
		return nil, err
	}
	x := NewFlushFile(f)
	if t != nil {
		x.tree = t
	}
	for _, id := range ids {
		if _, err := x.Entry(DatasetID(id)); err != nil {
			return nil, err
		}
	}
	return x, nil
}

// Tree returns the hash itself, not a copy.
func (x *FlushFile) Tree() *kvtree.Tree { return x.tree }

// Datasets lists the datasets, ascending.
func (x *FlushFile) Datasets() []DatasetID { return datasetKeys(x.tree.Get(keyDatasets)) }

// Has tells whether a dataset is listed.
func (x *FlushFile) Has(d DatasetID) bool { return x.entry(d) != nil }

func (x *FlushFile) entry(d DatasetID) *kvtree.Tree { return x.tree.Get(keyDatasets, d.String()) }

// Entry returns what is said of a dataset; ErrNotFound if it is not listed.
func (x *FlushFile) Entry(d DatasetID) (FlushEntry, error) {
	t := x.entry(d)
	if t == nil {
		return FlushEntry{}, fmt.Errorf("flush file: dataset %d: %w", d, ErrNotFound)
	}
	f := fields{tree: t, record: "flush file: dataset " + d.String()}
	e := FlushEntry{Name: f.optText(keyDir)}
	if e.Name == "" {
		e.Name = f.optText(keyName)
	}
	e.Checkpoint, e.Output = f.optBool(keyCkpt), f.optBool(keyOutput)
	if f.err != nil {
		return FlushEntry{}, f.err
	}
	return e, nil
}

// Put lists a dataset or changes what is said of it; its locations stay.
func (x *FlushFile) Put(d DatasetID, e FlushEntry) {
	t := x.tree.Sub(keyDatasets, d.String())
	for _, key := range []string{keyDir, keyName, keyCkpt, keyOutput} {
		t.Unset(key)
	}
	switch x.family {
	case F14:
		putText(t, keyDir, e.Name)
	case F12:
		putText(t, keyName, e.Name)
		if e.Checkpoint {
			t.PutInt(keyCkpt, 1)
		}
		if e.Output {
			t.PutInt(keyOutput, 1)
		}
	}
}

// Remove takes a dataset off the list; nothing if it is not there.
func (x *FlushFile) Remove(d DatasetID) {
	if x.Has(d) {
		x.tree.UnsetKV(keyDatasets, d.String())
	}
}

// SetLocation adds a location, and lists the dataset if it was not.
func (x *FlushFile) SetLocation(d DatasetID, l Location) {
	x.tree.Sub(keyDatasets, d.String()).SetKV(keyLocation, string(l))
}

// UnsetLocation takes a location away; nothing if it is not there.
func (x *FlushFile) UnsetLocation(d DatasetID, l Location) {
	if x.At(d, l) {
		x.entry(d).UnsetKV(keyLocation, string(l))
	}
}

// At tells whether a dataset has a location.
func (x *FlushFile) At(d DatasetID, l Location) bool {
	return x.entry(d).Get(keyLocation, string(l)) != nil
}

// NeedsFlush tells whether a dataset is in the cache and not in the prefix.
func (x *FlushFile) NeedsFlush(d DatasetID) bool { return x.At(d, InCache) && !x.At(d, InPrefix) }

// NeedsScavenge tells whether a dataset is listed and not in the prefix, which is
// what SCR's command tests after a job.
func (x *FlushFile) NeedsScavenge(d DatasetID) bool { return x.Has(d) && !x.At(d, InPrefix) }

// ReadFlush reads a flush file of family f; absent, it is empty.
func ReadFlush(fsys disk.FS, name string, f Family) (*FlushFile, error) {
	t, err := readOrEmpty(fsys, name)
	if err != nil {
		return nil, err
	}
	x, err := FlushFileFromTree(f, t)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	return x, nil
}

// UpdateFlush changes a flush file under its exclusive lock and replaces it in
// one step, if anything changed. If change returns an error nothing is written.
// The directory must be there.
func UpdateFlush(fsys disk.FS, name string, f Family, change func(*FlushFile) error) error {
	return LockedUpdate(fsys, Paths{f}.Lock(name), name, func(t *kvtree.Tree) error {
		x, err := FlushFileFromTree(f, t)
		if err != nil {
			return fmt.Errorf("update %s: %w", name, err)
		}
		return change(x)
	})
}
