package kvtree

import (
	"bytes"
	"fmt"
	"io"
	"testing"
)

// manyFiles is what a rank2file map says of n files on ranks of 8.
func manyFiles(n int) *Tree {
	tree := New()
	tree.PutInt("LEVEL", 0)
	ranks := tree.Sub("RANK")
	for i := range n {
		file := ranks.Sub(fmt.Sprint(i/8), "FILE", fmt.Sprintf("step_000100/rank_%06d.ckpt", i))
		file.PutInt("SIZE", int64(1<<20+i))
		file.PutString("CRC", fmt.Sprintf("%#x", uint32(i)*2654435761))
	}
	return tree
}

// wide is one tree with n keys.
func wide(n int) *Tree {
	tree := New()
	for i := range n {
		tree.PutInt(fmt.Sprintf("step_000100/rank_%06d.ckpt", i), int64(i))
	}
	return tree
}

func BenchmarkPack(b *testing.B) {
	tree := manyFiles(100_000)
	b.SetBytes(int64(len(Pack(tree))))
	b.ReportAllocs()
	for b.Loop() {
		Pack(tree)
	}
}

func BenchmarkDecode(b *testing.B) {
	file := Encode(manyFiles(100_000))
	b.SetBytes(int64(len(file)))
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := Decode(file); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkDecodeWide has all keys in one tree; per key it is to cost the same
// at a thousand and a million.
func BenchmarkDecodeWide(b *testing.B) {
	for _, n := range []int{1000, 100_000, 1_000_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			file := Encode(wide(n))
			for b.Loop() {
				if _, _, err := Decode(file); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/key")
		})
	}
}

func BenchmarkReadFrom(b *testing.B) {
	file := Encode(manyFiles(100_000))
	b.SetBytes(int64(len(file)))
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := ReadFrom(bytes.NewReader(file)); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkBuild(b *testing.B) {
	for _, n := range []int{1000, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				wide(n)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/key")
		})
	}
}

func BenchmarkLookup(b *testing.B) {
	const n = 100_000
	tree, key := wide(n), fmt.Sprintf("step_000100/rank_%06d.ckpt", n-1)
	for b.Loop() {
		if !tree.Has(key) {
			b.Fatal("lost")
		}
	}
}

func BenchmarkWriteText(b *testing.B) {
	tree := manyFiles(10_000)
	for b.Loop() {
		if err := WriteText(io.Discard, tree); err != nil {
			b.Fatal(err)
		}
	}
}
