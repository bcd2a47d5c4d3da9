package xor

import (
	"fmt"
	"iter"
)

// DefaultPieceBytes is the size of the pieces into which a chunk is cut. Two
// of them fit the second level cache of current processors, so merging does
// not go to memory twice; larger ones measured no faster.
const DefaultPieceBytes = 256 << 10

// Piece is a range of bytes inside every chunk of a set.
type Piece struct {
	Offset int64 // from the start of the chunk
	Bytes  int   // at least 1
}

// Pieces cuts a chunk into pieces of pieceBytes, the last one shorter if need
// be, in ascending order. The ring works on one piece of all chunks before it
// begins with the next, so its working set is two pieces.
func (l Layout) Pieces(pieceBytes int) iter.Seq[Piece] {
	if pieceBytes < 1 {
		panic(fmt.Sprintf("BUG: pieces of %d bytes", pieceBytes))
	}
	return func(yield func(Piece) bool) {
		for off := int64(0); off < l.ChunkBytes; off += int64(pieceBytes) {
			n := min(int64(pieceBytes), l.ChunkBytes-off)
			if !yield(Piece{Offset: off, Bytes: int(n)}) {
				return
			}
		}
	}
}
