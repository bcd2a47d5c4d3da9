package kvtree

import (
	"bytes"
	"encoding/binary"
	"fmt"
)

// MaxDepth is how deep a tree may be for the decoders: the number of keys from
// the top to the lowest. SCR's deepest hash has 10; the limit is there so that
// a hostile file cannot eat the stack.
const MaxDepth = 256

// minElem is the least an element takes in packed form: the NUL of an empty
// key and the count of an empty tree.
const minElem = 5

// Pack returns t in SCR's packed form: the number of elements as four bytes,
// big endian, then for each element its key, one NUL byte, and its tree packed
// in the same way.
func Pack(t *Tree) []byte {
	if t == nil {
		t = &Tree{}
	}
	return appendPacked(make([]byte, 0, packedSize(t)), t)
}

// packedSize and appendPacked walk over the elements themselves: they see a
// million of them, where All costs more than the work.
func packedSize(t *Tree) int {
	n := 4
	for i := range t.elems {
		if e := &t.elems[i]; e.sub != nil {
			n += len(e.key) + 1 + packedSize(e.sub)
		}
	}
	return n
}

func appendPacked(b []byte, t *Tree) []byte {
	b = binary.BigEndian.AppendUint32(b, uint32(t.Len()))
	for i := range t.elems {
		if e := &t.elems[i]; e.sub != nil {
			b = append(b, e.key...)
			b = append(b, 0)
			b = appendPacked(b, e.sub)
		}
	}
	return b
}

// Unpack reads a packed hash. It has to take up all of b. Every count and key
// is held against the bytes that are left, so bytes that are no hash cost no
// memory at all, and others about ten times their length at the most. The
// tree shares nothing with b.
func Unpack(b []byte) (*Tree, error) {
	s := scanner{b: b}
	if err := s.tree(0); err != nil {
		return nil, err
	}
	if s.at != len(b) {
		return nil, fmt.Errorf("byte %d: %d bytes after the end of the hash: %w", s.at, len(b)-s.at, ErrFormat)
	}
	t := &Tree{}
	u := unpacker{b: string(b), left: s.elems}
	if err := u.tree(t); err != nil {
		return nil, err
	}
	return t, nil
}

// scanner walks over a packed hash without keeping any of it. What it passes
// may be unpacked without further checks, but for keys that stand twice.
type scanner struct {
	b     []byte
	at    int
	elems int // met so far, at all depths
}

func (s *scanner) tree(depth int) error {
	if len(s.b)-s.at < 4 {
		return fmt.Errorf("byte %d: count is cut short: %w", s.at, ErrFormat)
	}
	count := int64(binary.BigEndian.Uint32(s.b[s.at:]))
	if left := int64(len(s.b) - s.at - 4); count > left/minElem {
		return fmt.Errorf("byte %d: %d elements in %d bytes: %w", s.at, count, left, ErrFormat)
	}
	if count > 0 && depth == MaxDepth {
		return fmt.Errorf("byte %d: deeper than %d levels: %w", s.at, MaxDepth, ErrFormat)
	}
	s.at += 4
	s.elems += int(count)
	for range count {
		n := bytes.IndexByte(s.b[s.at:], 0)
		if n < 0 {
			return fmt.Errorf("byte %d: key without its end: %w", s.at, ErrFormat)
		}
		s.at += n + 1
		if err := s.tree(depth + 1); err != nil {
			return err
		}
	}
	return nil
}
