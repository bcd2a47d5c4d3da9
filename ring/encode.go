package ring

import (
	"context"
	"errors"
	"fmt"
	"io"

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
		_ = left.Close()
		_ = right.Close()
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
