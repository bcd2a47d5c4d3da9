package ring

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"sync"

	"github.com/scrfs/scrfs/xor"
)

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
	if errors.Is(err, io.EOF) {
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
