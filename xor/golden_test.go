package xor_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"sort"
	"testing"

	"github.com/scrfs/scrfs/kvtree"
	"github.com/scrfs/scrfs/scr"
	"github.com/scrfs/scrfs/xor"
)

// goldenSet is a set that SCR wrote.
type goldenSet struct {
	family  scr.Family
	members []memory
	trees   []*kvtree.Tree // the headers as SCR wrote them
}

var families = map[string]scr.Family{"dev-20111122": scr.F11, "dev-20140129": scr.F14, "v1.2.2": scr.F12}

// readGolden reads all sets below <root>/<version>/<case>/<stage>/<node>/,
// where the nodes' caches are. A set is told by version, case, stage, dataset
// and set id.
func readGolden(t *testing.T, root string) map[string]goldenSet {
	t.Helper()
	sets := make(map[string]goldenSet)
	for version, family := range families {
		for _, stage := range []string{"1-nodes", "1-request", "2-transferred"} {
			dirs, err := filepath.Glob(filepath.Join(root, version, "*", stage))
			if err != nil {
				t.Fatal(err)
			}
			for _, dir := range dirs {
				readStage(t, dir, family, sets)
			}
		}
	}
	return sets
}

func readStage(t *testing.T, dir string, family scr.Family, sets map[string]goldenSet) {
	t.Helper()
	tree := os.DirFS(dir)
	err := fs.WalkDir(tree, ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, ok := xor.ParseFileName(family, d.Name())
		if !ok {
			return nil
		}
		m, header := readMember(t, tree, p, family)
		if m.header.FileName() != name {
			t.Errorf("%s: header says %+v, name says %+v", p, m.header.FileName(), name)
		}
		key := fmt.Sprintf("%s dataset %d set %d", dir, m.header.Dataset.ID, name.Set)
		s := sets[key]
		s.family = family
		s.members = append(s.members, m)
		s.trees = append(s.trees, header)
		sets[key] = s
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func readMember(t *testing.T, tree fs.FS, p string, family scr.Family) (memory, *kvtree.Tree) {
	t.Helper()
	b, err := fs.ReadFile(tree, p)
	if err != nil {
		t.Fatal(err)
	}
	r := bytes.NewReader(b)
	h, n, err := xor.ReadHeader(r)
	if err != nil {
		t.Fatalf("%s: %v", p, err)
	}
	rest, err := io.ReadAll(r)
	if err != nil || int64(len(rest)) != h.ChunkBytes || n+h.ChunkBytes != int64(len(b)) {
		t.Fatalf("%s: %d bytes after the header of %d bytes, chunk is %d (%v)", p, len(rest), n, h.ChunkBytes, err)
	}
	header, _, err := kvtree.Decode(b)
	if err != nil {
		t.Fatal(err)
	}
	m := memory{header: h, payload: rest}
	dir := path.Dir(p)
	if path.Base(dir) == ".scr" {
		dir = path.Dir(dir)
	}
	for _, f := range h.Current.Files {
		data, err := fs.ReadFile(tree, path.Join(dir, f.File))
		if err != nil {
			t.Fatal(err)
		}
		m.files = append(m.files, data)
	}
	return m, header
}

func TestGoldenSetsAreComputedAndRebuiltEqual(t *testing.T) {
	roots := map[string]int{"testdata/golden": 21, "../../shared/golden": 44}
	for root, least := range roots {
		if _, err := os.Stat(root); err != nil && root != "testdata/golden" {
			continue // only the authors have the whole collection
		}
		sets := readGolden(t, root)
		if len(sets) < least {
			t.Errorf("%s: %d sets, want at least %d", root, len(sets), least)
		}
		files, bytesRead := 0, 0
		for key, s := range sets {
			sort.Sort(byMember(s))
			t.Run(key, func(t *testing.T) { checkGolden(t, s) })
			files += len(s.members)
			for _, m := range s.members {
				bytesRead += len(m.payload)
			}
		}
		t.Logf("%s: %d sets, %d redundancy files, payloads of %d bytes", root, len(sets), files, bytesRead)
	}
}

type byMember goldenSet

func (s byMember) Len() int { return len(s.members) }
func (s byMember) Less(i, j int) bool {
	return s.members[i].header.Index() < s.members[j].header.Index()
}
func (s byMember) Swap(i, j int) {
	s.members[i], s.members[j] = s.members[j], s.members[i]
	s.trees[i], s.trees[j] = s.trees[j], s.trees[i]
}

func checkGolden(t *testing.T, s goldenSet) {
	o := xor.Options{Family: s.family, PieceBytes: 100, CheckPadding: true}
	if err := xor.Verify(context.Background(), dataOf(s.members), o); err != nil {
		t.Fatal(err)
	}
	for i, m := range s.members {
		if !kvtree.Equal(m.header.Tree(s.family), s.trees[i]) {
			t.Errorf("member %d: header written again says something else", i)
		}
	}

	// encoded anew from nothing but the files
	first := s.members[0].header
	var members []xor.Member
	for _, m := range s.members {
		members = append(members, m.header.Current)
	}
	headers, err := xor.Headers(first.Dataset, first.Ranks, members)
	if err != nil {
		t.Fatal(err)
	}
	again := make([]memory, len(s.members))
	for i := range again {
		again[i].files = s.members[i].files
	}
	encodeInto(t, again, headers, o)
	for i := range again {
		if !bytes.Equal(again[i].payload, s.members[i].payload) {
			t.Errorf("member %d: payload differs from SCR's", i)
		}
		if !kvtree.Equal(headers[i].Tree(s.family), s.trees[i]) {
			t.Errorf("member %d: header differs from SCR's", i)
		}
	}

	for lost := range s.members {
		rebuiltEqual(t, s.members, lost, o)
	}
}

// The worked example of the format: three members, five bytes and less, the
// newest file of rank 1 first.
func TestTinySetOfThree(t *testing.T) {
	user := func(name string, n int64) scr.FileMeta {
		return scr.FileMeta{File: name, Type: scr.UserFile, Ranks: 3, SizeBytes: n, Complete: true}
	}
	headers, err := xor.Headers(scr.Dataset{ID: 1}, 3, []xor.Member{
		{Rank: 0, Files: []scr.FileMeta{user("a", 5)}},
		{Rank: 1, Files: []scr.FileMeta{user("c", 1), user("b", 2)}},
		{Rank: 2, Files: []scr.FileMeta{user("d", 0)}},
	})
	if err != nil {
		t.Fatal(err)
	}
	set := []memory{
		{files: [][]byte{{0xe7, 0x45, 0xff, 0x9c, 0xce}}},
		{files: [][]byte{{0xe4}, {0xa2, 0x80}}},
		{files: [][]byte{{}}},
	}
	o := xor.Options{Family: scr.F11, PieceBytes: 2}
	encodeInto(t, set, headers, o)
	for i, want := range [][]byte{{0xe4, 0xa2, 0x80}, {0xe7, 0x45, 0xff}, {0x9c, 0xce, 0x00}} {
		if !bytes.Equal(set[i].payload, want) {
			t.Errorf("payload of member %d is %x, want %x", i, set[i].payload, want)
		}
	}
	for lost := range set {
		rebuiltEqual(t, set, lost, o)
	}
}
