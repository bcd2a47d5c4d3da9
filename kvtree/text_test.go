package kvtree

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

// TestHashesOfThePublishedNotesAreParsed reads the hashes that SCR's developer
// notes print (Scavenge, Filemap, Containers, XOR), as they stand there: from
// the first column, and in one place three blanks deeper.
func TestHashesOfThePublishedNotesAreParsed(t *testing.T) {
	names, err := filepath.Glob("testdata/notes/*.txt")
	if err != nil || len(names) != 9 {
		t.Fatalf("%d notes, %v; want 9", len(names), err)
	}
	notes := map[string]*Tree{}
	for _, name := range names {
		b := readFile(t, name)
		tree, err := ParseText(bytes.NewReader(b))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		notes[strings.TrimSuffix(filepath.Base(name), ".txt")] = tree
		if got, want := strings.Fields(text(t, tree)), strings.Fields(string(b)); cmp.Diff(want, got) != "" {
			t.Errorf("%s: prints other words:\n%s", name, cmp.Diff(want, got))
		}
		again, _, err := Decode(Encode(tree))
		if err != nil || !Equal(again, tree) {
			t.Errorf("%s: does not survive encoding: %v", name, err)
		}
	}
	for _, tc := range []struct{ note, path, want string }{
		{"rank_filemap", "DSET 6 RANK", "2"},
		{"rank_filemap", "RANK 2 DSET 6 FILE 3_of_4_in_0.xor META CRC", "0x2ef519a1"},
		{"rank_filemap", "RANK 2 DSET 6 FILE rank_2.ckpt META TYPE", "FULL"},
		{"rank_filemap", "RANK 2 DSET 6 DSETDESC CREATED", "1312850690668536"},
		{"scan", "DLIST <dataset_id> RANK2FILE RANK <rank1> FILE <xor_filename> CRC", "<crc>"},
		{"scan", "DLIST <dataset_id> XOR <set2> MEMBER <member1> RANK", "<rank_id_of_member1_in_set2>"},
		{"scan_after", "DLIST <dataset_id> XOR <xor_setid> MEMBERS", "<num_members_in_set>"},
		{"filemap", "RANK 28 DSET 11 PARTNER", "atlas56"},
		{"container_segments", "rank_2.ckpt SEG 1 LENGTH", "300000"},
		{"xor_header", "GROUP RANK 3", "3"},
		{"xor_header", "PARTNER FILE 0 SIZE", "524296"},
		{"xor_header", "CHUNK", "174766"},
	} {
		keys := strings.Fields(tc.path)
		last := len(keys) - 1
		if got, ok := notes[tc.note].Get(keys[:last]...).Value(keys[last]); !ok || got != tc.want {
			t.Errorf("%s: %s is %q, want %q", tc.note, tc.path, got, tc.want)
		}
	}
	if got := notes["read_dir"].Get("FILE").Keys(); cmp.Diff([]string{"<file1>", "<file2>", "..."}, got) != "" {
		t.Errorf("read_dir: files %q", got)
	}
}

func TestTextKeepsBlanksInsideAndBehindNames(t *testing.T) {
	tree := New()
	tree.Sub("FILE", "my run 1.ckpt ", "META")
	tree.Sub("FILE", "\ttab\r", "\xff\xfe")
	want := "  FILE\n    my run 1.ckpt \n      META\n    \ttab\r\n      \xff\xfe\n"
	if diff := cmp.Diff(want, text(t, tree)); diff != "" {
		t.Error(diff)
	}
	if !Equal(parse(t, want), tree) {
		t.Error("it is parsed as another tree")
	}
}

func TestTextIsParsedAtAnyDepthAndWithoutAnEnd(t *testing.T) {
	want := parse(t, "A\n  1\nB\n")
	for _, text := range []string{"  A\n    1\n  B\n", "A\n   1\nB", "\n    A\n\n     1\n   \n    B\n\n"} {
		if !Equal(parse(t, text), want) {
			t.Errorf("%q is another tree", text)
		}
	}
	if got := parse(t, ""); got.Len() != 0 {
		t.Errorf("no text has %d keys", got.Len())
	}
}

func TestTextErrorsNameTheLine(t *testing.T) {
	for text, want := range map[string]string{
		"  A\nB\n": "line 2: 0 blanks are between two levels: not a valid hash",
		"RANK\n  FILE\n    SIZE\n      1024\n     COMPLETE\n": "line 5: 5 blanks are between two levels: not a valid hash",
		"A\n  1\nB\nA\n":         `line 4: key "A" stands twice: not a valid hash`,
		"A\nB\x00\n":             `line 2: key "B\x00" holds a NUL: not a valid hash`,
		deepText(MaxDepth + 1):   "line 257: deeper than 256 levels: not a valid hash",
		deepText(2*MaxDepth + 1): "line 257: deeper than 256 levels: not a valid hash",
	} {
		if _, err := ParseText(strings.NewReader(text)); !errors.Is(err, ErrFormat) || err.Error() != want {
			t.Errorf("%.60q gives %v, want %s", text, err, want)
		}
	}
	parse(t, deepText(MaxDepth))
	broken := iotest.ErrReader(os.ErrClosed)
	if _, err := ParseText(broken); !errors.Is(err, os.ErrClosed) {
		t.Errorf("a broken reader gives %v", err)
	}
}

func deepText(depth int) string {
	var b strings.Builder
	for i := range depth {
		b.WriteString(strings.Repeat(" ", i) + "K\n")
	}
	return b.String()
}

func TestKeyvalPutsFieldsOnOneLine(t *testing.T) {
	tree := parse(t, "RANK\n  0\n    FILES\n      2\n    FILE\n      a\n        NOFETCH\n        SIZE\n          5\n  1\nFLAG\n")
	want := `  RANK
    0
      FILES = 2
      FILE
        a
          NOFETCH
          SIZE = 5
    1
  FLAG
`
	var b strings.Builder
	if err := WriteKeyval(&b, tree); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Error(diff)
	}
}

func TestJSONKeepsOrderAndEveryByte(t *testing.T) {
	tree := parse(t, "SIZE\n  1501\nFLAG\nA\n  \"q\"\\\n  \xff\n  é\u2028\n  \x01\n")
	want := `{
  "SIZE": {
    "1501": {}
  },
  "FLAG": {},
  "A": {
    "\"q\"\\": {},
    "\udcff": {},
    "é\u2028": {},
    "\u0001": {}
  }
}
`
	var b strings.Builder
	if err := WriteJSON(&b, tree); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Error(diff)
	}
	b.Reset()
	if err := WriteJSON(&b, nil); err != nil || b.String() != "{}\n" {
		t.Errorf("an empty tree is %q, %v", b.String(), err)
	}
}

func TestWritersReportErrors(t *testing.T) {
	tree := parse(t, "A\n  1\n")
	for i, err := range []error{WriteText(closed{}, tree), WriteKeyval(closed{}, tree), WriteJSON(closed{}, tree)} {
		if !errors.Is(err, os.ErrClosed) {
			t.Errorf("writer %d: %v", i, err)
		}
	}
}

type closed struct{}

func (closed) Write([]byte) (int, error) { return 0, os.ErrClosed }
