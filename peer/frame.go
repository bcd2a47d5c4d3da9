package peer

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"net"
	"os"
)

// A frame is a word, a CRC32C over word and payload, and the payload. The word
// holds the frame's type in its upper 8 bits and the payload's length in bytes
// in the other 24. All big endian.
const (
	frameHead = 8
	// MaxFrameBytes bounds a frame's payload. Larger writes are cut.
	MaxFrameBytes = 1 << 20
)

type frameType byte

const (
	frameData   frameType = 0
	frameEnd    frameType = 1 // the sender's half is over; empty
	frameError  frameType = 2 // the sender's handler failed; an encoded error
	frameOpen   frameType = 3 // first frame of the opener: kind and header
	frameAccept frameType = 4 // first frame of the other side; empty
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// bulkConn is an authenticated connection that carries streams, one after the
// other.
type bulkConn struct {
	conn net.Conn
	raw  net.Conn // below TLS: closing it never waits for the other side
	in   *bufio.Reader
}

func newBulkConn(c net.Conn) *bulkConn {
	b := &bulkConn{conn: c, raw: c, in: bufio.NewReaderSize(c, 4<<10)}
	if t, ok := c.(interface{ NetConn() net.Conn }); ok {
		b.raw = t.NetConn()
	}
	return b
}

// readFrame returns a whole and sound frame. The payload is in p if it fits
// there, else in a buffer that the next frame overwrites.
func (s *stream) readFrame(p []byte) (frameType, []byte, error) {
	// Peek, not Read: a deadline in mid-head must not tear the frame.
	head, err := s.in.Peek(frameHead)
	if err != nil {
		return 0, nil, s.broken("read", err)
	}
	word := binary.BigEndian.Uint32(head)
	sum := binary.BigEndian.Uint32(head[4:])
	size := int(word & 0xffffff)
	if size > MaxFrameBytes {
		return 0, nil, fmt.Errorf("stream with %s: frame of %d bytes: %w", s.peer, size, ErrFrame)
	}
	crc := crc32.Update(0, castagnoli, head[:4])
	_, _ = s.in.Discard(frameHead) // it was peeked: cannot fail
	if size > len(p) {
		if cap(s.buf) < size {
			s.buf = make([]byte, size)
		}
		p = s.buf
	}
	p = p[:size]
	if _, err := io.ReadFull(s.in, p); err != nil {
		// What came of this frame is gone: even a mere deadline ends it.
		err = s.broken("read", err)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			err = fmt.Errorf("in mid-frame: %w", err)
			s.rerr = err
		}
		return 0, nil, err
	}
	if crc32.Update(crc, castagnoli, p) != sum {
		clear(p)
		return 0, nil, fmt.Errorf("stream with %s: CRC of a frame of %d bytes: %w", s.peer, size, ErrFrame)
	}
	return frameType(word >> 24), p, nil
}

func (s *stream) writeFrame(t frameType, payload []byte) error {
	var head [frameHead]byte
	binary.BigEndian.PutUint32(head[:], uint32(t)<<24|uint32(len(payload)))
	crc := crc32.Update(0, castagnoli, head[:4])
	binary.BigEndian.PutUint32(head[4:], crc32.Update(crc, castagnoli, payload))
	if tcp, ok := s.conn.(*net.TCPConn); ok {
		_, err := (&net.Buffers{head[:], payload}).WriteTo(tcp)
		return s.broken("write", err)
	}
	s.out = append(append(s.out[:0], head[:]...), payload...)
	_, err := s.conn.Write(s.out)
	return s.broken("write", err)
}
