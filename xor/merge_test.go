package xor_test

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/scrfs/scrfs/xor"
)

func TestMergeIsXORAndPadsWithZeros(t *testing.T) {
	dst := []byte{0xe4, 0xa2, 0x80, 7}
	xor.Merge(dst, []byte{0xe7, 0x45, 0xff})
	if want := []byte{0x03, 0xe7, 0x7f, 7}; !slices.Equal(dst, want) {
		t.Errorf("got %x, want %x", dst, want)
	}
	defer func() {
		if recover() == nil {
			t.Error("a longer source is accepted")
		}
	}()
	xor.Merge(dst[:1], dst[2:])
}

// Every length around the rounds of the wide loop, at every alignment to a
// line of the cache, and not one byte beyond.
func TestMergeAtEveryLengthAndAlignment(t *testing.T) {
	rnd := rand.NewChaCha8([32]byte{7})
	a, b := make([]byte, 1024), make([]byte, 1024)
	_, _ = rnd.Read(a)
	_, _ = rnd.Read(b)
	for length := range 400 {
		for shift := range 64 {
			want, got := bytes.Clone(a), bytes.Clone(a)
			other := shift * 7 % 64
			for i := range length {
				want[shift+i] ^= b[other+i]
			}
			xor.Merge(got[shift:shift+length], b[other:other+length])
			if !bytes.Equal(got, want) {
				t.Fatalf("length %d, alignment %d and %d: differs", length, shift, other)
			}
		}
	}
}
