package scr

import (
	"fmt"
	"slices"

	"github.com/scrfs/scrfs/kvtree"
)

// Filemap maps datasets and ranks to files in the cache, or in the prefix
// directory after a scavenge. It says what may exist: a file is entered before
// it is made and removed after it is gone.
//
//	DSET / <id> / RANK / <rank>                  which ranks have a dataset
//	RANK / <rank> / DSET / <id> / FILES / <n>    number of files expected
//	                              FILE / <name> / META / ...
//	                              REDDESC, DSETDESC, FLUSH, TREE, tags
//
// The first line is an index of the second; every method keeps them in step.
// Calls for a rank and dataset cost the same whatever the number of files.
//
// The zero Filemap is not usable; see NewFilemap. It is not safe for use by
// several goroutines at a time.
type Filemap struct {
	tree   *kvtree.Tree
	family Family
}

// NewFilemap returns an empty filemap whose records are written as in F14.
func NewFilemap() *Filemap {
	return &Filemap{tree: kvtree.New(), family: F14}
}

// InFamily makes later calls write their records as in family f, and returns m.
// Records that are there stay as they are.
func (m *Filemap) InFamily(f Family) *Filemap {
	m.family = f
	return m
}

// Tree returns the hash itself, not a copy, with unknown keys in place.
func (m *Filemap) Tree() *kvtree.Tree { return m.tree }

// FilemapFromTree takes over a hash of any family. Ranks and dataset ids must be
// numbers; the index is built anew from the ranks, so a damaged one does no
// harm. Records are checked when they are asked for. Errors wrap ErrInvalid.
func FilemapFromTree(t *kvtree.Tree) (*Filemap, error) {
	m := &Filemap{tree: t, family: F14}
	if m.tree == nil {
		m.tree = kvtree.New()
	}
	index := kvtree.New()
	ranks := t.Get(keyRank)
	for name := range ranks.All() {
		if _, err := ParseRank(name); err != nil {
			return nil, fmt.Errorf("filemap: key RANK: %w", err)
		}
		for id := range ranks.Get(name, keyDset).All() {
			if _, err := ParseDatasetID(id); err != nil {
				return nil, fmt.Errorf("filemap: rank %s: key DSET: %w", name, err)
			}
			index.Sub(id).SetKV(keyRank, name)
		}
	}
	m.tree.Unset(keyDset)
	if index.Len() > 0 {
		m.tree.Set(keyDset, index)
	}
	return m, nil
}

// entry returns the hash of a rank's dataset, nil if absent.
func (m *Filemap) entry(d DatasetID, r Rank) *kvtree.Tree {
	return m.tree.Get(keyRank, r.String(), keyDset, d.String())
}

// Entry returns the hash of a rank's dataset, made if absent, for keys that no
// method knows. It must not be kept over a call that removes the entry.
func (m *Filemap) Entry(d DatasetID, r Rank) *kvtree.Tree {
	if t := m.entry(d, r); t != nil {
		return t
	}
	m.tree.Sub(keyDset, d.String()).SetKV(keyRank, r.String())
	return m.tree.Sub(keyRank, r.String(), keyDset, d.String())
}

// Clear removes everything.
func (m *Filemap) Clear() { m.tree = kvtree.New() }

// Merge copies all of src into m. Where both have a field, src counts; lists are
// joined. Src shares nothing with m afterwards.
func (m *Filemap) Merge(src *Filemap) {
	for _, r := range src.Ranks() {
		for _, d := range src.datasetsOf(r) {
			mergeEntry(m.Entry(d, r), src.entry(d, r))
		}
	}
}

// mergeEntry replaces fields and joins files: a plain merge of hashes would give
// a field two values.
func mergeEntry(dst, src *kvtree.Tree) {
	for key, sub := range src.All() {
		if key != keyFile {
			dst.Set(key, sub.Clone())
			continue
		}
		files := dst.Sub(keyFile)
		for name, record := range sub.All() {
			files.Set(name, record.Clone())
		}
	}
}

// ExtractRank moves all of a rank into a new filemap. It is empty if the rank is
// not there.
func (m *Filemap) ExtractRank(r Rank) *Filemap {
	out := NewFilemap().InFamily(m.family)
	for _, d := range m.datasetsOf(r) {
		out.Entry(d, r)
		out.tree.Sub(keyRank, r.String(), keyDset).Set(d.String(), m.entry(d, r))
	}
	m.RemoveRank(r)
	return out
}

// RemoveDataset removes all of a dataset.
func (m *Filemap) RemoveDataset(d DatasetID) {
	for _, r := range m.RanksOf(d) {
		m.RemoveRankOf(d, r)
	}
}

// RemoveRank removes all of a rank.
func (m *Filemap) RemoveRank(r Rank) {
	for _, d := range m.datasetsOf(r) {
		m.RemoveRankOf(d, r)
	}
	m.tree.UnsetKV(keyRank, r.String()) // a rank may be there without datasets
}

// RemoveRankOf removes a rank from one dataset.
func (m *Filemap) RemoveRankOf(d DatasetID, r Rank) {
	if ofRank := m.tree.Get(keyRank, r.String()); ofRank != nil {
		ofRank.UnsetKV(keyDset, d.String())
		if ofRank.Len() == 0 {
			m.tree.UnsetKV(keyRank, r.String())
		}
	}
	if ofDset := m.tree.Get(keyDset, d.String()); ofDset != nil {
		ofDset.UnsetKV(keyRank, r.String())
		if ofDset.Len() == 0 {
			m.tree.UnsetKV(keyDset, d.String())
		}
	}
}

// Datasets lists the datasets, oldest first.
func (m *Filemap) Datasets() []DatasetID { return datasetKeys(m.tree.Get(keyDset)) }

// Ranks lists the ranks, ascending.
func (m *Filemap) Ranks() []Rank { return sortedRanks(m.tree.Get(keyRank)) }

// RanksOf lists the ranks that have a dataset, ascending.
func (m *Filemap) RanksOf(d DatasetID) []Rank {
	return sortedRanks(m.tree.Get(keyDset, d.String(), keyRank))
}

func (m *Filemap) datasetsOf(r Rank) []DatasetID {
	return datasetKeys(m.tree.Get(keyRank, r.String(), keyDset))
}

// DatasetCount is the number of datasets.
func (m *Filemap) DatasetCount() int { return m.tree.Get(keyDset).Len() }

// RankCount is the number of ranks.
func (m *Filemap) RankCount() int { return m.tree.Get(keyRank).Len() }

// RankCountOf is the number of ranks that have a dataset.
func (m *Filemap) RankCountOf(d DatasetID) int {
	return m.tree.Get(keyDset, d.String(), keyRank).Len()
}

// LatestDataset is the one with the highest id; ok is false if there is none.
func (m *Filemap) LatestDataset() (d DatasetID, ok bool) {
	all := m.Datasets()
	if len(all) == 0 {
		return 0, false
	}
	return all[len(all)-1], true
}

// OldestDataset is the one with the lowest id; ok is false if there is none.
func (m *Filemap) OldestDataset() (d DatasetID, ok bool) {
	all := m.Datasets()
	if len(all) == 0 {
		return 0, false
	}
	return all[0], true
}

// HasRank tells whether there is anything of a rank.
func (m *Filemap) HasRank(r Rank) bool { return m.tree.Get(keyRank, r.String()) != nil }

// HasRankOf tells whether there is anything of a rank in a dataset.
func (m *Filemap) HasRankOf(d DatasetID, r Rank) bool { return m.entry(d, r) != nil }

// sortedRanks lists keys that FilemapFromTree and the methods have checked.
func sortedRanks(t *kvtree.Tree) []Rank {
	ranks, err := rankKeys("filemap", t)
	if err != nil {
		panic("BUG: filemap holds a rank that was not checked: " + err.Error())
	}
	return ranks
}

func datasetKeys(t *kvtree.Tree) []DatasetID {
	ids := make([]DatasetID, 0, t.Len())
	for key := range t.All() {
		d, err := ParseDatasetID(key)
		if err != nil {
			panic("BUG: filemap holds a dataset id that was not checked: " + err.Error())
		}
		ids = append(ids, d)
	}
	slices.Sort(ids)
	return ids
}
