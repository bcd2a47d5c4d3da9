package xor_test

import (
	"bytes"
	"context"
	"errors"
	"hash/crc32"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/scrfs/scrfs/scr"
	"github.com/scrfs/scrfs/xor"
)

var f14 = xor.Options{Family: scr.F14, PieceBytes: 64}

func checkCRCs(t testing.TB, r xor.Rebuilt, sink *memorySink) {
	t.Helper()
	for i, meta := range r.Files {
		if want := scr.CRC(crc32.ChecksumIEEE(sink.files[i])); !meta.HasCRC || meta.CRC != want {
			t.Fatalf("file %d: crc %v, want %v", i, meta.CRC, want)
		}
	}
	if want := scr.CRC(crc32.ChecksumIEEE(sink.redundancy)); r.Redundancy.CRC != want {
		t.Fatalf("redundancy file: crc %v, want %v", r.Redundancy.CRC, want)
	}
}

func smallSet(t *testing.T) []memory {
	return newSet(t, 1, [][]int{{100, 0, 200}, {50}, {}, {1000, 3}}, f14)
}

// wantError rebuilds and wants an error of a kind that names what it must.
func wantError(t *testing.T, survivors []xor.MemberData, sink *memorySink, kind error, names ...string) {
	t.Helper()
	_, err := xor.Rebuild(context.Background(), survivors, sink, f14)
	if !errors.Is(err, kind) {
		t.Fatalf("got error %v, want %v", err, kind)
	}
	for _, name := range names {
		if !strings.Contains(err.Error(), name) {
			t.Errorf("error %q does not name %q", err, name)
		}
	}
	if sink.open != 0 {
		t.Errorf("%d files were left open", sink.open)
	}
}

func TestTwoLostMembersAreNamed(t *testing.T) {
	set := smallSet(t)
	sink := &memorySink{}
	wantError(t, dataOf(set, 1, 3), sink, scr.ErrUnrecoverable, "ranks 3,7")
	if sink.redundancy != nil || sink.files != nil {
		t.Error("something was written")
	}
	wantError(t, dataOf(set), &memorySink{}, scr.ErrInvalid, "no member is lost")
	wantError(t, nil, &memorySink{}, scr.ErrInvalid)
}

func TestHeadersThatDisagree(t *testing.T) {
	tests := []struct {
		name   string
		change func(h *xor.Header)
		want   string
	}{
		{"dataset", func(h *xor.Header) { h.Dataset.ID = 19 }, "rank 1 and rank 3 disagree in dataset"},
		{"same id, other time", func(h *xor.Header) { h.Dataset.CreatedMicros++ }, "dataset"},
		{"chunk", func(h *xor.Header) { h.ChunkBytes++ }, "chunk"},
		{"ranks", func(h *xor.Header) {
			h.Ranks++
			for _, m := range []*xor.Member{&h.Current, &h.Partner} {
				m.Files = slices.Clone(m.Files)
				for i := range m.Files {
					m.Files[i].Ranks++
				}
			}
		}, "ranks of the job"},
		{"group", func(h *xor.Header) { h.Group = []scr.Rank{1, 3, 5, 8} }, "members of the set"},
		{"partner's copy", func(h *xor.Header) {
			h.Partner.Files = slices.Clone(h.Partner.Files)
			h.Partner.Files[0].SizeBytes--
		}, "rank 1 and its copy in the header of rank 3"},
		{"file order", func(h *xor.Header) {
			h.Partner.Files = slices.Clone(h.Partner.Files)
			slices.Reverse(h.Partner.Files)
		}, "rank 1 and its copy"},
		{"another member", func(h *xor.Header) { h.Current.Rank, h.Partner.Rank = 1, 7 }, "two headers of rank 1"},
		{"partner is not the left one", func(h *xor.Header) { h.Partner.Rank = 5 }, "left neighbour 1"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			set := smallSet(t)
			test.change(&set[1].header)
			sink := &memorySink{}
			wantError(t, dataOf(set, 3), sink, scr.ErrInvalid, test.want)
			if sink.redundancy != nil {
				t.Error("something was written")
			}
		})
	}
}

func TestShortSurvivorsAreNamed(t *testing.T) {
	set := smallSet(t)
	set[0].files[2] = set[0].files[2][:199]
	wantError(t, dataOf(set, 3), &memorySink{}, scr.ErrCorrupt, "rebuild rank 7", "rank 1", `"rank_1.2"`, "byte 199")

	set = smallSet(t)
	set[1].payload = set[1].payload[:len(set[1].payload)-1]
	sink := &memorySink{}
	wantError(t, dataOf(set, 3), sink, scr.ErrCorrupt, "rank 3", "payload")
	if sink.redundancy != nil {
		t.Error("something was written")
	}
}

// A chunk size of exabytes must not make us write zeros until the disk is full.
func TestHugeChunkWritesNothing(t *testing.T) {
	set := smallSet(t)
	for i := range set {
		set[i].header.ChunkBytes = 1 << 60
	}
	sink := &memorySink{}
	wantError(t, dataOf(set, 0), sink, scr.ErrCorrupt, "payload")
	if sink.redundancy != nil {
		t.Error("something was written")
	}
}

func TestRecordedCRCIsCompared(t *testing.T) {
	set := smallSet(t)
	good := scr.CRC(crc32.ChecksumIEEE(set[0].files[2]))
	withCRC := func(crc scr.CRC) []memory {
		set := smallSet(t)
		for _, m := range []*xor.Member{&set[0].header.Current, &set[1].header.Partner} {
			m.Files = slices.Clone(m.Files)
			m.Files[2].CRC, m.Files[2].HasCRC = crc, true
		}
		return set
	}
	if _, err := xor.Rebuild(context.Background(), dataOf(withCRC(good), 0), &memorySink{}, f14); err != nil {
		t.Errorf("the right crc: %v", err)
	}
	wantError(t, dataOf(withCRC(good+1), 0), &memorySink{}, scr.ErrCorrupt, "rank 1", `"rank_1.2"`, good.String())
}

func TestDamagedSurvivorShowsInThePadding(t *testing.T) {
	set := smallSet(t)
	set[3].files[0][999] ^= 4 // beside the padding of the lost member, pieces away from its end
	o := f14
	o.CheckPadding = true
	_, err := xor.Rebuild(context.Background(), dataOf(set, 0), &memorySink{}, o)
	if !errors.Is(err, scr.ErrCorrupt) || !strings.Contains(err.Error(), "padding") {
		t.Errorf("got error %v", err)
	}
	if err := xor.Verify(context.Background(), dataOf(set), f14); !errors.Is(err, scr.ErrCorrupt) {
		t.Errorf("verify: %v", err)
	}
}

func TestWriteErrorsNameTheFileAndLeaveNothingOpen(t *testing.T) {
	full := errors.New("no space left on device")
	set := smallSet(t)
	for _, name := range []string{"rank_7.0", "rank_7.1", "4_of_4_in_1.xor"} {
		sink := &memorySink{fail: func(n string) error {
			if n == name {
				return full
			}
			return nil
		}}
		wantError(t, dataOf(set, 3), sink, full, "rebuild rank 7", name)
	}
}

func TestReadErrorsNameRankAndFile(t *testing.T) {
	broken := errors.New("input/output error")
	set := smallSet(t)
	survivors := dataOf(set, 3)
	survivors[1].Files[0] = failingReader{broken}
	wantError(t, survivors, &memorySink{}, broken, "rank 3", `"rank_3.0"`)
}

type failingReader struct{ err error }

func (r failingReader) ReadAt([]byte, int64) (int, error) { return 0, r.err }

func TestCancelStops(t *testing.T) {
	set := smallSet(t)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	sink := &memorySink{}
	if _, err := xor.Rebuild(ctx, dataOf(set, 3), sink, f14); !errors.Is(err, context.Canceled) {
		t.Errorf("got error %v", err)
	}
	if sink.open != 0 {
		t.Errorf("%d files were left open", sink.open)
	}
}

func TestEncodeRefusesPartOfASet(t *testing.T) {
	create := func(xor.Header) (io.WriteCloser, error) {
		t.Error("a file was created")
		return nil, errors.New("no")
	}
	set := smallSet(t)
	if _, err := xor.Encode(context.Background(), dataOf(set, 2), create, f14); !errors.Is(err, scr.ErrIncomplete) {
		t.Errorf("got error %v", err)
	}
	data := dataOf(set)
	slices.Reverse(data)
	if _, err := xor.Encode(context.Background(), data, create, f14); !errors.Is(err, scr.ErrInvalid) {
		t.Errorf("got error %v", err)
	}
	data = dataOf(set)
	data[0].Files = data[0].Files[:1]
	if _, err := xor.Encode(context.Background(), data, create, f14); !errors.Is(err, scr.ErrInvalid) {
		t.Errorf("got error %v", err)
	}
}

func TestLogicalFileReadsAcrossFilesAndPadsWithZeros(t *testing.T) {
	metas := []scr.FileMeta{{SizeBytes: 3}, {SizeBytes: 0}, {SizeBytes: 2}}
	l, err := xor.NewLogical(metas, []io.ReaderAt{strings.NewReader("abcX"), nil, strings.NewReader("de")})
	if err != nil {
		t.Fatal(err)
	}
	for off, want := range map[int64]string{0: "abcde\x00", 2: "cde\x00\x00\x00", 3: "de\x00\x00\x00\x00", 9: "\x00\x00\x00\x00\x00\x00"} {
		got := bytes.Repeat([]byte("?"), 6)
		if n, err := l.ReadAt(got, off); n != 6 || err != nil || string(got) != want {
			t.Errorf("offset %d: %d bytes %q, %v; want %q", off, n, got, err, want)
		}
	}
	if _, err := l.ReadAt(make([]byte, 1), -1); err == nil {
		t.Error("a negative offset is accepted")
	}
}
