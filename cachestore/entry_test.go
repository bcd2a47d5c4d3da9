package cachestore

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"testing"

	"github.com/scrfs/scrfs/scr"
)

func TestEntriesComeBack(t *testing.T) {
	for _, want := range []entry{
		{kind: kindEnter, dataset: 18, path: "run/ckpt 18/\"rank\n0\""},
		{kind: kindDrop, dataset: 1, path: "a"},
		{kind: kindMove, dataset: 1, path: "a b", to: "c\xff\x01"},
		{kind: kindMoved, dataset: 1, path: "a"},
		{kind: kindTouch, dataset: 1, path: "a"},
		{kind: kindCRC, dataset: 1, path: "a", number: 1<<32 - 1},
		{kind: kindForget, dataset: scr.MaxDatasetID},
		{kind: kindMark, number: 7},
	} {
		line := want.line()
		if bytes.IndexByte(line, '\n') != len(line)-1 {
			t.Errorf("%+v: line feed within %q", want, line)
		}
		if got, err := parseEntry(line[:len(line)-1]); err != nil || got != want {
			t.Errorf("got %+v, %v; want %+v", got, err, want)
		}
	}
}

func TestEntryHasTheFormItIsSaidToHave(t *testing.T) {
	got := string(entry{kind: kindEnter, dataset: 18, path: "run/ckpt.18/rank_0"}.line())
	text := `+ 18 "run/ckpt.18/rank_0"`
	if want := fmt.Sprintf("%08x %s\n", crc32.ChecksumIEEE([]byte(text)), text); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestOnlyWholeEntriesAreRead(t *testing.T) {
	for _, text := range []string{
		"", "+", "+ 1", "+ 1 ", "+ 1 a", `+ 1 "a`, `+ 0 "a"`, `+ x "a"`, `+ 1 "a" "b"`, `+ 1 "a" 3`, `? 1 "a"`, `m 1 "a"`, `m 1 "a" `, "# ", "# -1", "# 1 2",
		`c 1 "a"`, `c 1 "a" x`, "R", `R 1 "a"`, `+1 "a"`, `+ 1"a"`, `+ 1 "../a"`, `m 1 "a" "/b"`, `+ 1 "a//b"`,
	} {
		line := fmt.Appendf(nil, "%08x %s", crc32.ChecksumIEEE([]byte(text)), text)
		if e, err := parseEntry(line); !errors.Is(err, scr.ErrCorrupt) && !errors.Is(err, scr.ErrEscape) {
			t.Errorf("%q: got %+v, %v", text, e, err)
		}
	}
}

// Whatever a journal holds, what is read stays in its datasets, and what is
// written again reads as the same.
func FuzzJournal(f *testing.F) {
	f.Add([]byte(`5e0b6e9c + 18 "run/ckpt.18/rank_0"` + "\n"))
	f.Add(append(entry{kind: kindMark, number: 7}.line(), entry{kind: kindMove, dataset: 1, path: "a", to: "b"}.line()...))
	f.Add(append(entry{kind: kindCRC, dataset: 1, path: "a", number: 7}.line(), "torn"...))
	f.Fuzz(func(t *testing.T, data []byte) {
		list, good, err := parseJournal(data)
		if err != nil {
			return
		}
		var again []byte
		st, serr := newState("/c", scr.NewFilemap())
		if serr != nil {
			t.Fatal(serr)
		}
		for _, e := range list {
			if e.kind != kindMark && e.kind != kindForget {
				if err := checkPath(e.dataset, e.path); err != nil {
					t.Fatal(err)
				}
			}
			again = append(again, e.line()...)
			st.apply(e)
		}
		for id := range st.sets {
			for _, p := range st.pending(id) {
				if err := checkPath(id, p); err != nil {
					t.Fatalf("entry %q comes of %q: %v", p, data, err)
				}
			}
		}
		second, all, err := parseJournal(again)
		if err != nil || all != len(again) || len(second) != len(list) || good > len(data) {
			t.Fatalf("%q reads as %d entries, %v", again, len(second), err)
		}
		for i := range list {
			if list[i] != second[i] {
				t.Fatalf("got %+v, want %+v", second[i], list[i])
			}
		}
	})
}
