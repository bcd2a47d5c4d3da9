package kvtree

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// realFiles adds the small files that SCR wrote to a corpus.
func realFiles(f *testing.F, add func(b []byte)) {
	names, err := filepath.Glob("testdata/golden/*/*/*")
	if err != nil || len(names) == 0 {
		f.Fatalf("%d files, %v", len(names), err)
	}
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		if !strings.HasSuffix(name, ".txt") && len(b) < 1000 {
			add(b)
		}
	}
}

func FuzzUnpack(f *testing.F) {
	realFiles(f, func(b []byte) {
		if _, n, err := Decode(b); err == nil {
			f.Add(b[headerBytes : n-crcBytes])
		}
	})
	f.Add(nested(MaxDepth))
	f.Add(nested(MaxDepth + 1))
	f.Fuzz(func(t *testing.T, b []byte) {
		tree, err := Unpack(b)
		if err != nil {
			if tree != nil || !errors.Is(err, ErrFormat) {
				t.Fatalf("%v with %v", err, tree)
			}
			return
		}
		if !bytes.Equal(Pack(tree), b) {
			t.Fatal("packed again it is other bytes")
		}
		if c := tree.Clone(); !Equal(c, tree) {
			t.Fatal("its clone is another tree")
		}
		for key, sub := range tree.All() {
			if tree.Get(key) != sub {
				t.Fatalf("key %q is listed and not found", key)
			}
		}
	})
}

func FuzzDecode(f *testing.F) {
	realFiles(f, func(b []byte) { f.Add(b) })
	f.Add(fileOf([]byte{0, 0, 0, 0}, 24, 0))
	f.Fuzz(func(t *testing.T, b []byte) {
		tree, n, err := Decode(b)
		r := bytes.NewReader(b)
		read, size, readErr := ReadFrom(r)
		if (err == nil) != (readErr == nil) || !Equal(tree, read) || size != int64(len(b)-r.Len()) {
			t.Fatalf("Decode: %d bytes, %v; ReadFrom: %d bytes, %v", n, err, size, readErr)
		}
		if err != nil {
			if tree != nil || read != nil || (!errors.Is(err, ErrFormat) && !errors.Is(err, ErrCRC)) {
				t.Fatalf("%v with %v", err, tree)
			}
			return
		}
		if int64(n) != size {
			t.Fatalf("Decode: %d bytes, ReadFrom: %d", n, size)
		}
		again, _, err := Decode(Encode(tree))
		if err != nil || !Equal(again, tree) {
			t.Fatalf("encoded and decoded it is another tree: %v", err)
		}
	})
}

func FuzzParseText(f *testing.F) {
	names, err := filepath.Glob("testdata/notes/*.txt")
	if err != nil || len(names) == 0 {
		f.Fatalf("%d notes, %v", len(names), err)
	}
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(b))
	}
	f.Add("  A\n    1\n   B\n")
	f.Fuzz(func(t *testing.T, s string) {
		tree, err := ParseText(strings.NewReader(s))
		if err != nil {
			if tree != nil || !errors.Is(err, ErrFormat) {
				t.Fatalf("%v with %v", err, tree)
			}
			return
		}
		again, err := ParseText(strings.NewReader(text(t, tree)))
		if err != nil || !Equal(again, tree) || !slices.Equal(again.Keys(), tree.Keys()) {
			t.Fatalf("its text is another tree: %v", err)
		}
		if unpacked, err := Unpack(Pack(tree)); err != nil || !Equal(unpacked, tree) {
			t.Fatalf("packed it is another tree: %v", err)
		}
	})
}
