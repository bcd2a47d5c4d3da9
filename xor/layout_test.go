package xor_test

import (
	"math"
	"slices"
	"testing"

	"github.com/scrfs/scrfs/xor"
)

func TestChunkHoldsTheLargestFile(t *testing.T) {
	tests := []struct {
		sizes []int64
		want  int64
	}{
		{[]int64{5, 3, 0}, 3},
		{[]int64{0, 0, 0, 0}, 1},
		{[]int64{0, 1}, 1},
		{[]int64{123, 45}, 123},
		{[]int64{1000, 1003, 0, 1578}, 526},
		{[]int64{524294, 524295, 524296, 524297}, 174766}, // the example in SCR's note
		{[]int64{math.MaxInt64, 0}, math.MaxInt64},
		{[]int64{math.MaxInt64, 0, 0}, math.MaxInt64/2 + 1},
	}
	for _, test := range tests {
		if got := xor.ChunkBytes(test.sizes); got != test.want {
			t.Errorf("%v: chunk of %d bytes, want %d", test.sizes, got, test.want)
		}
	}
}

func TestPositionsOfFourMembers(t *testing.T) {
	// rows are positions, columns members; -1 is the pad
	want := [4][4]int{{-1, 0, 0, 0}, {0, -1, 1, 1}, {1, 1, -1, 2}, {2, 2, 2, -1}}
	l := xor.Layout{Members: 4, ChunkBytes: 100}
	for position, row := range want {
		for member, block := range row {
			got, ok := l.BlockAt(member, position)
			if ok != (block >= 0) || ok && got != block {
				t.Errorf("member %d at position %d: block %d, %v; want %d", member, position, got, ok, block)
			}
			offset, ok := l.OffsetAt(member, position)
			if ok && offset != int64(block)*100 {
				t.Errorf("member %d at position %d: offset %d", member, position, offset)
			}
			if ok && l.PositionOf(member, block) != position {
				t.Errorf("member %d: block %d is at position %d, want %d", member, block, l.PositionOf(member, block), position)
			}
		}
	}
	if l.LogicalBytes() != 300 || l.Left(0) != 3 || l.Right(3) != 0 {
		t.Errorf("%d bytes, left of 0 is %d, right of 3 is %d", l.LogicalBytes(), l.Left(0), l.Right(3))
	}
}

func TestLayoutRefuses(t *testing.T) {
	for _, l := range []xor.Layout{{}, {Members: 1, ChunkBytes: 1}, {Members: 3}, {Members: 3, ChunkBytes: -1},
		{Members: 3, ChunkBytes: math.MaxInt64 / 2}} {
		if l.Validate() == nil {
			t.Errorf("%+v is accepted", l)
		}
	}
	for _, l := range []xor.Layout{{Members: 2, ChunkBytes: 1}, {Members: 3, ChunkBytes: math.MaxInt64 / 3}} {
		if err := l.Validate(); err != nil {
			t.Errorf("%+v: %v", l, err)
		}
	}
}

func TestPiecesCoverTheChunk(t *testing.T) {
	for _, test := range []struct {
		chunk int64
		piece int
		want  []xor.Piece
	}{
		{1, 4, []xor.Piece{{Offset: 0, Bytes: 1}}},
		{8, 4, []xor.Piece{{Offset: 0, Bytes: 4}, {Offset: 4, Bytes: 4}}},
		{9, 4, []xor.Piece{{Offset: 0, Bytes: 4}, {Offset: 4, Bytes: 4}, {Offset: 8, Bytes: 1}}},
	} {
		got := slices.Collect(xor.Layout{Members: 2, ChunkBytes: test.chunk}.Pieces(test.piece))
		if !slices.Equal(got, test.want) {
			t.Errorf("chunk of %d in %d: %v, want %v", test.chunk, test.piece, got, test.want)
		}
	}
}
