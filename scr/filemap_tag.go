package scr

import (
	"errors"
	"fmt"

	"github.com/scrfs/scrfs/kvtree"
)

// SetTag records a string under a name of the caller's choice. A name that the
// filemap itself uses is ErrInvalid. PARTNER is a tag in F11.
func (m *Filemap) SetTag(d DatasetID, r Rank, tag, value string) error {
	switch tag {
	case keyFile, keyFiles, keyReddesc, keyDsetDesc, "DATADESC", keyFlush, keyExtraTree, "":
		return fmt.Errorf("filemap: tag %s of rank %d, dataset %d: %w", quote(tag), r, d, ErrInvalid)
	}
	m.Entry(d, r).PutString(tag, value)
	return nil
}

// Tag returns the string of a tag.
func (m *Filemap) Tag(d DatasetID, r Rank, tag string) (value string, ok bool) {
	return m.entry(d, r).Value(tag)
}

// UnsetTag forgets a tag.
func (m *Filemap) UnsetTag(d DatasetID, r Rank, tag string) { m.unsetKey(d, r, tag) }

// CheckRank tells whether all files of a rank are there: as many as expected,
// each with meta data, complete and of the recorded size. SizeOf returns the
// bytes that a file has on disk. The first file that is not so is named in the
// error, which wraps ErrIncomplete, or ErrInvalid for a record without sense.
func (m *Filemap) CheckRank(d DatasetID, r Rank, sizeOf func(name string) (int64, error)) error {
	want, err := m.ExpectedFiles(d, r)
	if errors.Is(err, ErrNotFound) {
		return fmt.Errorf("dataset %d: rank %d: number of files is not known: %w", d, r, ErrIncomplete)
	}
	if err != nil {
		return err
	}
	if have := m.FileCount(d, r); have != want {
		return fmt.Errorf("dataset %d: rank %d: %d files, expected %d: %w", d, r, have, want, ErrIncomplete)
	}
	for _, name := range m.Files(d, r) {
		if err := m.checkFile(d, r, name, sizeOf); err != nil {
			return fmt.Errorf("dataset %d: rank %d: file %s: %w", d, r, quote(name), err)
		}
	}
	return nil
}

func (m *Filemap) checkFile(d DatasetID, r Rank, name string, sizeOf func(string) (int64, error)) error {
	meta, err := m.Meta(d, r, name)
	if errors.Is(err, ErrNotFound) {
		return fmt.Errorf("no meta data: %w", ErrIncomplete)
	}
	if err != nil {
		return err
	}
	if !meta.Complete {
		return fmt.Errorf("marked incomplete: %w", ErrIncomplete)
	}
	size, err := sizeOf(name)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrIncomplete, err)
	}
	if size != meta.SizeBytes {
		return fmt.Errorf("%d bytes, expected %d: %w", size, meta.SizeBytes, ErrIncomplete)
	}
	return nil
}

// ForPrefix returns the filemap that a scavenge leaves beside the copied files of
// one rank: renamed files, no redundancy descriptor, no partner, no tags.
// Directories and links are kept.
func (m *Filemap) ForPrefix(d DatasetID, r Rank, rename func(name string) string) *Filemap {
	out := NewFilemap().InFamily(m.family)
	from := m.entry(d, r)
	if from == nil {
		return out
	}
	to := out.Entry(d, r)
	for _, key := range []string{keyFiles, keyDsetDesc, keyFlush, keyExtraTree} {
		if from.Has(key) {
			to.Set(key, from.Get(key).Clone())
		}
	}
	if to.Has(keyFlush) {
		to.Get(keyFlush).Unset(keyPartner)
	}
	if from.Has(keyFile) {
		files := kvtree.New()
		for name, record := range from.Get(keyFile).All() {
			files.Set(rename(name), record.Clone())
		}
		to.Set(keyFile, files)
	}
	return out
}
