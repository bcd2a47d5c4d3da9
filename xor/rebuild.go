package xor

import (
	"context"
	"fmt"
	"io"
	"iter"

	"github.com/scrfs/scrfs/scr"
)

// Sink is where a rebuilt member goes. Each function is called once per file,
// and what it returns is written from its start to its end and closed. Files
// are asked for in the order of the header, one open at a time; the redundancy
// file is asked for first and stays open. Names in the meta data are as hostile
// as the header they came from.
//
// After an error, what was written is incomplete; all writers are closed then.
type Sink interface {
	File(index int, meta scr.FileMeta) (io.WriteCloser, error)
	Redundancy(h Header) (io.WriteCloser, error)
}

// Rebuilt says what was written.
type Rebuilt struct {
	// Header is that of the redundancy file.
	Header Header

	// Files are those of Header.Current with the CRC of what was written.
	Files []scr.FileMeta

	// Redundancy is the meta data of the redundancy file.
	Redundancy scr.FileMeta
}

// Rebuild brings back the one member of a set that is not among the survivors,
// which may be in any order. The survivors' headers are compared first, see
// Agree; nothing is asked of the sink if they disagree, or if more than one
// member is missing, which wraps scr.ErrUnrecoverable and names the ranks.
//
// Each needed byte of the survivors is read once (the last one of a payload
// twice), and each file in order but for a few pieces. Where the meta data of a rebuilt file has a CRC, the file
// must have it, and the padding of the lost logical file must come out as
// zeros; otherwise some survivor is damaged and the error wraps scr.ErrCorrupt.
// Reading and writing errors name rank and file.
func Rebuild(ctx context.Context, survivors []MemberData, sink Sink, o Options) (Rebuilt, error) {
	if err := o.Validate(); err != nil {
		return Rebuilt{}, fmt.Errorf("rebuild: %w", err)
	}
	o = o.withDefaults()
	lost, sources, err := prepare(survivors)
	if err != nil {
		return Rebuilt{}, fmt.Errorf("rebuild: %w", err)
	}
	r, err := rebuild(ctx, lost, sources, sink, o)
	if err != nil {
		return Rebuilt{}, fmt.Errorf("rebuild rank %d: %w", lost.Current.Rank, err)
	}
	return r, nil
}

// prepare checks that exactly one member is missing and returns its header.
func prepare(survivors []MemberData) (lost Header, sources []source, err error) {
	headers := make([]Header, len(survivors))
	for k, m := range survivors {
		headers[k] = m.Header
	}
	missing, err := Agree(headers)
	if err != nil {
		return lost, nil, err
	}
	index, err := onlyLost(headers[0].Group, missing)
	if err != nil {
		return lost, nil, fmt.Errorf("xor set %d: %w", headers[0].Set(), err)
	}
	layout := headers[0].Layout()
	var left, right Header
	for _, m := range survivors {
		s, err := newSource(m, true)
		if err != nil {
			return lost, nil, err
		}
		sources = append(sources, s)
		if s.member == layout.Left(index) {
			left = m.Header
		}
		if s.member == layout.Right(index) {
			right = m.Header
		}
	}
	lost = LostHeader(left, right)
	if err := lost.Validate(); err != nil {
		return lost, nil, fmt.Errorf("xor header of lost rank %d: %w", lost.Current.Rank, err)
	}
	return lost, sources, nil
}

func rebuild(ctx context.Context, lost Header, sources []source, sink Sink, o Options) (r Rebuilt, err error) {
	redundancy, err := newRedundancyWriter(sink, lost, o.Family)
	if err != nil {
		return r, err
	}
	files := newFilesWriter(sink, lost.Current.Files)
	defer func() {
		if err != nil {
			redundancy.abandon()
			files.abandon()
		}
	}()
	emit := func(at span, data []byte) error {
		if at.position == lost.Index() {
			return redundancy.write(data)
		}
		return files.write(data)
	}
	if err := stream(ctx, sources, rebuildSpans(lost, o), o, emit); err != nil {
		return r, err
	}
	if r.Files, err = files.finish(); err != nil {
		return r, err
	}
	if r.Redundancy, err = redundancy.finish(); err != nil {
		return r, err
	}
	r.Header = lost
	return r, nil
}

// rebuildSpans goes through the positions in order: that is the lost logical
// file in order, with the payload at the lost member's own position. Pieces
// that lie wholly in the padding are left out unless asked for.
func rebuildSpans(lost Header, o Options) iter.Seq[span] {
	layout, index, end := lost.Layout(), lost.Index(), lost.Current.LogicalBytes()
	return func(yield func(span) bool) {
		for position := range layout.Members {
			offset, isBlock := layout.OffsetAt(index, position)
			for p := range layout.Pieces(o.PieceBytes) {
				if isBlock && offset+p.Offset >= end && !o.CheckPadding {
					break
				}
				if !yield(span{position, p.Offset, p.Bytes}) {
					return
				}
			}
		}
	}
}
