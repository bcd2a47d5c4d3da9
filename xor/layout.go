package xor

import (
	"fmt"
	"math"
)

// ChunkBytes returns the chunk size of a set whose members have logical files
// of the given sizes in bytes: the smallest size of which len(logicalBytes)-1
// chunks hold the largest logical file, and never less than 1, also when all
// files are empty. It is for encoding only: whoever reads a set takes the
// chunk size from the header. Fewer than two members or a negative size
// panic, because such a set was never formed.
func ChunkBytes(logicalBytes []int64) int64 {
	if len(logicalBytes) < 2 {
		panic(fmt.Sprintf("BUG: chunk size of a set of %d members", len(logicalBytes)))
	}
	var largest int64
	for _, n := range logicalBytes {
		if n < 0 {
			panic(fmt.Sprintf("BUG: logical size %d", n))
		}
		largest = max(largest, n)
	}
	blocks := int64(len(logicalBytes) - 1)
	chunk := largest / blocks
	if largest%blocks != 0 {
		chunk++
	}
	return max(1, chunk)
}

// Layout is the geometry of one set. Each member has as many positions as the
// set has members. At the position of its own index a member has a chunk of
// zeros (the pad, where its payload is stored); at every other position it has
// one block of its logical file, in order. Members, positions and blocks count
// from 0. The zero value is no valid layout.
type Layout struct {
	Members    int   // members of the set, at least 2
	ChunkBytes int64 // bytes of a block, of the pad and of a payload, at least 1
}

// Validate reports whether the set has at least two members and a chunk of at
// least one byte, and whether the offsets of all its blocks fit in an int64.
func (l Layout) Validate() error {
	switch {
	case l.Members < 2:
		return fmt.Errorf("xor set of %d members: at least 2 are needed", l.Members)
	case l.ChunkBytes < 1:
		return fmt.Errorf("xor chunk of %d bytes: at least 1 is needed", l.ChunkBytes)
	case l.ChunkBytes > math.MaxInt64/int64(l.Members):
		return fmt.Errorf("xor chunk of %d bytes in a set of %d: the size overflows", l.ChunkBytes, l.Members)
	}
	return nil
}

// LogicalBytes returns what the blocks of one member hold: the largest logical
// file that the layout can protect.
func (l Layout) LogicalBytes() int64 { return int64(l.Members-1) * l.ChunkBytes }

// Left returns the member from which member receives, and of whose files its
// header keeps a copy of the meta data.
func (l Layout) Left(member int) int { return (member + l.Members - 1) % l.Members }

// Right returns the member to which member sends.
func (l Layout) Right(member int) int { return (member + 1) % l.Members }

// BlockAt returns the block of its logical file that member has at position;
// ok is false for the pad.
func (l Layout) BlockAt(member, position int) (block int, ok bool) {
	l.check(member, position)
	switch {
	case position < member:
		return position, true
	case position > member:
		return position - 1, true
	}
	return 0, false
}

// PositionOf is the inverse of BlockAt: the position at which member has the
// given block, 0 to Members-2, of its logical file.
func (l Layout) PositionOf(member, block int) int {
	l.check(member, block)
	if block < member {
		return block
	}
	return block + 1
}

// OffsetAt returns where in its logical file, in bytes, the block of member at
// position begins; ok is false for the pad.
func (l Layout) OffsetAt(member, position int) (offset int64, ok bool) {
	block, ok := l.BlockAt(member, position)
	return int64(block) * l.ChunkBytes, ok
}

func (l Layout) check(member, position int) {
	if member < 0 || member >= l.Members || position < 0 || position >= l.Members {
		panic(fmt.Sprintf("BUG: member %d, position %d in a set of %d", member, position, l.Members))
	}
}
