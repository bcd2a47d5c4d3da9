package xor

import (
	"fmt"
	"io"

	"github.com/scrfs/scrfs/scr"
)

// MemberData is what is at hand of one member of a set.
type MemberData struct {
	Header Header

	// Files are the files of Header.Current, in its order. An empty file may
	// be nil. They are read from several goroutines; a member with very many
	// files may have readers that open their file when first asked.
	Files []io.ReaderAt

	// Payload reads the redundancy file from behind its header. Encode does
	// not use it.
	Payload io.ReaderAt
}

// source is a member as the arithmetic sees it: bytes at positions.
type source struct {
	rank    scr.Rank
	member  int
	layout  Layout
	logical *Logical
	payload io.ReaderAt // nil: the pad counts as zeros
}

func newSource(m MemberData, withPayload bool) (source, error) {
	logical, err := NewLogical(m.Header.Current.Files, m.Files)
	if err != nil {
		return source{}, fmt.Errorf("rank %d: %w", m.Header.Current.Rank, err)
	}
	s := source{rank: m.Header.Current.Rank, member: m.Header.Index(), layout: m.Header.Layout(), logical: logical}
	if withPayload {
		if m.Payload == nil {
			return source{}, fmt.Errorf("rank %d: no reader for its redundancy file: %w", s.rank, scr.ErrInvalid)
		}
		s.payload = m.Payload
		if err := s.probe(); err != nil {
			return source{}, err
		}
	}
	return s, nil
}

// probe reads the last byte of the payload. A chunk size that is far beyond what
// is stored is so found before a single byte is written.
func (s source) probe() error {
	var last [1]byte
	if _, err := readFull(s.payload, last[:], s.layout.ChunkBytes-1); err != nil {
		return fmt.Errorf("rank %d: redundancy file, payload: %w", s.rank, err)
	}
	return nil
}

// read returns how many bytes of buf it filled; the rest are zeros that it did
// not write.
func (s source) read(buf []byte, at span) (int, error) {
	offset, ok := s.layout.OffsetAt(s.member, at.position)
	var n int
	var err error
	switch {
	case ok:
		n, err = s.logical.readFiles(buf, offset+at.offset)
	case s.payload != nil:
		n, err = readFull(s.payload, buf, at.offset)
		if err != nil {
			err = fmt.Errorf("redundancy file, payload: %w", err)
		}
	}
	if err != nil {
		return n, fmt.Errorf("rank %d: %w", s.rank, err)
	}
	return n, nil
}

// combine makes dst the XOR of what all sources have at a span; scratch is at
// least as long. It begins with the source number first, so that workers on
// neighbouring spans do not all ask the same member, and its disk, at once.
func combine(dst, scratch []byte, sources []source, first int, at span) error {
	have := 0 // dst[:have] is valid, beyond are zeros not yet written
	for k := range sources {
		s := sources[(first+k)%len(sources)]
		if have == 0 {
			n, err := s.read(dst, at)
			if err != nil {
				return err
			}
			have = n
			continue
		}
		n, err := s.read(scratch[:len(dst)], at)
		if err != nil {
			return err
		}
		if n > have {
			copy(dst[have:n], scratch[have:n])
			n, have = have, n
		}
		Merge(dst[:n], scratch[:n])
	}
	clear(dst[have:])
	return nil
}
