package xor_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/scrfs/scrfs/kvtree"
	"github.com/scrfs/scrfs/scr"
	"github.com/scrfs/scrfs/xor"
)

// The header that SCR's note on XOR prints, with the type of 2011.
const printedHeader = `  DSET
    COMPLETE
      1
    SIZE
      2097182
    FILES
      4
    ID
      6
    NAME
      scr.dataset.6
    CREATED
      1312850690668536
    USER
      user1
    JOBNAME
      simulation123
    JOBID
      112573
    CKPT
      6
  RANKS
    4
  GROUP
    RANKS
      4
    RANK
      0
        0
      1
        1
      2
        2
      3
        3
  CHUNK
    174766
  CURRENT
    RANK
      3
    FILES
      1
    FILE
      0
        FILE
          rank_3.ckpt
        TYPE
          FULL
        RANKS
          4
        ORIG
          rank_3.ckpt
        PATH
          /p/lscratchb/user1/simulation123
        NAME
          rank_3.ckpt
        SIZE
          524297
        COMPLETE
          1
  PARTNER
    RANK
      2
    FILES
      1
    FILE
      0
        FILE
          rank_2.ckpt
        TYPE
          FULL
        RANKS
          4
        ORIG
          rank_2.ckpt
        PATH
          /p/lscratchb/user1/simulation123
        NAME
          rank_2.ckpt
        SIZE
          524296
        COMPLETE
          1
`

func printedTree(t testing.TB) *kvtree.Tree {
	t.Helper()
	tree, err := kvtree.ParseText(strings.NewReader(printedHeader))
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

func TestHeaderOfThePublishedNote(t *testing.T) {
	file := func(name string, n int64) []scr.FileMeta {
		return []scr.FileMeta{{File: name, Type: scr.UserFile, Ranks: 4, Orig: name,
			Path: "/p/lscratchb/user1/simulation123", Name: name, SizeBytes: n, Complete: true}}
	}
	want := xor.Header{
		Dataset: scr.Dataset{ID: 6, Name: "scr.dataset.6", CreatedMicros: 1312850690668536, User: "user1",
			JobName: "simulation123", JobID: "112573", Checkpoint: 6, Files: 4, SizeBytes: 2097182, Complete: true},
		Ranks: 4, Group: []scr.Rank{0, 1, 2, 3}, ChunkBytes: 174766,
		Current: xor.Member{Rank: 3, Files: file("rank_3.ckpt", 524297)},
		Partner: xor.Member{Rank: 2, Files: file("rank_2.ckpt", 524296)},
	}
	got, err := xor.HeaderFromTree(printedTree(t))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("header (-want +got):\n%s", diff)
	}
	if !kvtree.Equal(got.Tree(scr.F11), printedTree(t)) {
		t.Error("written again it says something else")
	}
	if name := got.FileName().Format(scr.F11); name != "4_of_4_in_0.xor" {
		t.Errorf("its file is %s", name)
	}
}

func TestReadHeaderStopsAtThePayload(t *testing.T) {
	h, err := xor.HeaderFromTree(printedTree(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range scr.Families() {
		head := h.Encode(f)
		r := bytes.NewReader(append(head, "payload"...))
		got, n, err := xor.ReadHeader(r)
		if err != nil || n != int64(len(head)) || r.Len() != len("payload") {
			t.Fatalf("%v: %d bytes of %d, %d left, %v", f, n, len(head), r.Len(), err)
		}
		if diff := cmp.Diff(h, got); diff != "" {
			t.Errorf("%v: %s", f, diff)
		}
		for cut := range len(head) {
			if _, _, err := xor.ReadHeader(bytes.NewReader(head[:cut])); err == nil {
				t.Fatalf("%v: %d bytes of %d are accepted", f, cut, len(head))
			}
		}
		for i := range head {
			bad := bytes.Clone(head)
			bad[i] ^= 0x10
			if _, _, err := xor.ReadHeader(bytes.NewReader(bad)); err == nil {
				t.Fatalf("%v: byte %d altered is accepted", f, i)
			}
		}
	}
}

func TestImpossibleHeadersAreRefused(t *testing.T) {
	tests := []struct {
		name   string
		change func(t *kvtree.Tree)
		want   string
	}{
		{"empty", func(t *kvtree.Tree) { *t = kvtree.Tree{} }, "RANKS"},
		{"no chunk", func(t *kvtree.Tree) { t.Unset("CHUNK") }, "CHUNK"},
		{"chunk 0", func(t *kvtree.Tree) { t.PutInt("CHUNK", 0) }, "chunk of 0"},
		{"negative chunk", func(t *kvtree.Tree) { t.PutInt("CHUNK", -5) }, "CHUNK"},
		{"chunk that overflows", func(t *kvtree.Tree) { t.PutInt("CHUNK", 1<<62) }, "overflow"},
		{"chunk too small for the files", func(t *kvtree.Tree) { t.PutInt("CHUNK", 174765) }, "chunks hold 524295"},
		{"no group", func(t *kvtree.Tree) { t.Unset("GROUP") }, "GROUP"},
		{"group of one", func(t *kvtree.Tree) {
			t.Set("GROUP", kvtree.New()).PutInt("RANKS", 1)
			t.Get("GROUP").Sub("RANK").PutInt("0", 3)
		}, "1 members"},
		{"group count", func(t *kvtree.Tree) { t.Get("GROUP").PutInt("RANKS", 5) }, "RANKS says 5"},
		{"group with a gap", func(t *kvtree.Tree) {
			t.Unset("GROUP", "RANK", "2")
			t.Get("GROUP", "RANK").PutInt("4", 4)
		}, "entry 2"},
		{"rank twice", func(t *kvtree.Tree) { t.Get("GROUP", "RANK").PutInt("1", 0) }, "ascend"},
		{"members out of order", func(t *kvtree.Tree) {
			t.Get("GROUP", "RANK").PutInt("0", 1)
			t.Get("GROUP", "RANK").PutInt("1", 0)
		}, "ascend"},
		{"rank beyond the job", func(t *kvtree.Tree) { t.Get("GROUP", "RANK").PutInt("3", 4) }, "rank 4 of 4"},
		{"negative rank", func(t *kvtree.Tree) { t.Get("GROUP", "RANK").PutInt("0", -1) }, "rank"},
		{"rank is a word", func(t *kvtree.Tree) { t.Get("GROUP", "RANK").PutString("0", "zero") }, "zero"},
		{"endless job", func(t *kvtree.Tree) { t.PutInt("RANKS", 1<<40) }, "RANKS"},
		{"no dataset", func(t *kvtree.Tree) { t.Unset("DSET") }, "dataset"},
		{"current is a stranger", func(t *kvtree.Tree) {
			t.PutInt("RANKS", 9)
			for _, m := range []string{"CURRENT", "PARTNER"} {
				t.Get(m, "FILE", "0").PutInt("RANKS", 9)
			}
			t.Get("CURRENT").PutInt("RANK", 7)
		}, "rank 7 is no member"},
		{"partner is the right one", func(t *kvtree.Tree) { t.Get("PARTNER").PutInt("RANK", 0) }, "left neighbour 2"},
		{"file count", func(t *kvtree.Tree) { t.Get("CURRENT").PutInt("FILES", 2) }, "FILES says 2"},
		{"file index", func(t *kvtree.Tree) {
			t.Get("PARTNER", "FILE").Set("00", t.Get("PARTNER", "FILE", "0"))
			t.Unset("PARTNER", "FILE", "0")
		}, "entry 0"},
		{"negative size", func(t *kvtree.Tree) { t.Get("CURRENT", "FILE", "0").PutInt("SIZE", -1) }, "SIZE"},
		{"sizes that overflow", func(t *kvtree.Tree) {
			t.Get("CURRENT").PutInt("FILES", 2)
			t.Get("CURRENT", "FILE", "0").PutInt("SIZE", 1<<62)
			t.Get("CURRENT", "FILE").Set("1", t.Get("CURRENT", "FILE", "0").Clone()).PutInt("SIZE", 1<<62)
		}, "bytes"},
		{"no file name", func(t *kvtree.Tree) { t.Get("CURRENT", "FILE", "0").Unset("FILE") }, "no name"},
		{"redundancy of redundancy", func(t *kvtree.Tree) { t.Get("CURRENT", "FILE", "0").PutString("TYPE", "XOR") }, "type XOR"},
		{"file of another job", func(t *kvtree.Tree) { t.Get("CURRENT", "FILE", "0").PutInt("RANKS", 8) }, "job of 8"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			tree := printedTree(t)
			test.change(tree)
			_, err := xor.HeaderFromTree(tree)
			if !errors.Is(err, scr.ErrInvalid) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got error %v, want one with %q", err, test.want)
			}
		})
	}
}

func TestFileNames(t *testing.T) {
	n := xor.FileName{Member: 2, Members: 4, Set: 10}
	for f, want := range map[scr.Family]string{scr.F11: "3_of_4_in_10.xor", scr.F14: "3_of_4_in_10.xor", scr.F12: "xor.10_3_of_4.scr"} {
		if got := n.Format(f); got != want {
			t.Errorf("%v: %s, want %s", f, got, want)
		}
		if got, ok := xor.ParseFileName(f, want); !ok || got != n {
			t.Errorf("%v: %s is parsed as %+v, %v", f, want, got, ok)
		}
	}
}

func TestOtherNamesAreNoRedundancyFiles(t *testing.T) {
	for f, names := range map[scr.Family][]string{
		scr.F14: {"", ".xor", "1_of_4_in_0", "1_of_4_in_0.xor~", "a1_of_4_in_0.xor", "0_of_4_in_0.xor", "5_of_4_in_0.xor",
			"01_of_4_in_0.xor", "+1_of_4_in_0.xor", "1_of_4_in_-1.xor", "1_of_4_in_.xor", "1_of__in_0.xor", "1_of_4.xor",
			"1_in_4_of_0.xor", "1_of_4_in_0_in_0.xor", "1_of_99999999999999999999_in_0.xor", "x/1_of_4_in_0.xor", "xor.0_1_of_4.scr"},
		scr.F12: {"", "xor..scr", "xor.0_1_of_4", "xor.0_0_of_4.scr", "xor.0_5_of_4.scr", "xor.00_1_of_4.scr", "xor.0_1_of_4_of_4.scr",
			"xor.0.scr", "xor._1_of_4.scr", "1_of_4_in_0.xor", fmt.Sprintf("xor.%d_1_of_4.scr", 1<<40)},
	} {
		for _, name := range names {
			if got, ok := xor.ParseFileName(f, name); ok {
				t.Errorf("%v: %q is taken as %+v", f, name, got)
			}
		}
	}
}
