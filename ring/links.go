package ring

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"sync"

	"github.com/scrfs/scrfs/scr"
)

// connect gets both links at once: a neighbour may give its left link only when
// it is asked for, which is when its own right link is on its way.
func connect(ctx context.Context, fail context.CancelCauseFunc, m Member, links Links) (left io.ReadCloser, right io.WriteCloser, err error) {
	var wg sync.WaitGroup
	wg.Go(func() {
		l, err := links.Left(ctx)
		if err != nil {
			fail(fmt.Errorf("link from left neighbour, member %d: %w", m.Layout.Left(m.Index), err))
			return
		}
		left = &onceReader{ReadCloser: l}
	})
	wg.Go(func() {
		r, err := links.Right(ctx)
		if err != nil {
			fail(fmt.Errorf("link to right neighbour, member %d: %w", m.Layout.Right(m.Index), err))
			return
		}
		right = &onceWriter{WriteCloser: r}
	})
	wg.Wait()
	if left != nil && right != nil {
		return left, right, nil
	}
	if left != nil {
		_ = left.Close()
	}
	if right != nil {
		_ = right.Close()
	}
	return nil, nil, context.Cause(ctx)
}

type onceReader struct {
	io.ReadCloser
	once sync.Once
	err  error
}

func (c *onceReader) Close() error {
	c.once.Do(func() { c.err = c.ReadCloser.Close() })
	return c.err
}

type onceWriter struct {
	io.WriteCloser
	once sync.Once
	err  error
}

func (c *onceWriter) Close() error {
	c.once.Do(func() { c.err = c.WriteCloser.Close() })
	return c.err
}

// A member begins with what it takes the ring to be, so that one that was given
// another layout, or whose links go elsewhere, is found out before any payload:
// magic(8) members(4) sender(4) chunk bytes(8) piece bytes(8), big endian.
const (
	greetMagic = "scrfsXOR"
	greetBytes = 32
)

func (m Member) greeting(sender int) []byte {
	b := []byte(greetMagic)
	b = binary.BigEndian.AppendUint32(b, uint32(m.Layout.Members))
	b = binary.BigEndian.AppendUint32(b, uint32(sender))
	b = binary.BigEndian.AppendUint64(b, uint64(m.Layout.ChunkBytes))
	return binary.BigEndian.AppendUint64(b, uint64(m.PieceBytes))
}

func (r *run) greetRight() error {
	_, err := r.right.Write(r.m.greeting(r.m.Index))
	return err
}

func (r *run) greetLeft() error {
	var got [greetBytes]byte
	if _, err := io.ReadFull(r.left, got[:]); err != nil {
		return r.fromLeft(err)
	}
	left := r.m.Layout.Left(r.m.Index)
	want := r.m.greeting(left)
	if string(got[:]) != string(want) {
		return fmt.Errorf("left neighbour, member %d, works on another ring (%x, here %x): %w",
			left, got[len(greetMagic):], want[len(greetMagic):], scr.ErrInvalid)
	}
	return nil
}
