package indexer

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/scrfs/scrfs/internal/disk"
	"github.com/scrfs/scrfs/kvtree"
	"github.com/scrfs/scrfs/scr"
	"github.com/scrfs/scrfs/xor"
)

// checkUserFiles compares all user files of the datasets that are there with
// what the program wrote.
func (g golden) checkUserFiles(t *testing.T, fsys disk.FS) {
	t.Helper()
	spec, err := os.Open(filepath.Join(g.dir, "spec.txt"))
	if err != nil {
		t.Fatal(err)
	}
	defer spec.Close()
	line := map[[2]int]int{}
	checked := 0
	for in := bufio.NewScanner(spec); in.Scan(); {
		var ckpt, rank, size int
		var name string
		if _, err := fmt.Sscan(in.Text(), &ckpt, &rank, &name, &size); err != nil {
			t.Fatalf("%q: %v", in.Text(), err)
		}
		i := line[[2]int{ckpt, rank}]
		line[[2]int{ckpt, rank}]++
		if !slices.ContainsFunc(g.added(), func(a string) bool { return a == fmt.Sprint(ckpt) || a == scr.DatasetName(scr.DatasetID(ckpt)) }) {
			continue
		}
		at := path.Join(scr.DatasetName(scr.DatasetID(ckpt)), path.Base(name))
		if g.family == scr.F12 && !strings.Contains(g.Case, "nopreserve") {
			at = name
		}
		got, err := disk.ReadFile(fsys, at)
		if err != nil {
			t.Error(err)
			continue
		}
		checked++
		if !bytes.Equal(got, contents(uint64(ckpt*1000000+rank*1000+i), size)) {
			t.Errorf("%s is not what rank %d wrote", at, rank)
		}
	}
	if checked == 0 {
		t.Error("no file was checked")
	}
}

func contents(seed uint64, size int) []byte {
	out := make([]byte, 0, size+8)
	for k := uint64(0); len(out) < size; k++ {
		x := seed + k + 0x9E3779B97F4A7C15
		x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9
		x = (x ^ (x >> 27)) * 0x94D049BB133111EB
		out = binary.LittleEndian.AppendUint64(out, x^(x>>31))
	}
	return out[:size]
}

// everything is all files with their contents, .scr included.
func everything(t testing.TB, fsys disk.FS) tree {
	t.Helper()
	out := tree{}
	var walk func(dir string)
	walk = func(dir string) {
		list, err := fsys.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range list {
			name := path.Join(dir, e.Name())
			if e.IsDir() {
				walk(name)
				continue
			}
			if e.Type() == fs.ModeSymlink {
				target, err := fsys.Readlink(name)
				if err != nil {
					t.Fatal(err)
				}
				out[name] = "-> " + target
				continue
			}
			data, err := disk.ReadFile(fsys, name)
			if err != nil {
				t.Fatal(err)
			}
			out[name] = string(data)
		}
	}
	walk(".")
	return out
}

// compare holds got against what SCR left. Locks are ours alone; the time in
// the index is that of the test.
func (g golden) compare(t *testing.T, got, want disk.FS) {
	t.Helper()
	have, wanted := everything(t, got), everything(t, want)
	for name := range have {
		if strings.HasSuffix(name, ".lock") {
			delete(have, name)
		} else if _, ok := wanted[name]; !ok {
			t.Errorf("%s is there, SCR did not make it", name)
		}
	}
	for name, w := range wanted {
		h, ok := have[name]
		switch {
		case !ok:
			t.Errorf("%s is not there", name)
		case h == w:
		case !strings.HasPrefix(w, "\x95\x1f\xc3\xf5"):
			t.Errorf("%s has other contents", name)
		default:
			g.compareHash(t, name, []byte(h), []byte(w))
		}
	}
}

// compareHash compares as trees: the order of elements has no meaning. SCR and
// scrfs write the header of a redundancy file in different orders, so that its
// checksum differs; that ours is right Verify tells.
func (g golden) compareHash(t *testing.T, name string, got, want []byte) {
	t.Helper()
	g1, n, err := kvtree.Decode(got)
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return
	}
	w1, wn, err := kvtree.Decode(want)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got[n:], want[wn:]) {
		t.Errorf("%s: the payload is another", name)
	}
	for _, tr := range []*kvtree.Tree{g1, w1} {
		forget(g.family, tr)
	}
	if !kvtree.Equal(g1, w1) {
		var a, b bytes.Buffer
		if err := errors.Join(kvtree.WriteText(&a, g1), kvtree.WriteText(&b, w1)); err != nil {
			t.Fatal(err)
		}
		t.Errorf("%s is\n%s\nwant\n%s", name, a.String(), b.String())
	}
}

// forget takes the checksums of redundancy files and the time of the flush out
// of a hash.
func forget(f scr.Family, t *kvtree.Tree) {
	for key, sub := range t.All() {
		if key == "FLUSHED" {
			sub.Unset(sub.Keys()[0])
		}
		if _, ok := xor.ParseFileName(f, path.Base(key)); ok {
			sub.Unset("CRC")
			if sub.Has("META") {
				sub.Unset("META", "CRC")
			}
		}
	}
	for _, sub := range t.All() {
		forget(f, sub)
	}
}
