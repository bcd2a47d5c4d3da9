package cachestore

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/scrfs/scrfs/internal/disk"
	"github.com/scrfs/scrfs/kvtree"
	"github.com/scrfs/scrfs/scr"
)

// node is a node's two directories in one tree, so that one power cut hits both.
type node struct{ root disk.FS }

func newMem(t testing.TB) *disk.Mem {
	t.Helper()
	mem := disk.NewMem()
	for _, dir := range []string{"cache", "control"} {
		if err := disk.MkdirAll(mem, dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return mem
}

func (n node) sub(t testing.TB, dir string) disk.FS {
	t.Helper()
	f, err := n.root.Sub(dir)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func (n node) options(t testing.TB) Options {
	return Options{Cache: n.sub(t, "cache"), Control: n.sub(t, "control"), CacheDir: "/c", ControlDir: "/k", Prefix: "/p", Node: "n0"}
}

func (n node) open(t testing.TB) *Store {
	t.Helper()
	s, err := Open(n.options(t))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func open(t testing.TB) (*Store, node) {
	t.Helper()
	n := node{newMem(t)}
	return n.open(t), n
}

// put makes a file with contents, as a program does.
func put(s *Store, id scr.DatasetID, p, data string) error {
	f, err := s.Create(id, p, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	_, err = f.WriteAt([]byte(data), 0)
	return errors.Join(err, f.Close())
}

func putRedundancy(s *Store, id scr.DatasetID, rank scr.Rank, name, data string) error {
	f, err := s.CreateRedundancy(id, rank, name)
	if err != nil {
		return err
	}
	_, err = f.WriteAt([]byte(data), 0)
	return errors.Join(err, f.Sync(), f.Close())
}

func commit(s *Store, id scr.DatasetID, rank scr.Rank, name, data string) error {
	meta := scr.FileMeta{File: name, Type: scr.XORFile, Ranks: 2, SizeBytes: int64(len(data)), Complete: true}
	return s.CommitRedundancy(id, rank, name, meta, rank+1, descriptor(rank+1))
}

func descriptor(r scr.Rank) scr.RedundancyDescriptor {
	return scr.RedundancyDescriptor{Enabled: true, Interval: 1, Type: scr.XOR, Directory: "/c", Store: "/", Groups: 1, GroupSize: 2, GroupRank: int(r % 2)}
}

// record describes files, given as rank → path → contents.
func record(id scr.DatasetID, ranks map[scr.Rank]map[string]string) SealRecord {
	rec := SealRecord{
		Dataset: scr.Dataset{ID: id, Name: scr.DatasetName(id), CreatedMicros: 1, Checkpoint: 1, Complete: true},
		Ranks:   2, Files: map[scr.Rank][]scr.FileMeta{}, Redundancy: map[scr.Rank]scr.RedundancyDescriptor{},
		Tree:   scr.DirTree{Dirs: []scr.TreeEntry{{Path: "d"}}},
		Layout: scr.Layout{Dir: "d", Roots: []string{"d"}},
	}
	for r, files := range ranks {
		rec.Files[r], rec.Redundancy[r] = nil, descriptor(r)
		for _, p := range slices.Sorted(maps.Keys(files)) {
			rec.Files[r] = append(rec.Files[r], scr.FileMeta{
				File: p, Type: scr.UserFile, Ranks: 2, Orig: p, Path: path.Join("/p", path.Dir(p)), Name: path.Base(p),
				SizeBytes: int64(len(files[p])), Complete: true, Attr: &scr.FileAttr{Mode: 0o100640},
			})
			rec.Dataset.Files++
			rec.Dataset.SizeBytes += int64(len(files[p]))
		}
	}
	return rec
}

// view is what a store says, as text: per dataset and rank what is sealed and
// whole, and what is pending.
func view(s *Store) string {
	m, err := s.Filemap()
	if err != nil {
		return err.Error()
	}
	var b strings.Builder
	for _, id := range m.Datasets() {
		for _, r := range m.RanksOf(id) {
			if _, err := m.Dataset(id, r); err != nil {
				continue
			}
			if err := m.CheckRank(id, r, s.sizeOfKey); err != nil {
				fmt.Fprintf(&b, "%d rank %d incomplete\n", id, r)
				continue
			}
			fmt.Fprintf(&b, "%d rank %d:", id, r)
			for _, key := range m.Files(id, r) {
				meta, _ := m.Meta(id, r, key)
				fmt.Fprintf(&b, " %s=%d", path.Base(key), meta.SizeBytes)
				if meta.HasCRC {
					fmt.Fprintf(&b, "/%s", meta.CRC)
				}
			}
			b.WriteByte('\n')
		}
	}
	for _, id := range s.Datasets() {
		if p := s.Pending(id); len(p) > 0 {
			fmt.Fprintf(&b, "%d pending %s\n", id, strings.Join(p, " "))
		}
	}
	return b.String()
}

// files lists the regular files of a tree with their contents.
func files(t testing.TB, f disk.FS, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	list, err := f.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		name := path.Join(dir, e.Name())
		if e.IsDir() {
			maps.Copy(found, files(t, f, name))
			continue
		}
		data, err := disk.ReadFile(f, name)
		if err != nil {
			t.Fatal(err)
		}
		found[name] = string(data)
	}
	return found
}

// rawTree is the filemap file as SCR reads it.
func rawTree(t testing.TB, n node) *kvtree.Tree {
	t.Helper()
	tree, err := scr.ReadTree(n.sub(t, "control"), filemapName)
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

func crcOf(data string) scr.CRC { return scr.CRC(crc32.ChecksumIEEE([]byte(data))) }

func mode(t testing.TB, f disk.FS, name string) fs.FileMode {
	t.Helper()
	st, err := f.Lstat(name)
	if err != nil {
		t.Fatal(err)
	}
	return st.Mode()
}

// must ends a test whose steps cannot fail.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
