package peer

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"testing"
)

func FuzzError(f *testing.F) {
	f.Add(encodeError(errOwn))
	f.Add(encodeError(context.DeadlineExceeded))
	f.Add([]byte("\x01\x07errno.0x"))
	f.Fuzz(func(t *testing.T, b []byte) {
		err := decodeError("node1", b)
		if err == nil || err.Error() == "" {
			t.Fatalf("no error from %x", b)
		}
		again := decodeError("node1", encodeError(err))
		for _, s := range []error{errOwn, ErrFrame, context.DeadlineExceeded, io.EOF} {
			if errors.Is(err, s) != errors.Is(again, s) {
				t.Errorf("%v is %v, not so after another hop", err, s)
			}
		}
	})
}

// oneWay is a connection from which some bytes come.
type oneWay struct {
	net.Conn
	r io.Reader
}

func (c oneWay) Read(p []byte) (int, error) { return c.r.Read(p) }

func readerOf(b []byte) *stream {
	c := oneWay{r: bytes.NewReader(b)}
	return newStream("node1", &bulkConn{conn: c, raw: c, in: bufio.NewReaderSize(c, 64)})
}

// frames gives the bytes of a stream of some frames.
func frames(t testing.TB, pieces ...string) []byte {
	t.Helper()
	near, far := newPipe(nil, nil)
	s := newStream("node1", newBulkConn(near))
	for _, p := range pieces {
		if _, err := s.Write([]byte(p)); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	s.Close()
	b, err := io.ReadAll(far)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestNoDamagedByteIsDelivered(t *testing.T) {
	good := frames(t, "alpha", "", "beta", string(make([]byte, 300)))
	whole := "alphabeta" + string(make([]byte, 300))
	if got, err := io.ReadAll(readerOf(good)); err != nil || string(got) != whole {
		t.Fatalf("undamaged: %q, %v", got, err)
	}
	for bit := range 8 * len(good) {
		bad := bytes.Clone(good)
		bad[bit/8] ^= 1 << (bit % 8)
		got, err := io.ReadAll(readerOf(bad))
		if err == nil {
			t.Errorf("bit %d: not noticed", bit)
		}
		if !bytes.HasPrefix([]byte(whole), got) {
			t.Errorf("bit %d: delivered %q", bit, got)
		}
	}
	for n := range good {
		if got, err := io.ReadAll(readerOf(good[:n])); !errors.Is(err, io.ErrUnexpectedEOF) || !bytes.HasPrefix([]byte(whole), got) {
			t.Errorf("cut after %d bytes: %q, %v", n, got, err)
		}
	}
}

func FuzzFrames(f *testing.F) {
	f.Add(frames(f, "alpha", "beta"), 3)
	f.Add([]byte{0, 0x10, 0, 1, 0, 0, 0, 0}, 100)
	f.Fuzz(func(t *testing.T, b []byte, size int) {
		s := readerOf(b)
		p := make([]byte, 1+max(0, size)%5000)
		total := 0
		for {
			n, err := s.Read(p)
			total += n
			if err != nil {
				break
			}
		}
		if total > len(b) {
			t.Errorf("%d bytes out of %d", total, len(b))
		}
		if cap(s.buf) > MaxFrameBytes {
			t.Errorf("a buffer of %d bytes", cap(s.buf))
		}
	})
}
