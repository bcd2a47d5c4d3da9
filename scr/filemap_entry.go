package scr

import (
	"fmt"
	"iter"
	"math"

	"github.com/scrfs/scrfs/kvtree"
)

// What a filemap has of one rank in one dataset.

// AddFile enters a file without meta data; one that is there stays as it is.
func (m *Filemap) AddFile(d DatasetID, r Rank, name string) {
	m.Entry(d, r).Sub(keyFile, name)
}

// RemoveFile removes a file. The rank's last file takes the rank's entry along
// only if nothing else is in it.
func (m *Filemap) RemoveFile(d DatasetID, r Rank, name string) {
	e := m.entry(d, r)
	if e == nil {
		return
	}
	e.UnsetKV(keyFile, name)
	m.dropEmpty(d, r)
}

// dropEmpty removes an entry that has nothing left.
func (m *Filemap) dropEmpty(d DatasetID, r Rank) {
	if e := m.entry(d, r); e != nil && e.Len() == 0 {
		m.RemoveRankOf(d, r)
	}
}

func (m *Filemap) unsetKey(d DatasetID, r Rank, key string) {
	if e := m.entry(d, r); e != nil {
		e.Unset(key)
		m.dropEmpty(d, r)
	}
}

// FileCount is the number of files entered.
func (m *Filemap) FileCount(d DatasetID, r Rank) int { return m.entry(d, r).Get(keyFile).Len() }

// HasFile tells whether a file is entered.
func (m *Filemap) HasFile(d DatasetID, r Rank, name string) bool {
	return m.entry(d, r).Get(keyFile).Has(name)
}

// Files lists the files of a rank in a dataset, in byte order.
func (m *Filemap) Files(d DatasetID, r Rank) []string {
	return m.entry(d, r).Get(keyFile).SortedKeys()
}

// EachFile visits the files of a rank in a dataset in any order, each with the
// hash that holds its META. The filemap must not change meanwhile.
func (m *Filemap) EachFile(d DatasetID, r Rank) iter.Seq2[string, *kvtree.Tree] {
	return m.entry(d, r).Get(keyFile).All()
}

// SetExpectedFiles says how many files the rank wrote, redundancy included.
func (m *Filemap) SetExpectedFiles(d DatasetID, r Rank, n int) {
	m.Entry(d, r).PutInt(keyFiles, int64(n))
}

// ExpectedFiles is that number. It is ErrNotFound if it was not set.
func (m *Filemap) ExpectedFiles(d DatasetID, r Rank) (int, error) {
	e := m.entry(d, r)
	if !e.Has(keyFiles) {
		return 0, fmt.Errorf("filemap: expected files of rank %d in dataset %d: %w", r, d, ErrNotFound)
	}
	f := fields{tree: e, record: fmt.Sprintf("filemap: rank %d of dataset %d", r, d)}
	n := f.number(keyFiles, 0, math.MaxInt32)
	return int(n), f.err
}

// UnsetExpectedFiles forgets the number.
func (m *Filemap) UnsetExpectedFiles(d DatasetID, r Rank) { m.unsetKey(d, r, keyFiles) }

// SetDataset records the descriptor of the dataset for a rank.
func (m *Filemap) SetDataset(d DatasetID, r Rank, desc Dataset) {
	m.Entry(d, r).Set(keyDsetDesc, desc.Tree(m.family))
}

// Dataset returns the descriptor. ErrNotFound if the rank has none; ErrInvalid
// also if it describes another dataset.
func (m *Filemap) Dataset(d DatasetID, r Rank) (Dataset, error) {
	t := m.entry(d, r).Get(keyDsetDesc)
	if t == nil {
		t = m.entry(d, r).Get("DATADESC") // the spelling of SCR's notes
	}
	if t.Len() == 0 { // F11 leaves an empty one beside a scavenged partner copy
		return Dataset{}, fmt.Errorf("filemap: descriptor of dataset %d at rank %d: %w", d, r, ErrNotFound)
	}
	desc, err := DatasetFromTree(t)
	if err == nil && desc.ID != d {
		err = fmt.Errorf("dataset descriptor: key ID: value %d, not %d: %w", desc.ID, d, ErrInvalid)
	}
	if err != nil {
		return Dataset{}, fmt.Errorf("filemap: dataset %d at rank %d: %w", d, r, err)
	}
	return desc, nil
}

// UnsetDataset forgets the descriptor.
func (m *Filemap) UnsetDataset(d DatasetID, r Rank) { m.unsetKey(d, r, keyDsetDesc) }

// SetMeta records the meta data of a file, which is entered if it was not.
func (m *Filemap) SetMeta(d DatasetID, r Rank, name string, meta FileMeta) {
	m.Entry(d, r).Sub(keyFile, name).Set(keyMeta, meta.Tree(m.family))
}

// Meta returns the meta data of a file; ErrNotFound if the file has none.
func (m *Filemap) Meta(d DatasetID, r Rank, name string) (FileMeta, error) {
	t := m.entry(d, r).Get(keyFile, name, keyMeta)
	if t.Len() == 0 {
		return FileMeta{}, fmt.Errorf("filemap: meta data of %s, rank %d, dataset %d: %w", quote(name), r, d, ErrNotFound)
	}
	meta, err := FileMetaFromTree(t)
	if err != nil {
		return FileMeta{}, fmt.Errorf("filemap: %s, rank %d, dataset %d: %w", quote(name), r, d, err)
	}
	return meta, nil
}

// UnsetMeta forgets the meta data of a file; the file stays.
func (m *Filemap) UnsetMeta(d DatasetID, r Rank, name string) {
	if t := m.entry(d, r).Get(keyFile, name); t != nil {
		t.Unset(keyMeta)
	}
}

// SetDescriptor records the redundancy descriptor.
func (m *Filemap) SetDescriptor(d DatasetID, r Rank, desc RedundancyDescriptor) {
	m.Entry(d, r).Set(keyReddesc, desc.Tree(m.family))
}

// Descriptor returns the redundancy descriptor; ErrNotFound if there is none.
func (m *Filemap) Descriptor(d DatasetID, r Rank) (RedundancyDescriptor, error) {
	t := m.entry(d, r).Get(keyReddesc)
	if t == nil {
		return RedundancyDescriptor{}, fmt.Errorf("filemap: redundancy descriptor of rank %d, dataset %d: %w", r, d, ErrNotFound)
	}
	desc, err := RedundancyDescriptorFromTree(t)
	if err != nil {
		return RedundancyDescriptor{}, fmt.Errorf("filemap: rank %d, dataset %d: %w", r, d, err)
	}
	return desc, nil
}

// UnsetDescriptor forgets the redundancy descriptor.
func (m *Filemap) UnsetDescriptor(d DatasetID, r Rank) { m.unsetKey(d, r, keyReddesc) }

// SetFlush records how the files are flushed. F11 has only the partner of it.
func (m *Filemap) SetFlush(d DatasetID, r Rank, desc FlushDescriptor) {
	e := m.Entry(d, r)
	if m.family != F11 {
		e.Set(keyFlush, desc.Tree(m.family))
		return
	}
	putText(e, keyPartner, desc.Partner)
	m.dropEmpty(d, r)
}

// Flush returns how the files are flushed, the zero value if nothing is said.
// F11's partner field is read as well.
func (m *Filemap) Flush(d DatasetID, r Rank) (FlushDescriptor, error) {
	e := m.entry(d, r)
	desc, err := FlushDescriptorFromTree(e.Get(keyFlush))
	if err == nil && desc.Partner == "" {
		f := fields{tree: e, record: "files"}
		desc.Partner, err = f.optText(keyPartner), f.err
	}
	if err != nil {
		return FlushDescriptor{}, fmt.Errorf("filemap: rank %d, dataset %d: %w", r, d, err)
	}
	return desc, nil
}

// UnsetFlush forgets how the files are flushed, and the partner.
func (m *Filemap) UnsetFlush(d DatasetID, r Rank) {
	m.unsetKey(d, r, keyFlush)
	m.unsetKey(d, r, keyPartner)
}

// SetDirTree records directories and links; nothing if there are none.
func (m *Filemap) SetDirTree(d DatasetID, r Rank, t DirTree) {
	m.unsetKey(d, r, keyExtraTree)
	if !t.Empty() {
		m.Entry(d, r).Set(keyExtraTree, t.Tree(m.family))
	}
}

// DirTree returns the directories and links, the zero value if there are none.
func (m *Filemap) DirTree(d DatasetID, r Rank) (DirTree, error) {
	t, err := DirTreeFromTree(m.entry(d, r).Get(keyExtraTree))
	if err != nil {
		return DirTree{}, fmt.Errorf("filemap: rank %d, dataset %d: %w", r, d, err)
	}
	return t, nil
}
