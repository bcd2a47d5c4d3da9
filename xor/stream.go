package xor

import (
	"context"
	"iter"
	"sync"
)

// span is a piece of the chunk at one position.
type span struct {
	position int
	offset   int64
	bytes    int
}

// task is a span on its way: a worker fills data, then says so on done.
type task struct {
	span
	number int
	data   []byte
	done   chan error // takes one value without a reader
}

// stream computes the XOR of the sources at each span, several at a time, and
// hands the results to emit one by one in the order of the spans. emit runs in
// the caller's goroutine and must not keep the slice. It stops at the first
// error, or when ctx is done; no goroutine is left behind, so it waits for reads
// that are under way.
func stream(ctx context.Context, sources []source, spans iter.Seq[span], o Options, emit func(span, []byte) error) error {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()

	depth := 2 * o.Workers // as many being filled as waiting for their turn
	free := make(chan []byte, depth)
	for range depth {
		free <- nil // a buffer is made when first used
	}
	todo := make(chan *task)
	ordered := make(chan *task, depth)

	running.Go(func() {
		defer close(ordered)
		defer close(todo)
		feed(ctx, spans, o.PieceBytes, free, todo, ordered)
	})
	for range o.Workers {
		running.Go(func() {
			scratch := make([]byte, o.PieceBytes)
			for t := range todo {
				t.done <- combine(t.data, scratch, sources, t.number, t.span)
			}
		})
	}
	for t := range ordered {
		if err := <-t.done; err != nil {
			return err
		}
		if err := emit(t.span, t.data); err != nil {
			return err
		}
		free <- t.data[:cap(t.data)]
	}
	return ctx.Err()
}

// feed makes a task of each span as buffers come free. What it puts in ordered
// is always given to a worker, so that who waits for it does not wait for ever.
func feed(ctx context.Context, spans iter.Seq[span], pieceBytes int, free <-chan []byte, todo, ordered chan<- *task) {
	number := 0
	for s := range spans {
		if ctx.Err() != nil {
			return
		}
		var buf []byte
		select {
		case buf = <-free:
		case <-ctx.Done():
			return
		}
		if buf == nil {
			buf = make([]byte, pieceBytes)
		}
		t := &task{span: s, number: number, data: buf[:s.bytes], done: make(chan error, 1)}
		number++
		todo <- t
		ordered <- t
	}
}
