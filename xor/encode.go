package xor

import (
	"context"
	"fmt"
	"io"
	"iter"

	"github.com/scrfs/scrfs/scr"
)

// Encode writes the redundancy files of a whole set whose files are all at
// hand, header and payload. members are in the order of the set, with headers
// as Headers makes them. create is asked for the file of each member in turn;
// what it returns is written from start to end and closed before the next.
// The meta data of the files are returned in the same order. Each byte of the
// members' files is read once.
func Encode(ctx context.Context, members []MemberData, create func(Header) (io.WriteCloser, error), o Options) ([]scr.FileMeta, error) {
	headers, sources, err := whole(members, false, o)
	if err != nil {
		return nil, fmt.Errorf("encode: %w", err)
	}
	o = o.withDefaults()
	e := encoder{headers: headers, sink: encodeSink(create), family: o.Family}
	err = stream(ctx, sources, allSpans(headers[0].Layout(), o.PieceBytes), o, e.write)
	if err == nil {
		err = e.closeFile()
	}
	if err != nil {
		e.abandon()
		return nil, fmt.Errorf("encode xor set %d: %w", headers[0].Set(), err)
	}
	return e.done, nil
}

// Verify reads a whole set and reports whether every payload is what the files
// of the others give. Where one is not, the error names the rank that stores
// it and the byte, and wraps scr.ErrCorrupt; which member's file is the damaged
// one, a single parity cannot tell.
func Verify(ctx context.Context, members []MemberData, o Options) error {
	headers, sources, err := whole(members, true, o)
	if err != nil {
		return fmt.Errorf("verify: %w", err)
	}
	o = o.withDefaults()
	emit := func(at span, data []byte) error {
		for i, b := range data {
			if b != 0 {
				return fmt.Errorf("payload of rank %d differs at byte %d from the files of the others: %w",
					headers[at.position].Current.Rank, at.offset+int64(i), scr.ErrCorrupt)
			}
		}
		return nil
	}
	if err := stream(ctx, sources, allSpans(headers[0].Layout(), o.PieceBytes), o, emit); err != nil {
		return fmt.Errorf("verify xor set %d: %w", headers[0].Set(), err)
	}
	return nil
}

// whole checks that members are all members of one set, in order.
func whole(members []MemberData, withPayload bool, o Options) ([]Header, []source, error) {
	if err := o.Validate(); err != nil {
		return nil, nil, err
	}
	headers := make([]Header, len(members))
	for i, m := range members {
		headers[i] = m.Header
	}
	missing, err := Agree(headers)
	if err != nil {
		return nil, nil, err
	}
	for _, i := range missing {
		return nil, nil, fmt.Errorf("xor set %d: rank %d is missing: %w", headers[0].Set(), headers[0].Group[i], scr.ErrIncomplete)
	}
	sources := make([]source, len(members))
	for i, m := range members {
		if m.Header.Index() != i {
			return nil, nil, fmt.Errorf("xor set %d: rank %d is out of order: %w", headers[0].Set(), m.Header.Current.Rank, scr.ErrInvalid)
		}
		if sources[i], err = newSource(m, withPayload); err != nil {
			return nil, nil, err
		}
	}
	return headers, sources, nil
}

func allSpans(l Layout, pieceBytes int) iter.Seq[span] {
	return func(yield func(span) bool) {
		for position := range l.Members {
			for p := range l.Pieces(pieceBytes) {
				if !yield(span{position, p.Offset, p.Bytes}) {
					return
				}
			}
		}
	}
}

// encoder writes payload after payload, in the order of positions.
type encoder struct {
	headers []Header
	sink    Sink
	family  scr.Family
	open    *redundancyWriter // of member len(done)
	done    []scr.FileMeta
}

func (e *encoder) write(at span, data []byte) error {
	if e.open != nil && at.position != len(e.done) {
		if err := e.closeFile(); err != nil {
			return err
		}
	}
	if e.open == nil {
		w, err := newRedundancyWriter(e.sink, e.headers[at.position], e.family)
		if err != nil {
			return err
		}
		e.open = w
	}
	return e.open.write(data)
}

func (e *encoder) closeFile() error {
	meta, err := e.open.finish()
	e.open = nil
	if err != nil {
		return err
	}
	e.done = append(e.done, meta)
	return nil
}

func (e *encoder) abandon() {
	if e.open != nil {
		e.open.abandon()
	}
}

// encodeSink is a Sink without files.
type encodeSink func(Header) (io.WriteCloser, error)

func (s encodeSink) Redundancy(h Header) (io.WriteCloser, error) { return s(h) }

func (s encodeSink) File(int, scr.FileMeta) (io.WriteCloser, error) {
	panic("BUG: a file is asked for while encoding")
}
