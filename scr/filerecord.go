package scr

import (
	"math"

	"github.com/scrfs/scrfs/kvtree"
)

// FileRecord is one file of a dataset in the prefix directory.
type FileRecord struct {
	// Name is relative to the dataset directory (F11, F14) or to the prefix
	// directory (F12), and hostile until Paths.Resolve.
	Name string
	// SizeBytes counts unless NoSize. Release 1.2.2 leaves it out of files that
	// it should have put into containers.
	SizeBytes int64
	NoSize    bool
	// CRC counts only if HasCRC.
	CRC    CRC
	HasCRC bool
	// NoFetch: a redundancy file, not to be fetched.
	NoFetch bool
	// Failed: COMPLETE is there and 0, the file was not written whole.
	Failed bool
	// Segments lie in containers and hold the bytes of the file one after the
	// other. A file that is not in a container, or is empty, has none.
	Segments []Segment
	// Attr holds the keys that scrfs adds; nil if there are none.
	Attr *FileAttr
}

// Segment is a part of a file in a container. F14 names the container by File,
// relative as the name of the file; F11 by Container, its number from 0, with an
// empty File.
type Segment struct {
	File        string
	Container   int
	OffsetBytes int64
	LengthBytes int64
}

// Tree returns the hash below the file's name, the same in every family.
func (r FileRecord) Tree(Family) *kvtree.Tree {
	t := kvtree.New()
	if !r.NoSize {
		t.PutInt(keySize, r.SizeBytes)
	}
	if r.HasCRC {
		t.PutString(keyCRC, r.CRC.String())
	}
	if r.NoFetch {
		t.PutFlag(keyNoFetch)
	}
	if r.Failed {
		t.PutInt(keyComplete, 0)
	}
	if len(r.Segments) > 0 {
		segments := kvtree.New()
		for i, s := range r.Segments {
			segments.Set(itoa(int64(i)), s.tree())
		}
		t.Set(keySegment, segments)
	}
	if r.Attr != nil {
		r.Attr.put(t)
	}
	return t
}

// FileRecordFromTree reads the hash below a file's name. Segments must be
// numbered from 0 without a gap and add up to SIZE. Errors wrap ErrInvalid.
func FileRecordFromTree(name string, t *kvtree.Tree) (FileRecord, error) {
	f := fields{tree: t, record: "file " + quote(name)}
	r := FileRecord{Name: name, NoFetch: t.Has(keyNoFetch)}
	r.Failed = t.Has(keyComplete) && !f.optBool(keyComplete)
	r.NoSize = r.Failed && !t.Has(keySize)
	if !r.NoSize {
		r.SizeBytes = f.bytes(keySize)
	}
	r.CRC, r.HasCRC = f.optCRC(keyCRC)
	r.Attr = attrFromTree(&f)
	if t.Has(keySegment) {
		r.Segments = segmentsFromTree(&f, t.Get(keySegment), r.SizeBytes)
	}
	if name == "" {
		f.fail("name is empty: %w", ErrInvalid)
	}
	if f.err != nil {
		return FileRecord{}, f.err
	}
	return r, nil
}

// tree names the container as the segment does, whatever the family: a number
// cannot be turned into a name here, nor a name into a number.
func (s Segment) tree() *kvtree.Tree {
	t := kvtree.New()
	t.PutInt(keyLength, s.LengthBytes)
	if s.File == "" {
		ctr := t.Sub(keyContainer)
		ctr.PutInt("ID", int64(s.Container))
		ctr.PutInt(keyOffset, s.OffsetBytes)
		return t
	}
	t.PutString(keyFile, s.File)
	t.PutInt(keyOffset, s.OffsetBytes)
	return t
}

func segmentsFromTree(f *fields, t *kvtree.Tree, sizeBytes int64) []Segment {
	segments := make([]Segment, t.Len())
	left := sizeBytes
	for i := range segments {
		record := t.Get(itoa(int64(i)))
		if record == nil {
			f.fail("key SEG: %d entries, but none is %d: %w", len(segments), i, ErrInvalid)
			return nil
		}
		s := fields{tree: record, record: f.record + ": segment " + itoa(int64(i))}
		segments[i] = segmentFromFields(&s)
		left -= segments[i].LengthBytes
		if left < 0 {
			s.fail("key LENGTH: value %d is beyond SIZE %d: %w", segments[i].LengthBytes, sizeBytes, ErrInvalid)
		}
		if s.err != nil {
			f.err = s.err
			return nil
		}
	}
	if left != 0 {
		f.fail("key SEG: segments lack %d bytes of SIZE %d: %w", left, sizeBytes, ErrInvalid)
	}
	return segments
}

func segmentFromFields(f *fields) Segment {
	s := Segment{LengthBytes: f.bytes(keyLength)}
	if ctr := f.tree.Get(keyContainer); ctr != nil {
		c := fields{tree: ctr, record: f.record + ": CTR"}
		s.Container = int(c.number("ID", 0, math.MaxInt32))
		s.OffsetBytes = c.number(keyOffset, 0, math.MaxInt64-s.LengthBytes)
		if f.err == nil {
			f.err = c.err
		}
		return s
	}
	s.File = f.text(keyFile)
	s.OffsetBytes = f.number(keyOffset, 0, math.MaxInt64-s.LengthBytes)
	return s
}
