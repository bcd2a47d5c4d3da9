package scr

import (
	"fmt"
	"slices"

	"github.com/scrfs/scrfs/internal/disk"
	"github.com/scrfs/scrfs/kvtree"
)

// Put enters a dataset or changes its entry. All fields of e replace those of
// the entry; keys that scrfs does not know stay. A name that stood for another
// id stands for this one from now on, as the directory was used again.
func (x *Index) Put(e IndexEntry) error {
	if e.ID < 1 || e.ID > MaxDatasetID || e.Name == "" {
		return fmt.Errorf("index: add dataset %d, name %s: %w", e.ID, quote(e.Name), ErrInvalid)
	}
	if x.family != F12 {
		if _, err := inside(".", e.Name); err != nil {
			return fmt.Errorf("index: add dataset %d, directory %s: %w", e.ID, quote(e.Name), err)
		}
	}
	for _, id := range x.idsOf(e.Name) {
		if id != e.ID {
			x.drop(id, e.Name)
		}
	}
	x.tree.Sub(x.nameKey(), e.Name).PutInt(keyDset, int64(e.ID))
	t := x.tree.Sub(keyDset, e.ID.String(), x.nameKey(), e.Name)
	t.Unset(keyComplete)
	if e.Complete.Set {
		t.PutInt(keyComplete, e.Complete.N)
	}
	t.Unset(keyDset)
	if e.Dataset != nil {
		t.Set(keyDset, e.Dataset.Tree(x.family))
	}
	putStamps(t, "FLUSHED", e.Flushed)
	putStamps(t, "FETCHED", e.Fetched)
	putStamps(t, "FAILED", e.Failed)
	return nil
}

func putStamps(t *kvtree.Tree, key string, stamps []Stamp) {
	t.Unset(key)
	for _, s := range stamps {
		t.SetKV(key, string(s))
	}
}

// idsOf lists the ids that have an entry of a name. It asks the list of names,
// which IndexFromTree has completed, so that it need not go through all ids.
func (x *Index) idsOf(name string) []DatasetID {
	var ids []DatasetID
	for key := range x.tree.Get(x.nameKey(), name, keyDset).All() {
		id, err := ParseDatasetID(key)
		if err == nil && x.tree.Get(keyDset, key, x.nameKey(), name) != nil {
			ids = append(ids, id)
		}
	}
	return ids
}

// drop removes one entry and, with its last, the id.
func (x *Index) drop(id DatasetID, name string) {
	of := x.tree.Get(keyDset, id.String())
	of.UnsetKV(x.nameKey(), name)
	if of.Len() == 0 {
		x.tree.UnsetKV(keyDset, id.String())
	}
}

// Remove takes a name out of the index, and CURRENT if it names it. ErrNotFound
// if it is not there.
func (x *Index) Remove(name string) error {
	ids := x.idsOf(name)
	if len(ids) == 0 && !x.tree.Get(x.nameKey()).Has(name) {
		return fmt.Errorf("index: dataset %s: %w", quote(name), ErrNotFound)
	}
	for _, id := range ids {
		x.drop(id, name)
	}
	if x.tree.Get(x.nameKey()).Has(name) {
		x.tree.UnsetKV(x.nameKey(), name)
	}
	if current, ok := x.Current(); ok && current == name {
		x.tree.Unset(keyCurrent)
	}
	return nil
}

// SetCurrent names the dataset to restart from; "" for none. The name must be in
// the index (ErrNotFound). F11 keeps it in a link instead (ErrUnsupported).
func (x *Index) SetCurrent(name string) error {
	if x.family == F11 {
		return fmt.Errorf("index: set current: F11 has the link %s: %w", currentName, ErrUnsupported)
	}
	if name == "" {
		x.tree.Unset(keyCurrent)
		return nil
	}
	if len(x.idsOf(name)) == 0 {
		return fmt.Errorf("index: set current: dataset %s: %w", quote(name), ErrNotFound)
	}
	x.tree.PutString(keyCurrent, name)
	return nil
}

// MarkFetched records a fetch of the dataset of that name.
func (x *Index) MarkFetched(name string, at Stamp) error { return x.mark(name, "FETCHED", at) }

// MarkFailed records a fetch that failed; the dataset is not tried again.
func (x *Index) MarkFailed(name string, at Stamp) error { return x.mark(name, "FAILED", at) }

func (x *Index) mark(name, key string, at Stamp) error {
	ids := x.idsOf(name)
	if len(ids) == 0 {
		return fmt.Errorf("index: dataset %s: %w", quote(name), ErrNotFound)
	}
	t := x.tree.Get(keyDset, slices.Max(ids).String(), x.nameKey(), name)
	t.SetKV(key, string(at))
	return nil
}

// ReadIndex reads the index; absent, it is empty. It takes no lock: the file is
// replaced by rename, so a reader has the old one or the new one whole.
func ReadIndex(prefix disk.FS, p Paths) (*Index, error) {
	t, err := readOrEmpty(prefix, p.Index())
	if err != nil {
		return nil, err
	}
	x, err := IndexFromTree(p.Family, t)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", p.Index(), err)
	}
	return x, nil
}

// UpdateIndex changes the index under its exclusive lock and replaces the file in
// one step, if anything changed. If change returns an error nothing is written.
func UpdateIndex(prefix disk.FS, p Paths, change func(*Index) error) error {
	if err := disk.MkdirAll(prefix, p.Meta(), dirPerm); err != nil {
		return fmt.Errorf("update %s: %w", p.Index(), err)
	}
	return LockedUpdate(prefix, p.Lock(p.Index()), p.Index(), func(t *kvtree.Tree) error {
		x, err := IndexFromTree(p.Family, t)
		if err != nil {
			return fmt.Errorf("update %s: %w", p.Index(), err)
		}
		if err := change(x); err != nil {
			return err
		}
		if x.tree != t { // it was empty
			replace(t, x.tree)
		}
		return nil
	})
}
