package scr

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/scrfs/scrfs/kvtree"
)

// Index lists the datasets of a prefix directory (index.scr).
//
//	VERSION / 1
//	CURRENT / <name>                  F14, F12; F11 has the link scr.current
//	DIR / <name> / DSET / <id>        F11, F14: name is the dataset directory
//	DSET / <id> / DIR / <name> / ...
//	NAME / <name> / DSET / <id>       F12: name is that of the dataset
//	DSET / <id> / NAME / <name> / ...
//
// A name has one id; an id can have several names. The Index holds the hash it
// was read from, with the keys that it does not know.
type Index struct {
	tree   *kvtree.Tree
	family Family
}

// Stamp is a time of an index entry: local time as YYYY-MM-DDThh:mm:ss.
type Stamp string

const stampLayout = "2006-01-02T15:04:05"

// StampOf writes a time in its own location.
func StampOf(t time.Time) Stamp { return Stamp(t.Format(stampLayout)) }

// Time reads a stamp as local time of loc. Errors wrap ErrInvalid.
func (s Stamp) Time(loc *time.Location) (time.Time, error) {
	t, err := time.ParseInLocation(stampLayout, string(s), loc)
	if err != nil {
		return time.Time{}, fmt.Errorf("time %s is not %s: %w", quote(string(s)), "YYYY-MM-DDThh:mm:ss", ErrInvalid)
	}
	return t, nil
}

// IndexEntry is one dataset of the index.
type IndexEntry struct {
	ID DatasetID
	// Name is the dataset directory relative to the prefix directory (F11, F14)
	// or the dataset's name (F12).
	Name string
	// Dataset describes it; nil if the entry says nothing, as while SCR flushes
	// asynchronously.
	Dataset *Dataset
	// Complete is absent, 0 or 1. Only 1 can be restarted from.
	Complete Limit
	// Flushed, Fetched and Failed are times, ascending.
	Flushed, Fetched, Failed []Stamp
}

// Restartable tells whether one may restart from the dataset: a complete
// checkpoint of which no fetch has failed.
func (e IndexEntry) Restartable() bool {
	return e.Complete == LimitOf(1) && len(e.Failed) == 0 && e.Dataset != nil && e.Dataset.Checkpoint != 0
}

// NewIndex returns an empty index of family f.
func NewIndex(f Family) *Index {
	x := &Index{tree: kvtree.New(), family: f}
	x.tree.PutInt(keyVersion, indexVersion)
	return x
}

const indexVersion = 1

// IndexFromTree takes over a hash as an index of family f. Every entry is
// checked, and added to the list of names if it is not there. Version 2, of SCR
// 3, gives ErrUnsupported; a dataset directory outside the prefix directory
// ErrEscape; other errors wrap ErrInvalid. An empty hash is an empty index.
func IndexFromTree(f Family, t *kvtree.Tree) (*Index, error) {
	if t.Len() == 0 {
		return NewIndex(f), nil
	}
	r := fields{tree: t, record: "index"}
	if v := r.number(keyVersion, 0, math.MaxInt32); r.err == nil && v != indexVersion {
		r.fail("key VERSION: value %d, scrfs reads %d: %w", v, indexVersion, ErrUnsupported)
	}
	if t.Has(keyCurrent) {
		r.text(keyCurrent)
	}
	if r.err != nil {
		return nil, r.err
	}
	x := &Index{tree: t, family: f}
	entries, err := x.Entries()
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		x.tree.Sub(x.nameKey(), e.Name).SetKV(keyDset, e.ID.String())
	}
	return x, nil
}

// Tree returns the hash itself, not a copy.
func (x *Index) Tree() *kvtree.Tree { return x.tree }

// nameKey is the word that stands for names.
func (x *Index) nameKey() string {
	if x.family == F12 {
		return keyName
	}
	return keyDir
}

// Entries lists all datasets by id, those of one id by name.
func (x *Index) Entries() ([]IndexEntry, error) {
	ids, err := numberKeys("index: DSET", x.tree.Get(keyDset), 1, MaxDatasetID)
	if err != nil {
		return nil, err
	}
	var out []IndexEntry
	for _, id := range ids {
		names := x.tree.Get(keyDset, itoa(id), x.nameKey())
		for _, name := range names.SortedKeys() {
			e, err := x.entry(DatasetID(id), name, names.Get(name))
			if err != nil {
				return nil, err
			}
			out = append(out, e)
		}
	}
	return out, nil
}

func (x *Index) entry(id DatasetID, name string, t *kvtree.Tree) (IndexEntry, error) {
	record := fmt.Sprintf("index: dataset %d: %s %s", id, x.nameKey(), quote(name))
	if x.family != F12 {
		if _, err := inside(".", name); err != nil {
			return IndexEntry{}, fmt.Errorf("%s: %w", record, err)
		}
	}
	f := fields{tree: t, record: record}
	e := IndexEntry{ID: id, Name: name}
	if t.Has(keyComplete) {
		e.Complete = LimitOf(f.number(keyComplete, 0, 1))
	}
	e.Flushed = f.stamps("FLUSHED")
	e.Fetched = f.stamps("FETCHED")
	e.Failed = f.stamps("FAILED")
	if f.err == nil && t.Has(keyDset) {
		d, err := DatasetFromTree(t.Get(keyDset))
		if err == nil && d.ID != id {
			err = fmt.Errorf("key ID: value %d, not %d: %w", d.ID, id, ErrInvalid)
		}
		if err != nil {
			f.fail("%w", err)
		}
		e.Dataset = &d
	}
	if f.err != nil {
		return IndexEntry{}, f.err
	}
	return e, nil
}

// stamps returns the times below a key, ascending.
func (f *fields) stamps(key string) []Stamp {
	var out []Stamp
	for s := range f.tree.Get(key).All() {
		if _, err := Stamp(s).Time(time.UTC); err != nil {
			f.fail("key %s: %w", key, err)
		}
		out = append(out, Stamp(s))
	}
	slices.Sort(out)
	return out
}

// Find returns the entry that a name or an id stands for. A name counts before
// an id. An id with several names gives ErrAmbiguous and lists them; what is not
// there gives ErrNotFound.
func (x *Index) Find(nameOrID string) (IndexEntry, error) {
	entries, err := x.Entries()
	if err != nil {
		return IndexEntry{}, err
	}
	pick := func(match func(IndexEntry) bool) []IndexEntry {
		return slices.DeleteFunc(slices.Clone(entries), func(e IndexEntry) bool { return !match(e) })
	}
	found := pick(func(e IndexEntry) bool { return e.Name == nameOrID })
	if len(found) == 0 {
		found = pick(func(e IndexEntry) bool { return e.ID.String() == nameOrID })
	}
	switch len(found) {
	case 0:
		return IndexEntry{}, fmt.Errorf("index: dataset %s: %w", quote(nameOrID), ErrNotFound)
	case 1:
		return found[0], nil
	}
	labels := make([]string, len(found))
	for i, e := range found {
		labels[i] = fmt.Sprintf("%s (dataset %d)", quote(e.Name), e.ID)
	}
	return IndexEntry{}, fmt.Errorf("index: dataset %s is %s: %w", quote(nameOrID), strings.Join(labels, ", "), ErrAmbiguous)
}

// RestartOrder lists what to try for a restart: the current dataset first, then
// the others by descending id. Only restartable datasets are in it. current is
// "" for what the index itself says; F11 gives the target of its link.
func (x *Index) RestartOrder(current string) ([]IndexEntry, error) {
	entries, err := x.Entries()
	if err != nil {
		return nil, err
	}
	if current == "" {
		current, _ = x.Current()
	}
	entries = slices.DeleteFunc(entries, func(e IndexEntry) bool { return !e.Restartable() })
	slices.SortStableFunc(entries, func(a, b IndexEntry) int {
		if first := (a.Name == current); first != (b.Name == current) {
			if first {
				return -1
			}
			return 1
		}
		return int(b.ID - a.ID)
	})
	return entries, nil
}

// Current returns the name of the dataset to restart from, if the index says.
func (x *Index) Current() (name string, ok bool) { return x.tree.Value(keyCurrent) }
