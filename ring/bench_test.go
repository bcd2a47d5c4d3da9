package ring_test

import (
	"context"
	"io"
	"sync"
	"testing"

	"github.com/scrfs/scrfs/ring"
	"github.com/scrfs/scrfs/xor"
)

// zeros is a logical file that costs nothing to read, so that what is measured
// is the ring.
type zeros struct{}

func (zeros) ReadAt(p []byte, _ int64) (int, error) { return len(p), nil }

// BenchmarkRingOfFour reports bytes of checkpoint per second and member, all
// four on this machine; compare with BenchmarkMemoryCopy of the same run.
func BenchmarkRingOfFour(b *testing.B) {
	for _, kind := range []string{"plain", "tls", "memory", "pipe"} {
		b.Run(kind, func(b *testing.B) {
			const members, chunk = 4, 16 << 20
			layout := xor.Layout{Members: members, ChunkBytes: chunk}
			links := overPipes(members)
			if kind != "pipe" {
				links = linksOf(newHubs(b, members, transports()[kind]), 0, members, func(i int) int { return i })
			}
			b.SetBytes(layout.LogicalBytes())
			for b.Loop() {
				if kind == "pipe" {
					links = overPipes(members)
				}
				var wg sync.WaitGroup
				for i := range members {
					wg.Go(func() {
						m := ring.Member{Layout: layout, Index: i, Logical: zeros{}}
						if _, err := ring.EncodeXOR(context.Background(), m, links[i], io.Discard); err != nil {
							b.Error(err)
						}
					})
				}
				wg.Wait()
			}
		})
	}
}

// BenchmarkMemoryCopy copies as many bytes as one member has, one at a time.
func BenchmarkMemoryCopy(b *testing.B) {
	src, dst := make([]byte, 48<<20), make([]byte, 48<<20)
	b.SetBytes(int64(len(src)))
	for b.Loop() {
		copy(dst, src)
	}
}
