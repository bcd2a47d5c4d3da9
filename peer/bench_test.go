package peer

import (
	"context"
	"io"
	"testing"
)

func BenchmarkCall(b *testing.B) {
	for _, w := range worlds() {
		b.Run(w.name, func(b *testing.B) {
			n, _ := w.two(b, func(n Transport) { n.Handle("echo", echo) })
			req := make([]byte, 200)
			for b.Loop() {
				if _, err := n.Call(context.Background(), "node1", "echo", req); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkOpen(b *testing.B) {
	for _, w := range worlds() {
		b.Run(w.name, func(b *testing.B) {
			n, _ := w.two(b, func(n Transport) {
				n.HandleStream("x", func(context.Context, NodeID, []byte, Stream) error { return nil })
			})
			for b.Loop() {
				s, err := n.Open(context.Background(), "node1", "x", nil)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := io.Copy(io.Discard, s); err != nil {
					b.Fatal(err)
				}
				s.Close()
			}
		})
	}
}
