package kvtree

import (
	"encoding/hex"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// block is a code block of docs/formats.md that shows a file: a comment line
// <!-- hexdump: FILE --> or <!-- text: FILE -->, and the block below it.
var block = regexp.MustCompile("(?s)<!-- (hexdump|text): (\\S+) -->\n```\n(.*?)```\n")

// TestDocumentedDumpsAreTheFiles holds the dumps in docs/formats.md against the
// files they show.
func TestDocumentedDumpsAreTheFiles(t *testing.T) {
	doc := string(readFile(t, "../docs/formats.md"))
	seen := map[string]int{}
	for _, m := range block.FindAllStringSubmatch(doc, -1) {
		kind, file := m[1], readFile(t, "testdata/golden/"+m[2])
		seen[kind]++
		if kind == "text" {
			tree, _, err := Decode(file)
			if err != nil {
				t.Fatal(m[2], err)
			}
			if diff := cmp.Diff(text(t, tree), m[3]); diff != "" {
				t.Errorf("%s: the text in formats.md is another one\n%s", m[2], diff)
			}
			continue
		}
		if err := checkHexdump(m[3], file); err != nil {
			t.Errorf("%s: %v", m[2], err)
		}
	}
	if seen["hexdump"] != 2 || seen["text"] != 2 || strings.Count(doc, "\n<!-- ") != 4 {
		t.Errorf("blocks found: %v, want 2 hexdumps and 2 texts", seen)
	}
}

// checkHexdump compares lines of xxd with a file. A line of dots stands for
// lines left out; what is not left out must be all of the file.
func checkHexdump(dump string, file []byte) error {
	at, gap := 0, false
	for line := range strings.Lines(dump) {
		line = strings.TrimSuffix(line, "\n")
		if line == "..." {
			gap = true
			continue
		}
		offset, err := strconv.ParseInt(line[:8], 16, 32)
		if err != nil {
			return err
		}
		if int(offset) != at && !gap || int(offset) < at {
			return fmt.Errorf("line %q follows on offset %#x", line, at)
		}
		want := file[offset:min(int(offset)+16, len(file))]
		got, err := hex.DecodeString(strings.ReplaceAll(strings.TrimSpace(line[10:51]), " ", ""))
		if err != nil {
			return err
		}
		if string(got) != string(want) || line[51:] != printable(want) {
			return fmt.Errorf("line %q, want %x  %s", line, want, printable(want))
		}
		at, gap = int(offset)+len(want), false
	}
	if at != len(file) {
		return fmt.Errorf("dump ends at %#x, the file at %#x", at, len(file))
	}
	return nil
}

func printable(b []byte) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return '.'
		}
		return r
	}, string(latin1(b)))
}

func latin1(b []byte) []rune {
	out := make([]rune, len(b))
	for i, c := range b {
		out[i] = rune(c)
	}
	return out
}
