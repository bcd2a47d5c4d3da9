package ring

import (
	"hash/crc32"
	"sort"

	"github.com/scrfs/scrfs/scr"
	"github.com/scrfs/scrfs/xor"
)

// fileSums computes the CRC32 of each file of a logical file that is read block
// beside block: every part of a file that lies in one block has a CRC of its
// own, and in the end those of a file are combined.
type fileSums struct {
	parts []part // in the order of the logical file
	count int    // files
}

// part is the intersection of a file with a block.
type part struct {
	file       int
	start, end int64 // in the logical file, in bytes
	crc        uint32
}

// newFileSums takes the sizes of the files; nil is allowed.
func newFileSums(l xor.Layout, sizes []int64) *fileSums {
	s := &fileSums{count: len(sizes)}
	var at int64
	for file, n := range sizes {
		for end := at + n; at < end; {
			stop := min(end, (at/l.ChunkBytes+1)*l.ChunkBytes)
			s.parts = append(s.parts, part{file: file, start: at, end: stop})
			at = stop
		}
	}
	return s
}

// add takes the next bytes of a block, which are at offset in the logical file.
// Within a block they come in order.
func (s *fileSums) add(offset int64, b []byte) {
	first := sort.Search(len(s.parts), func(i int) bool { return s.parts[i].end > offset })
	for i := first; i < len(s.parts) && len(b) > 0; i++ {
		p := &s.parts[i]
		n := min(int64(len(b)), p.end-offset)
		p.crc = crc32.Update(p.crc, crc32.IEEETable, b[:n])
		b = b[n:]
		offset += n
	}
}

// files returns the CRC of each file; that of an empty one is 0.
func (s *fileSums) files() []scr.CRC {
	if s.count == 0 {
		return nil
	}
	crcs := make([]scr.CRC, s.count)
	for _, p := range s.parts {
		crcs[p.file] = scr.CRC(combineCRC(uint32(crcs[p.file]), p.crc, p.end-p.start))
	}
	return crcs
}

// combineCRC gives the CRC32 of two strings, one after the other, from those of
// each and the second's length in bytes. Appending n bytes multiplies the first
// string's polynomial by x^(8n); so the sum of the two CRCs, the first one
// multiplied so modulo the generator, is that of both. The complements that
// CRC32 takes before and after cancel out.
func combineCRC(first, second uint32, bytes int64) uint32 {
	power := uint32(1) << 31  // x^0; bit 31 is the coefficient of x^0
	square := uint32(1) << 23 // x^8, then x^16, x^32, ...
	for n := bytes; n > 0; n >>= 1 {
		if n&1 != 0 {
			power = multiply(power, square)
		}
		square = multiply(square, square)
	}
	return multiply(power, first) ^ second
}

// multiply is the product of two polynomials over GF(2) modulo the generator of
// CRC32, in its reflected form.
func multiply(a, b uint32) uint32 {
	var product uint32
	for ; a != 0; a <<= 1 {
		if a&(1<<31) != 0 {
			product ^= b
		}
		carry := b & 1
		b >>= 1
		if carry != 0 {
			b ^= crc32.IEEE
		}
	}
	return product
}
