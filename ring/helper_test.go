package ring_test

import (
	"bytes"
	"context"
	"fmt"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"github.com/scrfs/scrfs/ring"
	"github.com/scrfs/scrfs/scr"
	"github.com/scrfs/scrfs/xor"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// set is a redundancy set in memory, with what the offline encoder made of it.
type set struct {
	headers  []xor.Header
	files    [][][]byte
	payloads [][]byte
}

// newSet makes random files, sizes[i][k] bytes for file k of member i.
func newSet(t testing.TB, seed uint64, sizes [][]int) set {
	t.Helper()
	rnd := rand.New(rand.NewPCG(seed, 1))
	s := set{files: make([][][]byte, len(sizes))}
	members := make([]xor.Member, len(sizes))
	for i, list := range sizes {
		members[i] = xor.Member{Rank: scr.Rank(i), Files: []scr.FileMeta{}}
		for k, n := range list {
			data := make([]byte, n)
			for b := range data {
				data[b] = byte(rnd.Uint32())
			}
			s.files[i] = append(s.files[i], data)
			name := fmt.Sprintf("rank_%d.%d", i, k)
			members[i].Files = append(members[i].Files, scr.FileMeta{File: name, Type: scr.UserFile, Ranks: len(sizes),
				Orig: name, Path: "/p", Name: name, SizeBytes: int64(n), Complete: true})
		}
	}
	var err error
	s.headers, err = xor.Headers(scr.Dataset{ID: 1, Name: "scr.dataset.1", Complete: true}, len(sizes), members)
	if err != nil {
		t.Fatal(err)
	}
	s.encodeOffline(t)
	return s
}

type payloadBuffer struct{ bytes.Buffer }

func (*payloadBuffer) Close() error { return nil }

func (s *set) encodeOffline(t testing.TB) {
	t.Helper()
	var data []xor.MemberData
	for i, h := range s.headers {
		d := xor.MemberData{Header: h}
		for _, f := range s.files[i] {
			d.Files = append(d.Files, bytes.NewReader(f))
		}
		data = append(data, d)
	}
	var made []*payloadBuffer
	_, err := xor.Encode(context.Background(), data, func(xor.Header) (io.WriteCloser, error) {
		b := &payloadBuffer{}
		made = append(made, b)
		return b, nil
	}, xor.Options{Family: scr.F14})
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range made {
		if _, _, err := xor.ReadHeader(b); err != nil {
			t.Fatal(err)
		}
		s.payloads = append(s.payloads, b.Bytes())
	}
}

func (s set) member(t testing.TB, i int) ring.Member {
	t.Helper()
	h := s.headers[i]
	var open []io.ReaderAt
	var sizes []int64
	for _, f := range s.files[i] {
		open = append(open, bytes.NewReader(f))
		sizes = append(sizes, int64(len(f)))
	}
	logical, err := xor.NewLogical(h.Current.Files, open)
	if err != nil {
		t.Fatal(err)
	}
	return ring.Member{Layout: h.Layout(), Index: i, Logical: logical, FileBytes: sizes}
}

// check compares what member i made with the offline result.
func (s set) check(t testing.TB, i int, got []byte, info ring.Info) {
	t.Helper()
	if !bytes.Equal(got, s.payloads[i]) {
		t.Errorf("member %d of %d: payload of %d bytes is not that of the offline encoder, %d bytes",
			i, len(s.headers), len(got), len(s.payloads[i]))
	}
	if want := scr.CRC(crc32.ChecksumIEEE(s.payloads[i])); info.PayloadCRC != want {
		t.Errorf("member %d: payload CRC %v, want %v", i, info.PayloadCRC, want)
	}
	if len(info.FileCRC) != len(s.files[i]) {
		t.Fatalf("member %d: %d CRCs of %d files", i, len(info.FileCRC), len(s.files[i]))
	}
	for k, f := range s.files[i] {
		if want := scr.CRC(crc32.ChecksumIEEE(f)); info.FileCRC[k] != want {
			t.Errorf("member %d: CRC of file %d, %d bytes: %v, want %v", i, k, len(f), info.FileCRC[k], want)
		}
	}
}

// pipeLinks is a ring of pipes without any buffer.
type pipeLinks struct {
	left  io.ReadCloser
	right io.WriteCloser
}

func (l pipeLinks) Left(context.Context) (io.ReadCloser, error)   { return l.left, nil }
func (l pipeLinks) Right(context.Context) (io.WriteCloser, error) { return l.right, nil }

func pipes(n int) []pipeLinks {
	links := make([]pipeLinks, n)
	for i := range n {
		in, out := net.Pipe()
		links[i].right = out
		links[(i+1)%n].left = in
	}
	return links
}

// counted notes how often each byte is read, in units of the reads it sees.
type counted struct {
	io.ReaderAt
	bytes atomic.Int64
	mu    sync.Mutex
	seen  map[int64]int
}

func (c *counted) ReadAt(p []byte, off int64) (int, error) {
	c.bytes.Add(int64(len(p)))
	c.mu.Lock()
	c.seen[off]++
	c.mu.Unlock()
	return c.ReaderAt.ReadAt(p, off)
}
