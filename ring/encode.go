package ring

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"sync"

	"github.com/scrfs/scrfs/scr"
	"github.com/scrfs/scrfs/xor"
)

// Links gives a member its place in the ring. Each is asked once per run, both
// at the same time, and may wait for the neighbour until ctx ends.
//
// EncodeXOR closes both, the left one first. Close must end a Read or Write that
// is under way. A Close on the right after all was sent may wait until the
// neighbour has taken it, but for nothing beyond that, or the ring would wait
// for itself.
type Links interface {
	// Right connects to the right neighbour, which gets this from its Left.
	Right(ctx context.Context) (io.WriteCloser, error)
	// Left gives what the left neighbour sends.
	Left(ctx context.Context) (io.ReadCloser, error)
}

// Member is one member's part in the encoding of its set.
type Member struct {
	// Layout is the same for all members; its ChunkBytes were agreed on.
	Layout xor.Layout
	// Index is the member's place in the set, from 0.
	Index int
	// Logical is the member's own logical file. Within Layout.LogicalBytes it
	// must fill each read, with zeros after the end of the files, as
	// *xor.Logical does. It is read from one goroutine.
	Logical io.ReaderAt
	// FileBytes are the sizes in bytes of the files that make the logical file,
	// in its order. It may be nil; then Info has no CRCs of files.
	FileBytes []int64
	// PieceBytes is the piece of each chunk that goes round at a time. All
	// members must use the same. 0 is xor.DefaultPieceBytes; at most 64 MiB.
	PieceBytes int
}

// Info is what was learned on the way.
type Info struct {
	// PayloadCRC is the CRC32 of the payload alone, without its header.
	PayloadCRC scr.CRC
	// FileCRC are the CRC32s of the member's own files, as they were read.
	FileCRC []scr.CRC
}

// maxPieceBytes bounds what a piece may be; the members keep two in memory.
const maxPieceBytes = 64 << 20

// Validate reports the first thing that cannot be encoded.
func (m Member) Validate() error {
	if err := m.Layout.Validate(); err != nil {
		return err
	}
	switch {
	case m.Index < 0 || m.Index >= m.Layout.Members:
		return fmt.Errorf("member %d of a set of %d: %w", m.Index, m.Layout.Members, scr.ErrInvalid)
	case m.Logical == nil:
		return fmt.Errorf("no logical file: %w", scr.ErrInvalid)
	case m.PieceBytes < 0 || m.PieceBytes > maxPieceBytes:
		return fmt.Errorf("pieces of %d bytes: %w", m.PieceBytes, scr.ErrInvalid)
	}
	room := m.Layout.LogicalBytes()
	for i, n := range m.FileBytes {
		if n < 0 || n > room {
			return fmt.Errorf("file %d of %d bytes does not fit into the layout: %w", i, n, scr.ErrInvalid)
		}
		room -= n
	}
	return nil
}

// EncodeXOR computes the member's payload together with the other members, each
// of which calls it too, and writes it to out, in order: Layout.ChunkBytes
// bytes. It ends with the first error: of the own files, of out, of a neighbour,
// or of ctx. It waits for reads and writes of files that are under way. The
// caller makes out durable.
func EncodeXOR(ctx context.Context, m Member, links Links, out io.Writer) (Info, error) {
	info, err := encode(ctx, m, links, out)
	if err != nil {
		return Info{}, fmt.Errorf("xor encode, member %d of %d: %w", m.Index, m.Layout.Members, err)
	}
	return info, nil
}

func encode(ctx context.Context, m Member, links Links, out io.Writer) (Info, error) {
	if err := m.Validate(); err != nil {
		return Info{}, err
	}
	if m.PieceBytes == 0 {
		m.PieceBytes = xor.DefaultPieceBytes
	}
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	left, right, err := connect(ctx, fail, m, links)
	if err != nil {
		return Info{}, err
	}
	r := newRun(m, left, right, out, fail)
	// Closing is what ends a read or write that waits for a neighbour.
	watch := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(watch)
		left.Close()
		right.Close()
	})
	err = r.all(ctx)
	if stop() {
		err = errors.Join(err, left.Close(), right.Close())
	} else {
		<-watch
	}
	if cause := context.Cause(ctx); cause != nil {
		return Info{}, cause // the first error; what came after came of it
	}
	if err != nil {
		return Info{}, err
	}
	return Info{PayloadCRC: scr.CRC(r.payloadCRC), FileCRC: r.sums.files()}, nil
}

// run is one EncodeXOR under way. Three goroutines hand buffers on: the reader
// fills them with own bytes, the merger adds what comes from the left, the
// sender passes them to the right; a fourth receives ahead of the merger.
type run struct {
	m     Member
	steps []xor.Step
	left  io.Reader
	right io.Writer
	out   io.Writer
	fail  context.CancelCauseFunc

	own      pipeline // reader → merger → sender → reader
	sending  chan []byte
	received pipeline // receiver → merger → receiver

	sums       *fileSums
	payloadCRC uint32
}

// pipeline is a fixed number of buffers, going round.
type pipeline struct{ free, full chan []byte }

func newPipeline(buffers, bytes int) pipeline {
	p := pipeline{make(chan []byte, buffers), make(chan []byte, buffers)}
	for range buffers {
		p.free <- make([]byte, bytes)
	}
	return p
}

// sliceBytes is what is handed on at once: a part of a piece, so that merging
// one overlaps with receiving the next and sending the one before.
const sliceBytes = 64 << 10

func newRun(m Member, left io.Reader, right io.Writer, out io.Writer, fail context.CancelCauseFunc) *run {
	piece := int(min(int64(m.PieceBytes), m.Layout.ChunkBytes))
	slice := min(sliceBytes, piece)
	perPiece := (piece + slice - 1) / slice
	// A member sends the slices of one piece before it must receive the first.
	// With more buffers than that no ring can stand still, whatever the links
	// hold: if all senders were stuck, more would be under way than was begun.
	buffers := 2*perPiece + 2
	return &run{
		m: m, steps: m.Layout.EncodeSteps(m.Index),
		left: left, right: right, out: out, fail: fail,
		own: newPipeline(buffers, slice), sending: make(chan []byte, buffers),
		received: newPipeline(perPiece+1, slice),
		sums:     newFileSums(m.Layout, m.FileBytes),
	}
}

// all runs the stages until they are through or one of them failed.
func (r *run) all(ctx context.Context) error {
	var wg sync.WaitGroup
	stage := func(f func(context.Context) error) {
		wg.Go(func() {
			if err := f(ctx); err != nil {
				r.fail(err)
			}
		})
	}
	stage(r.readOwn)
	stage(r.receive)
	stage(r.send)
	stage(r.merge)
	wg.Wait()
	return context.Cause(ctx)
}

// slices calls f for each slice of each step, in the order in which they go
// round the ring; at is the offset in the chunk.
func (r *run) slices(f func(s xor.Step, at int64, bytes int) error) error {
	for p := range r.m.Layout.Pieces(r.m.PieceBytes) {
		for _, s := range r.steps {
			for done := 0; done < p.Bytes; done += sliceBytes {
				if err := f(s, p.Offset+int64(done), min(sliceBytes, p.Bytes-done)); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (r *run) readOwn(ctx context.Context) error {
	return r.slices(func(s xor.Step, at int64, bytes int) error {
		if s.Source != xor.FromFiles {
			return nil
		}
		b, err := take(ctx, r.own.free)
		if err != nil {
			return err
		}
		b = b[:bytes]
		offset := int64(s.Block)*r.m.Layout.ChunkBytes + at
		if n, err := r.m.Logical.ReadAt(b, offset); n < len(b) {
			if err == nil || err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			return fmt.Errorf("read own files at byte %d of %d: %w", offset+int64(n), r.m.Layout.LogicalBytes(), err)
		}
		r.sums.add(offset, b)
		r.own.full <- b // has room for all buffers
		return nil
	})
}

func (r *run) receive(ctx context.Context) error {
	if err := r.greetLeft(); err != nil {
		return err
	}
	return r.slices(func(s xor.Step, at int64, bytes int) error {
		if !s.Receive {
			return nil
		}
		b, err := take(ctx, r.received.free)
		if err != nil {
			return err
		}
		b = b[:bytes]
		if _, err := io.ReadFull(r.left, b); err != nil {
			return r.fromLeft(err)
		}
		r.received.full <- b
		return nil
	})
}

func (r *run) fromLeft(err error) error {
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("receive from left neighbour, member %d: %w", r.m.Layout.Left(r.m.Index), err)
}

func (r *run) merge(ctx context.Context) error {
	defer close(r.sending)
	return r.slices(func(s xor.Step, at int64, bytes int) error {
		var mine, partial []byte
		var err error
		if s.Source == xor.FromFiles {
			if mine, err = take(ctx, r.own.full); err != nil {
				return err
			}
		}
		if s.Receive {
			if partial, err = take(ctx, r.received.full); err != nil {
				return err
			}
		}
		if s.Send {
			if s.Receive {
				xor.Merge(mine, partial)
			}
			r.sending <- mine // has room for all buffers
		}
		if s.Store {
			if err := r.store(partial); err != nil {
				return fmt.Errorf("write payload at byte %d of %d: %w", at, r.m.Layout.ChunkBytes, err)
			}
		}
		if s.Receive {
			r.received.free <- partial[:cap(partial)]
		}
		return nil
	})
}

func (r *run) store(b []byte) error {
	n, err := r.out.Write(b)
	if err == nil && n < len(b) {
		err = io.ErrShortWrite
	}
	r.payloadCRC = crc32.Update(r.payloadCRC, crc32.IEEETable, b)
	return err
}

func (r *run) send(context.Context) error {
	err := r.greetRight()
	for b := range r.sending {
		if err != nil {
			break
		}
		if _, err = r.right.Write(b); err == nil {
			r.own.free <- b[:cap(b)]
		}
	}
	if err != nil {
		return fmt.Errorf("send to right neighbour, member %d: %w", r.m.Layout.Right(r.m.Index), err)
	}
	return nil
}

// take gets a buffer, or the reason why there will be none.
func take(ctx context.Context, from <-chan []byte) ([]byte, error) {
	select {
	case b := <-from:
		return b, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}
