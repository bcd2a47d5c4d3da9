package xor_test

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"

	"github.com/scrfs/scrfs/scr"
	"github.com/scrfs/scrfs/xor"
)

// runRing plays the steps of all members at once: what one sends in a step, its
// right neighbour has at hand in the next. own returns what a member merges.
// The result is what each member stored, by position.
func runRing(t testing.TB, l xor.Layout, steps [][]xor.Step, own func(member int, s xor.Step) []byte) []map[int][]byte {
	t.Helper()
	links := make([][][]byte, l.Members) // links[i]: on the way to member i, in order
	stored := make([]map[int][]byte, l.Members)
	next := make([]int, l.Members)
	for i := range stored {
		stored[i] = make(map[int][]byte)
	}
	for moved := true; moved; {
		moved = false
		for i := range steps {
			if next[i] == len(steps[i]) {
				continue
			}
			s := steps[i][next[i]]
			part := make([]byte, l.ChunkBytes)
			if s.Receive {
				if len(links[i]) == 0 {
					continue // must wait
				}
				part, links[i] = links[i][0], links[i][1:]
			}
			xor.Merge(part, own(i, s))
			if s.Send {
				links[l.Right(i)] = append(links[l.Right(i)], bytes.Clone(part))
			}
			if s.Store {
				stored[i][s.Position] = part
			}
			next[i]++
			moved = true
		}
	}
	for i := range steps {
		if next[i] != len(steps[i]) || len(links[i]) != 0 {
			t.Fatalf("member %d stopped after step %d with %d results unread", i, next[i], len(links[i]))
		}
	}
	return stored
}

func ringBytes(set []memory, member int, s xor.Step) []byte {
	m := set[member]
	block := make([]byte, m.header.ChunkBytes)
	switch s.Source {
	case xor.FromPayload:
		copy(block, m.payload)
	case xor.FromFiles:
		logical := bytes.Join(m.files, nil)
		if at := int64(s.Block) * m.header.ChunkBytes; at < int64(len(logical)) {
			copy(block, logical[at:])
		}
	}
	return block
}

func TestRingComputesThePayloadsReadingEachBlockOnce(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		set := newSet(t, rapid.Uint64().Draw(r, "seed"), drawSizes(r, 8, 3, 200), xor.Options{Family: scr.F14, PieceBytes: 64})
		l := set[0].header.Layout()
		steps := make([][]xor.Step, l.Members)
		for i := range steps {
			steps[i] = l.EncodeSteps(i)
			read := make(map[int]int)
			for k, s := range steps[i] {
				if s.Source == xor.FromFiles {
					read[s.Block]++
				}
				if s.Receive != (k > 0) || s.Send != (k < l.Members-1) || s.Store == s.Send {
					r.Fatalf("member %d, step %d: %+v", i, k, s)
				}
			}
			for block := range l.Members - 1 {
				if read[block] != 1 {
					r.Fatalf("member %d reads block %d %d times", i, block, read[block])
				}
			}
		}
		stored := runRing(t, l, steps, func(i int, s xor.Step) []byte { return ringBytes(set, i, s) })
		for i := range set {
			if len(stored[i]) != 1 || !bytes.Equal(stored[i][i], set[i].payload) {
				r.Fatalf("member %d stores another payload than Encode", i)
			}
		}
	})
}

func TestRingBringsBackTheLostMember(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		set := newSet(t, rapid.Uint64().Draw(r, "seed"), drawSizes(r, 8, 3, 200), xor.Options{Family: scr.F14, PieceBytes: 64})
		l := set[0].header.Layout()
		lost := rapid.IntRange(0, l.Members-1).Draw(r, "lost")
		steps := make([][]xor.Step, l.Members)
		for i := range steps {
			steps[i] = l.RebuildSteps(lost, i)
		}
		stored := runRing(t, l, steps, func(i int, s xor.Step) []byte { return ringBytes(set, i, s) })
		for position := range l.Members {
			want := set[lost].payload
			if block, ok := l.BlockAt(lost, position); ok {
				want = ringBytes(set, lost, xor.Step{Source: xor.FromFiles, Block: block})
			}
			if !bytes.Equal(stored[lost][position], want) {
				r.Fatalf("lost member %d of %d: position %d differs", lost, l.Members, position)
			}
		}
	})
}
