package ring_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/scrfs/scrfs/ring"
	"github.com/scrfs/scrfs/scr"
)

// runAll encodes a set, one goroutine per member.
func runAll(ctx context.Context, members []ring.Member, links []ring.Links) ([][]byte, []ring.Info, []error) {
	outs, infos, errs := make([][]byte, len(members)), make([]ring.Info, len(members)), make([]error, len(members))
	var wg sync.WaitGroup
	for i := range members {
		wg.Go(func() {
			var b bytes.Buffer
			infos[i], errs[i] = ring.EncodeXOR(ctx, members[i], links[i], &b)
			outs[i] = b.Bytes()
		})
	}
	wg.Wait()
	return outs, infos, errs
}

func overPipes(n int) []ring.Links {
	var links []ring.Links
	for _, l := range pipes(n) {
		links = append(links, l)
	}
	return links
}

func TestRingGivesWhatTheOfflineEncoderGives(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.OneOf(rapid.IntRange(2, 9), rapid.IntRange(10, 32)).Draw(rt, "members")
		sizes := make([][]int, n)
		for i := range sizes {
			sizes[i] = rapid.SliceOfN(rapid.OneOf(rapid.Just(0), rapid.IntRange(0, 300), rapid.IntRange(0, 200_000)), 0, 4).Draw(rt, "sizes")
		}
		piece := rapid.SampledFrom([]int{0, 1 << 20, 65_536, 65_537, 200_000, 4096, 777}).Draw(rt, "piece")
		s := newSet(t, rapid.Uint64().Draw(rt, "seed"), sizes)
		var members []ring.Member
		for i := range n {
			m := s.member(t, i)
			m.PieceBytes = piece
			m.Logical = &counted{ReaderAt: m.Logical, seen: map[int64]int{}}
			members = append(members, m)
		}
		outs, infos, errs := runAll(context.Background(), members, overPipes(n))
		for i := range n {
			if errs[i] != nil {
				rt.Fatalf("member %d: %v", i, errs[i])
			}
			s.check(t, i, outs[i], infos[i])
			c := members[i].Logical.(*counted)
			if c.bytes.Load() != members[i].Layout.LogicalBytes() {
				rt.Fatalf("member %d read %d bytes of %d", i, c.bytes.Load(), members[i].Layout.LogicalBytes())
			}
			for off, times := range c.seen {
				if times != 1 {
					rt.Fatalf("member %d read offset %d %d times", i, off, times)
				}
			}
		}
		if t.Failed() {
			rt.Fatal("see above")
		}
	})
}

func TestSmallSetOfTheFormatDescription(t *testing.T) {
	s := set{files: [][][]byte{{{0xe7, 0x45, 0xff, 0x9c, 0xce}}, {{0xe4}, {0xa2, 0x80}}, {{}}}}
	want := []string{"\xe4\xa2\x80", "\xe7\x45\xff", "\x9c\xce\x00"}
	s.headers = newSet(t, 1, [][]int{{5}, {1, 2}, {0}}).headers
	var members []ring.Member
	for i := range 3 {
		members = append(members, s.member(t, i))
	}
	outs, _, errs := runAll(context.Background(), members, overPipes(3))
	for i := range 3 {
		if errs[i] != nil || string(outs[i]) != want[i] {
			t.Errorf("member %d: got %x, want %x, %v", i, outs[i], want[i], errs[i])
		}
	}
}

// faulty is a set of four over pipes in which one thing goes wrong.
func faulty(t *testing.T, spoil func(cancel context.CancelCauseFunc, members []ring.Member, links []ring.Links, outs []io.Writer)) []error {
	t.Helper()
	s := newSet(t, 7, [][]int{{900_000}, {1_000_000}, {10}, {}})
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	var members []ring.Member
	links, outs := overPipes(4), make([]io.Writer, 4)
	for i := range 4 {
		m := s.member(t, i)
		m.PieceBytes = 32 << 10 // several pieces
		members = append(members, m)
		outs[i] = io.Discard
	}
	spoil(cancel, members, links, outs)
	errs := make([]error, 4)
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() { _, errs[i] = ring.EncodeXOR(ctx, members[i], links[i], outs[i]) })
	}
	wg.Wait()
	for i, err := range errs {
		if err == nil {
			t.Errorf("member %d noticed nothing", i)
		}
	}
	return errs
}

// after calls f once n bytes were written.
type after struct {
	io.Writer
	n int
	f func()
}

func (a *after) Write(p []byte) (int, error) {
	if a.n -= len(p); a.n <= 0 && a.f != nil {
		a.f()
		a.f = nil
	}
	return a.Writer.Write(p)
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error)         { return 0, f.err }
func (f failing) ReadAt([]byte, int64) (int, error) { return 0, f.err }

var errDisk = errors.New("disk is broken")

func wants(t *testing.T, err error, is error, words string) {
	t.Helper()
	if !errors.Is(err, is) || !strings.Contains(err.Error(), words) {
		t.Errorf("got %v; want %q and %v", err, words, is)
	}
}

// oneOf wants a member whose error names the broken link; which of the two at
// its ends comes before the news has gone round the ring is chance.
func oneOf(t *testing.T, errs []error, is error, words ...string) {
	t.Helper()
	for _, err := range errs {
		for _, w := range words {
			if errors.Is(err, is) && strings.Contains(err.Error(), w) {
				return
			}
		}
	}
	t.Errorf("none of %v says %q", errs, words)
}

func TestFailureEndsTheWholeRing(t *testing.T) {
	t.Run("left dies", func(t *testing.T) {
		errs := faulty(t, func(_ context.CancelCauseFunc, _ []ring.Member, links []ring.Links, outs []io.Writer) {
			outs[2] = &after{io.Discard, 100_000, func() { links[2].(pipeLinks).left.Close(); links[1].(pipeLinks).right.Close() }}
		})
		oneOf(t, errs, io.ErrClosedPipe, "receive from left neighbour, member 1", "send to right neighbour, member 2")
	})
	t.Run("right dies", func(t *testing.T) {
		errs := faulty(t, func(_ context.CancelCauseFunc, _ []ring.Member, links []ring.Links, outs []io.Writer) {
			outs[1] = &after{io.Discard, 100_000, func() { links[2].(pipeLinks).left.Close() }}
		})
		oneOf(t, errs, io.ErrClosedPipe, "receive from left neighbour, member 1", "send to right neighbour, member 2")
	})
	t.Run("own file short", func(t *testing.T) {
		errs := faulty(t, func(_ context.CancelCauseFunc, members []ring.Member, _ []ring.Links, _ []io.Writer) {
			members[3].Logical = bytes.NewReader(make([]byte, 400_000))
		})
		wants(t, errs[3], io.ErrUnexpectedEOF, "read own files at byte")
	})
	t.Run("own file unreadable", func(t *testing.T) {
		errs := faulty(t, func(_ context.CancelCauseFunc, members []ring.Member, _ []ring.Links, _ []io.Writer) {
			members[0].Logical = failing{errDisk}
		})
		wants(t, errs[0], errDisk, "read own files")
	})
	t.Run("no room for the payload", func(t *testing.T) {
		errs := faulty(t, func(_ context.CancelCauseFunc, _ []ring.Member, _ []ring.Links, outs []io.Writer) {
			outs[0] = failing{errDisk}
		})
		wants(t, errs[0], errDisk, "write payload at byte 0")
	})
	t.Run("cancelled", func(t *testing.T) {
		errs := faulty(t, func(cancel context.CancelCauseFunc, _ []ring.Member, _ []ring.Links, outs []io.Writer) {
			outs[1] = &after{io.Discard, 100_000, func() { cancel(errDisk) }}
		})
		for _, err := range errs {
			wants(t, err, errDisk, "xor encode")
		}
	})
	t.Run("another layout", func(t *testing.T) {
		errs := faulty(t, func(_ context.CancelCauseFunc, members []ring.Member, _ []ring.Links, _ []io.Writer) {
			members[1].Layout.ChunkBytes++
		})
		if !errors.Is(errs[1], scr.ErrInvalid) && !errors.Is(errs[2], scr.ErrInvalid) {
			t.Errorf("nobody names the layout: %v", errs)
		}
	})
	t.Run("links crossed", func(t *testing.T) {
		errs := faulty(t, func(_ context.CancelCauseFunc, _ []ring.Member, links []ring.Links, _ []io.Writer) {
			a, b := links[1].(pipeLinks), links[2].(pipeLinks)
			a.left, b.left = b.left, a.left
			links[1], links[2] = a, b
		})
		if !errors.Is(errs[1], scr.ErrInvalid) && !errors.Is(errs[2], scr.ErrInvalid) {
			t.Errorf("nobody names the links: %v", errs)
		}
	})
	t.Run("no link", func(t *testing.T) {
		errs := faulty(t, func(_ context.CancelCauseFunc, _ []ring.Member, links []ring.Links, _ []io.Writer) {
			links[2] = noRight{links[2].(pipeLinks)}
		})
		wants(t, errs[2], errDisk, "link to right neighbour, member 3")
	})
}

// noRight has a left link that waits, and no right one.
type noRight struct{ pipeLinks }

func (l noRight) Right(context.Context) (io.WriteCloser, error) {
	l.pipeLinks.right.Close()
	return nil, errDisk
}

func (l noRight) Left(ctx context.Context) (io.ReadCloser, error) {
	<-ctx.Done()
	l.pipeLinks.left.Close()
	return nil, ctx.Err()
}

func TestMemberIsChecked(t *testing.T) {
	good := newSet(t, 1, [][]int{{10}, {20}}).member(t, 0)
	for name, spoil := range map[string]func(*ring.Member){
		"one member":      func(m *ring.Member) { m.Layout.Members = 1 },
		"no chunk":        func(m *ring.Member) { m.Layout.ChunkBytes = 0 },
		"index":           func(m *ring.Member) { m.Index = 2 },
		"no file":         func(m *ring.Member) { m.Logical = nil },
		"piece":           func(m *ring.Member) { m.PieceBytes = -1 },
		"huge piece":      func(m *ring.Member) { m.PieceBytes = 65 << 20 },
		"files too large": func(m *ring.Member) { m.FileBytes = []int64{10, 11} },
		"negative file":   func(m *ring.Member) { m.FileBytes = []int64{-1} },
	} {
		m := good
		spoil(&m)
		if _, err := ring.EncodeXOR(context.Background(), m, overPipes(2)[0], io.Discard); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
