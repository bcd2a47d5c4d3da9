package xor_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/scrfs/scrfs/kvtree"
	"github.com/scrfs/scrfs/scr"
	"github.com/scrfs/scrfs/xor"
)

// memory is a whole member in memory.
type memory struct {
	header  xor.Header
	files   [][]byte
	payload []byte
}

func (m memory) data() xor.MemberData {
	d := xor.MemberData{Header: m.header, Payload: bytes.NewReader(m.payload)}
	for _, f := range m.files {
		d.Files = append(d.Files, bytes.NewReader(f))
	}
	return d
}

func dataOf(set []memory, lost ...int) []xor.MemberData {
	gone := make(map[int]bool)
	for _, i := range lost {
		gone[i] = true
	}
	var list []xor.MemberData
	for i, m := range set {
		if !gone[i] {
			list = append(list, m.data())
		}
	}
	return list
}

// memorySink keeps what is written to it, and how many files are open.
type memorySink struct {
	files      [][]byte
	metas      []scr.FileMeta
	redundancy []byte
	open       int
	fail       func(name string) error // asked before each write
}

type memoryFile struct {
	sink *memorySink
	name string
	to   *[]byte
}

func (f memoryFile) Write(p []byte) (int, error) {
	if f.sink.fail != nil {
		if err := f.sink.fail(f.name); err != nil {
			return 0, err
		}
	}
	*f.to = append(*f.to, p...)
	return len(p), nil
}

func (f memoryFile) Close() error {
	f.sink.open--
	return nil
}

func (s *memorySink) File(index int, meta scr.FileMeta) (io.WriteCloser, error) {
	if index != len(s.files) {
		return nil, fmt.Errorf("file %d is asked for after %d files", index, len(s.files))
	}
	s.files = append(s.files, []byte{})
	s.metas = append(s.metas, meta)
	s.open++
	// the slice header may move as files are added, so remember it by a pointer of its own
	kept := new([]byte)
	return closeInto{memoryFile{s, meta.File, kept}, func() { s.files[index] = *kept }}, nil
}

type closeInto struct {
	memoryFile
	done func()
}

func (c closeInto) Close() error {
	c.done()
	return c.memoryFile.Close()
}

func (s *memorySink) Redundancy(h xor.Header) (io.WriteCloser, error) {
	s.open++
	return memoryFile{s, h.FileName().Format(scr.F14), &s.redundancy}, nil
}

// checkEqual compares a rebuilt member with the one that was lost.
func checkEqual(t testing.TB, got *memorySink, want memory, f scr.Family) {
	t.Helper()
	if len(got.files) != len(want.files) {
		t.Fatalf("rank %d: %d files rebuilt, want %d", want.header.Current.Rank, len(got.files), len(want.files))
	}
	for i := range want.files {
		if !bytes.Equal(got.files[i], want.files[i]) {
			t.Fatalf("rank %d: file %d (%d bytes) differs from the lost one (%d bytes)",
				want.header.Current.Rank, i, len(got.files[i]), len(want.files[i]))
		}
	}
	r := bytes.NewReader(got.redundancy)
	tree, _, err := kvtree.ReadFrom(r)
	if err != nil {
		t.Fatal(err)
	}
	if !kvtree.Equal(tree, want.header.Tree(f)) {
		t.Fatalf("rank %d: rebuilt header says something else", want.header.Current.Rank)
	}
	payload, err := io.ReadAll(r)
	if err != nil || !bytes.Equal(payload, want.payload) {
		t.Fatalf("rank %d: payload of %d bytes differs from the lost one of %d bytes (%v)",
			want.header.Current.Rank, len(payload), len(want.payload), err)
	}
	if got.open != 0 {
		t.Fatalf("%d files were left open", got.open)
	}
}

// newSet makes a set with random files of the given sizes, sizes[i][k] for file
// k of member i, and encodes it.
func newSet(t testing.TB, seed uint64, sizes [][]int, o xor.Options) []memory {
	t.Helper()
	rnd := rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8), byte(seed >> 16), byte(seed >> 24)})
	members := make([]xor.Member, len(sizes))
	set := make([]memory, len(sizes))
	ranks := 2*len(sizes) + 3
	for i := range sizes {
		members[i].Rank = scr.Rank(2*i + 1)
		members[i].Files = []scr.FileMeta{}
		for k, n := range sizes[i] {
			data := make([]byte, n)
			_, _ = rnd.Read(data)
			set[i].files = append(set[i].files, data)
			name := fmt.Sprintf("rank_%d.%d", members[i].Rank, k)
			members[i].Files = append(members[i].Files, scr.FileMeta{File: name, Type: scr.UserFile, Ranks: ranks,
				Orig: name, Path: "/p/lscratchb", Name: name, SizeBytes: int64(n), Complete: true})
		}
	}
	headers, err := xor.Headers(scr.Dataset{ID: 18, Name: "scr.dataset.18", Checkpoint: 17, Complete: true}, ranks, members)
	if err != nil {
		t.Fatal(err)
	}
	encodeInto(t, set, headers, o)
	return set
}

func encodeInto(t testing.TB, set []memory, headers []xor.Header, o xor.Options) {
	t.Helper()
	for i := range set {
		set[i].header = headers[i]
	}
	sink := make([]memorySink, 0, len(set))
	metas, err := xor.Encode(context.Background(), dataOf(set), func(h xor.Header) (io.WriteCloser, error) {
		sink = append(sink, memorySink{}) // capacity is enough: pointers into it stay good
		return sink[len(sink)-1].Redundancy(h)
	}, o)
	if err != nil {
		t.Fatal(err)
	}
	for i := range set {
		r := bytes.NewReader(sink[i].redundancy)
		h, n, err := xor.ReadHeader(r)
		if err != nil {
			t.Fatal(err)
		}
		if h.Index() != i || n != int64(len(sink[i].redundancy))-h.ChunkBytes {
			t.Fatalf("member %d: header of %d bytes is of member %d", i, n, h.Index())
		}
		if metas[i].SizeBytes != int64(len(sink[i].redundancy)) || metas[i].File != h.FileName().Format(o.Family) || sink[i].open != 0 {
			t.Fatalf("member %d: meta data %+v", i, metas[i])
		}
		set[i].payload = sink[i].redundancy[n:]
	}
}
