package xor_test

import (
	"context"
	"io"
	"sync"
	"testing"

	"github.com/scrfs/scrfs/scr"
	"github.com/scrfs/scrfs/xor"
)

// meter counts how often each byte of a reader is read, and how many reads of
// all its readers are under way.
type meter struct {
	mu            sync.Mutex
	now, most     int
	readersByName map[string]*meteredReader
}

type meteredReader struct {
	meter *meter
	from  io.ReaderAt
	times []int
}

func (m *meter) wrap(name string, from io.ReaderAt, size int) io.ReaderAt {
	r := &meteredReader{meter: m, from: from, times: make([]int, size)}
	m.readersByName[name] = r
	return r
}

func (r *meteredReader) ReadAt(p []byte, off int64) (int, error) {
	r.meter.mu.Lock()
	r.meter.now++
	r.meter.most = max(r.meter.most, r.meter.now)
	for i := range p {
		r.times[off+int64(i)]++
	}
	r.meter.mu.Unlock()
	defer func() {
		r.meter.mu.Lock()
		r.meter.now--
		r.meter.mu.Unlock()
	}()
	return r.from.ReadAt(p, off)
}

func (m *meter) dataOf(set []memory, lost int) []xor.MemberData {
	m.readersByName = make(map[string]*meteredReader)
	var list []xor.MemberData
	for i, member := range set {
		if i == lost {
			continue
		}
		d := member.data()
		for k := range d.Files {
			d.Files[k] = m.wrap(member.header.Current.Files[k].File, d.Files[k], len(member.files[k]))
		}
		d.Payload = m.wrap("payload of "+member.header.Current.Rank.String(), d.Payload, len(member.payload))
		list = append(list, d)
	}
	return list
}

func TestEachByteIsReadOnceByNoMoreThanTheWorkers(t *testing.T) {
	o := xor.Options{Family: scr.F14, PieceBytes: 64, Workers: 3, CheckPadding: true}
	set := newSet(t, 3, [][]int{{5000, 0, 17}, {4000, 900}, {}, {1000, 3}, {5017}}, o)

	t.Run("encode", func(t *testing.T) {
		m := &meter{}
		create := func(h xor.Header) (io.WriteCloser, error) { return (&memorySink{}).Redundancy(h) }
		if _, err := xor.Encode(context.Background(), m.dataOf(set, -1), create, o); err != nil {
			t.Fatal(err)
		}
		for name, r := range m.readersByName {
			for at, n := range r.times {
				if want := boolToInt(name[0] == 'r'); n != want { // "rank_..."; payloads are not there to be read
					t.Fatalf("%s: byte %d is read %d times, want %d", name, at, n, want)
				}
			}
		}
		if m.most > o.Workers {
			t.Errorf("%d reads at once, of %d workers", m.most, o.Workers)
		}
	})
	t.Run("rebuild", func(t *testing.T) {
		m := &meter{}
		if _, err := xor.Rebuild(context.Background(), m.dataOf(set, 0), &memorySink{}, o); err != nil {
			t.Fatal(err)
		}
		for name, r := range m.readersByName {
			for at, n := range r.times {
				want := 1
				if name[0] == 'p' && at == len(r.times)-1 {
					want = 2 // the end of a payload is looked at before anything is written
				}
				if n != want {
					t.Fatalf("%s: byte %d is read %d times, want %d", name, at, n, want)
				}
			}
		}
		if m.most > o.Workers {
			t.Errorf("%d reads at once, of %d workers", m.most, o.Workers)
		}
	})
}

// Without CheckPadding the survivors are read only as far as the lost member's
// files went, and for the payload.
func TestPaddingIsNotReadUnlessAskedFor(t *testing.T) {
	set := newSet(t, 4, [][]int{{}, {6000}, {6000}, {6000}}, f14)
	m := &meter{}
	if _, err := xor.Rebuild(context.Background(), m.dataOf(set, 0), &memorySink{}, f14); err != nil {
		t.Fatal(err)
	}
	read := 0
	for _, r := range m.readersByName {
		for _, n := range r.times {
			read += n
		}
	}
	if want := 3*2000 + 3; read != want { // the blocks beside the lost payload, and the ends of payloads
		t.Errorf("%d bytes are read, want %d", read, want)
	}
}

func boolToInt(b bool) int {
	if b {
		return 1
	}
	return 0
}
