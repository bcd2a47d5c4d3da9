package kvtree

import (
	"bytes"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestRealFilesReadAsSCRPrintsThem reads hash files that SCR wrote in its
// three families, each with the text its own printer makes of it.
func TestRealFilesReadAsSCRPrintsThem(t *testing.T) {
	counts := map[string]int{}
	root := "testdata/golden"
	walkDumps(t, root, func(dump string) {
		name := strings.TrimSuffix(dump, ".txt")
		rel, _ := filepath.Rel(root, name)
		counts[rel[:3]]++
		checkRealFile(t, name, dump)
	})
	for _, family := range []string{"f11", "f14", "f12"} {
		if counts[family] < 15 {
			t.Errorf("%d files of family %s, want 15 or more", counts[family], family)
		}
	}
}

// TestEveryGoldenFile does the same with all the files of the golden runs,
// where they are at hand.
func TestEveryGoldenFile(t *testing.T) {
	root := os.Getenv("SCRFS_GOLDEN")
	if root == "" {
		root = "../../shared/golden"
		if _, err := os.Stat(root); err != nil {
			t.Skip("no golden files: SCRFS_GOLDEN names no directory")
		}
	}
	files := 0
	walkDumps(t, root, func(dump string) {
		if !strings.Contains(dump, "/dumps/") {
			return
		}
		files++
		name := strings.TrimSuffix(strings.Replace(dump, "/dumps/", "/", 1), ".txt")
		checkRealFile(t, name, dump)
	})
	if files == 0 {
		t.Fatalf("no dumps below %s", root)
	}
	t.Logf("%d hash files", files)
}

func walkDumps(t *testing.T, root string, check func(dump string)) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && strings.HasSuffix(path, ".txt") {
			check(path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func checkRealFile(t *testing.T, name, dump string) {
	t.Helper()
	b, want := readFile(t, name), readFile(t, dump)
	tree, n, err := Decode(b)
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return
	}
	if got := text(t, tree); got != string(want) {
		t.Errorf("%s prints as\n%s\nSCR prints\n%s", name, got, want)
	}
	if got := Encode(tree); !bytes.Equal(got, b[:n]) {
		t.Errorf("%s is not encoded again as it was", name)
	}
	parsed, err := ParseText(bytes.NewReader(want))
	if err != nil || !Equal(parsed, tree) {
		t.Errorf("%s: its text is another tree (%v)", dump, err)
	}
	r := bytes.NewReader(b)
	read, size, err := ReadFrom(r)
	if err != nil || size != int64(n) || !Equal(read, tree) {
		t.Errorf("%s: ReadFrom read %d bytes, %v; Decode %d bytes", name, size, err, n)
	}
	if rest, _ := io.ReadAll(r); !bytes.Equal(rest, b[n:]) {
		t.Errorf("%s: the reader stands %d bytes from the end, want %d", name, len(rest), len(b)-n)
	}
}

// TestXORFileHasDataBehindItsHash holds the length of that data against the
// header: CHUNK bytes, in every family.
func TestXORFileHasDataBehindItsHash(t *testing.T) {
	for _, name := range []string{"f11/xor4-nofile/4_of_4_in_0.xor", "f14/xor4-nofile/4_of_4_in_0.xor", "f12/xor4-nofile/xor.0_4_of_4.scr"} {
		b := readFile(t, "testdata/golden/"+name)
		tree, n, err := Decode(b)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		chunk, err := tree.Int("CHUNK")
		if err != nil || chunk != 100 || int64(len(b)-n) != chunk {
			t.Errorf("%s: CHUNK %d (%v), %d bytes behind the hash; want 100 and 100", name, chunk, err, len(b)-n)
		}
	}
}

func readFile(t *testing.T, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func text(t *testing.T, tree *Tree) string {
	t.Helper()
	var b strings.Builder
	if err := WriteText(&b, tree); err != nil {
		t.Fatal(err)
	}
	return b.String()
}
