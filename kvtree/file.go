package kvtree

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
)

// The header of a hash file: magic, type, version, size, flags, all big
// endian. The numbers are those of SCR 1.x's on-disk format.
const (
	magic       = 0x951fc3f5
	typeHash    = 1
	versionHash = 1
	flagCRC     = 1 // a CRC32 (IEEE) of all bytes before it ends the hash
	headerBytes = 20
	crcBytes    = 4

	// MaxFileBytes is the largest hash that is read. One that lists a million
	// files with paths of a hundred bytes takes less than a tenth of it.
	MaxFileBytes = 1<<31 - 1

	// firstRead bounds what is allocated on the word of a header alone.
	firstRead = 64 << 10
)

// Encode returns t as a hash file, with a CRC. Binary data may be written
// after it, as in XOR files.
func Encode(t *Tree) []byte {
	if t == nil {
		t = &Tree{}
	}
	size := headerBytes + packedSize(t) + crcBytes
	b := make([]byte, 0, size)
	b = binary.BigEndian.AppendUint32(b, magic)
	b = binary.BigEndian.AppendUint16(b, typeHash)
	b = binary.BigEndian.AppendUint16(b, versionHash)
	b = binary.BigEndian.AppendUint64(b, uint64(size))
	b = binary.BigEndian.AppendUint32(b, flagCRC)
	b = appendPacked(b, t)
	return binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b))
}

// Decode reads the hash file at the start of b. n is its length in bytes;
// whatever follows is left alone. The errors are ErrFormat and ErrCRC; nothing
// is returned with them. A file whose header says that it has no CRC is read
// without one.
func Decode(b []byte) (t *Tree, n int, err error) {
	h, err := parseHeader(b)
	if err != nil {
		return nil, 0, err
	}
	if int64(len(b)) < h.size {
		return nil, 0, short(int64(len(b)), h.size)
	}
	t, err = decode(b[:h.size], h)
	if err != nil {
		return nil, 0, err
	}
	return t, int(h.size), nil
}

// ReadFrom reads the hash file that r stands on, and not a byte more: when it
// returns nil, r stands on the binary data that may follow. n is the number of
// bytes read, also with an error. The errors are those of Decode and of r.
//
// The size in the header is not believed: memory grows with what r gives.
func ReadFrom(r io.Reader) (t *Tree, n int64, err error) {
	b := make([]byte, headerBytes, 512)
	got, err := io.ReadFull(r, b)
	n = int64(got)
	if ended(err) {
		return nil, n, short(n, headerBytes)
	}
	if err != nil {
		return nil, n, err
	}
	h, err := parseHeader(b)
	if err != nil {
		return nil, n, err
	}
	for n < h.size {
		b = grow(b, h.size)
		got, err = io.ReadFull(r, b[n:])
		n += int64(got)
		if ended(err) {
			return nil, n, short(n, h.size)
		}
		if err != nil {
			return nil, n, err
		}
	}
	t, err = decode(b, h)
	return t, n, err
}

// ended says whether the input was over before all was read.
func ended(err error) bool { return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) }

// grow makes b longer, to twice its length but no more than size.
func grow(b []byte, size int64) []byte {
	want := int(min(size, max(firstRead, 2*int64(len(b)))))
	if want <= cap(b) {
		return b[:want]
	}
	out := make([]byte, want)
	copy(out, b)
	return out
}

type header struct {
	size int64 // of the whole hash file, header and CRC included
	crc  bool
}

func parseHeader(b []byte) (header, error) {
	if len(b) < headerBytes {
		return header{}, short(int64(len(b)), headerBytes)
	}
	m := binary.BigEndian.Uint32(b)
	typ, version := binary.BigEndian.Uint16(b[4:]), binary.BigEndian.Uint16(b[6:])
	size, flags := binary.BigEndian.Uint64(b[8:]), binary.BigEndian.Uint32(b[16:])
	h := header{size: int64(size), crc: flags&flagCRC != 0}
	least := uint64(headerBytes + 4)
	if h.crc {
		least += crcBytes
	}
	switch {
	case m != magic:
		return h, fmt.Errorf("starts with %08x, not with the magic %08x: %w", m, uint32(magic), ErrFormat)
	case typ != typeHash || version != versionHash:
		return h, fmt.Errorf("type %d version %d, not 1 and 1: %w", typ, version, ErrFormat)
	case size < least:
		return h, fmt.Errorf("size %d, less than an empty hash: %w", size, ErrFormat)
	case size > MaxFileBytes:
		return h, fmt.Errorf("size %d, more than %d: %w", size, MaxFileBytes, ErrFormat)
	}
	return h, nil
}

// decode reads a hash file of exactly the size in its header.
func decode(b []byte, h header) (*Tree, error) {
	if h.crc {
		end := len(b) - crcBytes
		got, want := crc32.ChecksumIEEE(b[:end]), binary.BigEndian.Uint32(b[end:])
		if got != want {
			return nil, fmt.Errorf("crc is %#x, the file says %#x: %w", got, want, ErrCRC)
		}
		b = b[:end]
	}
	return Unpack(b[headerBytes:])
}

func short(have, want int64) error {
	return fmt.Errorf("%d bytes where %d are expected: %w: %w", have, want, ErrFormat, io.ErrUnexpectedEOF)
}
