package xor

import (
	"crypto/subtle"
	"fmt"
)

// Merge adds src to dst: dst becomes dst XOR src. A src shorter than dst counts
// as padded with zeros. The two must not overlap; a longer src panics.
func Merge(dst, src []byte) {
	if len(src) > len(dst) {
		panic(fmt.Sprintf("BUG: merge of %d bytes into %d", len(src), len(dst)))
	}
	done := mergeWide(dst[:len(src)], src)
	subtle.XORBytes(dst[done:], dst[done:], src[done:])
}
