package daemon

import (
	"bytes"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/scrfs/scrfs/catalog"
	"github.com/scrfs/scrfs/lifecycle"
	"github.com/scrfs/scrfs/scr"
	"pgregory.net/rapid"
)

func TestEntryGoesOverTheWire(t *testing.T) {
	for _, e := range []entry{
		{Epoch: 3, Seq: 1 << 60, Fresh: 7, Op: &catalog.Op{Kind: catalog.OpCreate, Node: "n0", Request: 9, Name: "a\xff", Rank: -1, Target: "\x00"}},
		{Epoch: 1, Seq: 2, Op: &catalog.Op{Kind: catalog.OpNodeDown, Node: "n1", Kept: []scr.DatasetID{1, 5}}},
		{Seq: 3, Event: &lifecycle.Event{Kind: lifecycle.Sealed, Dataset: 4, Gen: 2, Nodes: []string{"n0"}, Files: 5, SizeBytes: 6, Err: "x", Final: true}},
		{Event: &lifecycle.Event{Kind: lifecycle.Tick}},
	} {
		b, err := e.encode()
		if err != nil {
			t.Fatal(err)
		}
		got, err := decodeEntry(b)
		if diff := cmp.Diff(e, got); err != nil || diff != "" {
			t.Errorf("%v (-sent +got):\n%s", err, diff)
		}
		for n := range b {
			if _, err := decodeEntry(b[:n]); err == nil {
				t.Errorf("%d of %d bytes are an entry", n, len(b))
			}
		}
	}
	if _, err := decodeEntry(make([]byte, 100)); err == nil {
		t.Error("kind 0 is an entry")
	}
}

func FuzzDecodeEntry(f *testing.F) {
	for _, e := range []entry{{Op: &catalog.Op{Kind: catalog.OpMkdir, Name: "a"}}, {Event: &lifecycle.Event{Kind: lifecycle.Tick}}} {
		b, err := e.encode()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		e, err := decodeEntry(b)
		if err == nil && (e.Op == nil) == (e.Event == nil) {
			t.Fatalf("%+v is no entry", e)
		}
	})
}

func TestFramesAreSplitAsTheyWereJoined(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		frames := rapid.SliceOf(rapid.SliceOf(rapid.Byte())).Draw(t, "frames")
		got, err := splitFrames(joinFrames(frames))
		if err != nil || len(got) != len(frames) {
			t.Fatalf("%d frames for %d: %v", len(got), len(frames), err)
		}
		for i := range got {
			if !bytes.Equal(got[i], frames[i]) {
				t.Fatalf("frame %d: %x, want %x", i, got[i], frames[i])
			}
		}
	})
	for _, b := range []string{"\x00", "\x00\x00\x00\x01", "\xff\xff\xff\xffx", "\x00\x00\x00\x00\x00"} {
		if _, err := splitFrames([]byte(b)); err == nil {
			t.Errorf("%x: no error", b)
		}
	}
}

func FuzzSplitFrames(f *testing.F) {
	f.Add(joinFrames([][]byte{[]byte("one"), nil, []byte("two")}))
	f.Fuzz(func(t *testing.T, b []byte) {
		frames, err := splitFrames(b)
		if err == nil && !bytes.Equal(joinFrames(frames), b) {
			t.Fatalf("%x comes back as %x", b, joinFrames(frames))
		}
	})
}

func TestOutcomeGoesOverTheWire(t *testing.T) {
	o := outcome{Seq: 1 << 40, Errno: syscall.EEXIST, Ino: 1<<63 | 5, Dataset: 77}
	got, err := decodeOutcome(o.encode())
	if err != nil || got != o {
		t.Errorf("%+v %v, want %+v", got, err, o)
	}
	if _, err := decodeOutcome(make([]byte, 31)); err == nil {
		t.Error("31 bytes are an outcome")
	}
}

func TestHistoryKeepsTheLatestWithoutAGap(t *testing.T) {
	var h history
	if _, ok := h.between(5, 6); ok {
		t.Error("an empty history has an entry")
	}
	for seq := uint64(10); seq < 10+3*historyKept; seq++ {
		h.add(seq, []byte{byte(seq)})
	}
	last := uint64(10 + 3*historyKept - 1)
	got, ok := h.between(last-historyKept, last)
	if !ok || len(got) != historyKept || got[0][0] != byte(last-historyKept+1) || got[historyKept-1][0] != byte(last) {
		t.Errorf("%d entries, %v", len(got), ok)
	}
	if got, ok := h.between(last, last); !ok || len(got) != 0 {
		t.Errorf("up to date: %d entries, %v", len(got), ok)
	}
	for _, c := range [][2]uint64{{0, last}, {last - 1, last + 1}, {last, last - 1}} {
		if _, ok := h.between(c[0], c[1]); ok {
			t.Errorf("after %d up to %d: kept", c[0], c[1])
		}
	}
	h.add(last+5, []byte{1})
	if _, ok := h.between(last-1, last); ok {
		t.Error("entries before a gap are kept")
	}
	if got, ok := h.between(last+4, last+5); !ok || len(got) != 1 {
		t.Errorf("after the gap: %d entries, %v", len(got), ok)
	}
}
