package xor_test

import (
	"context"
	"testing"

	"pgregory.net/rapid"

	"github.com/scrfs/scrfs/scr"
	"github.com/scrfs/scrfs/xor"
)

// drawSizes draws the file sizes of 2 to maxMembers members. Sizes are uneven
// on purpose: empty files, members without files, one large among small ones.
func drawSizes(t *rapid.T, maxMembers, maxFiles, maxBytes int) [][]int {
	sizes := make([][]int, rapid.IntRange(2, maxMembers).Draw(t, "members"))
	for i := range sizes {
		sizes[i] = make([]int, rapid.IntRange(0, maxFiles).Draw(t, "files"))
		for k := range sizes[i] {
			most := rapid.SampledFrom([]int{0, 1, min(10, maxBytes), maxBytes / 8, maxBytes}).Draw(t, "most")
			sizes[i][k] = rapid.IntRange(0, most).Draw(t, "bytes")
		}
	}
	return sizes
}

func rebuiltEqual(t testing.TB, set []memory, lost int, o xor.Options) {
	t.Helper()
	sink := &memorySink{}
	r, err := xor.Rebuild(context.Background(), dataOf(set, lost), sink, o)
	if err != nil {
		t.Fatal(err)
	}
	checkEqual(t, sink, set[lost], o.Family)
	if len(r.Files) != len(set[lost].files) || r.Redundancy.SizeBytes != int64(len(sink.redundancy)) {
		t.Fatalf("meta data of %d files, redundancy file %+v", len(r.Files), r.Redundancy)
	}
	checkCRCs(t, r, sink)
}

// Thousands of small sets: every combination of sizes around the edges of
// pieces, blocks and files.
func TestAnyLostMemberComesBackSmall(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		o := xor.Options{
			Family:       rapid.SampledFrom(scr.Families()).Draw(r, "family"),
			PieceBytes:   rapid.IntRange(1, 100).Draw(r, "piece"),
			Workers:      rapid.IntRange(1, 5).Draw(r, "workers"),
			CheckPadding: rapid.Bool().Draw(r, "padding"),
		}
		set := newSet(t, rapid.Uint64().Draw(r, "seed"), drawSizes(r, 9, 5, 300), o)
		if err := xor.Verify(context.Background(), dataOf(set), o); err != nil {
			r.Fatal(err)
		}
		for lost := range set {
			rebuiltEqual(t, set, lost, o)
		}
	})
}

// A few sets as large as the promise: 2 to 32 members, 0 to 40 files each, 0 to
// 1 MiB. The number of files shrinks with their size to keep the test short.
func TestAnyLostMemberComesBackLarge(t *testing.T) {
	checks := 0
	rapid.Check(t, func(r *rapid.T) {
		if checks++; checks > 12 {
			return // rapid's number of checks is for all properties of a run
		}
		o := xor.Options{Family: scr.F14}
		sizes := make([][]int, rapid.IntRange(2, 32).Draw(r, "members"))
		budget := 24 << 20 // bytes of the set
		for i := range sizes {
			sizes[i] = make([]int, rapid.IntRange(0, 40).Draw(r, "files"))
			for k := range sizes[i] {
				sizes[i][k] = min(rapid.IntRange(0, 1<<20).Draw(r, "bytes"), budget)
				budget -= sizes[i][k]
			}
		}
		set := newSet(t, rapid.Uint64().Draw(r, "seed"), sizes, o)
		rebuiltEqual(t, set, rapid.IntRange(0, len(set)-1).Draw(r, "lost"), o)
	})
}
