package indexer

import (
	"bytes"
	"context"
	"hash/crc32"
	"io"
	"maps"
	"path"
	"slices"
	"testing"

	"github.com/scrfs/scrfs/internal/disk"
	"github.com/scrfs/scrfs/scr"
	"github.com/scrfs/scrfs/xor"
)

// layout is one of the ways in which a dataset can lie in a prefix directory.
type layout struct {
	family scr.Family
	dir    string // dataset directory
	flat   bool   // META FILE is a base name, as SCR has it; else the path from the prefix
	in     string // where the user files are
}

// name is what finds the dataset in a prefix directory that has no index: a
// root could be anywhere.
func (l layout) name() string {
	if l.dir == "run/ckpt.9" {
		return l.dir
	}
	return "9"
}

var layouts = map[string]layout{
	"F11":       {scr.F11, "scr.dataset.9", true, "scr.dataset.9"},
	"F14":       {scr.F14, "scr.dataset.9", true, "scr.dataset.9"},
	"F12":       {scr.F12, ".scr/scr.dataset.9", true, "out/deep"},
	"F14 root":  {scr.F14, "run/ckpt.9", false, "run/ckpt.9/sub"},
	"F14 loose": {scr.F14, ".scr/scr.dataset.9", false, "out"},
}

// writeDataset writes dataset 9 as a scavenge of all nodes leaves it: files[r]
// are the files of rank r by base name, sets the members of the redundancy sets.
func writeDataset(t testing.TB, fsys disk.FS, l layout, files []tree, sets [][]scr.Rank) {
	t.Helper()
	p := scr.Paths{Family: l.family}
	d := scr.Dataset{ID: 9, Name: "scr.dataset.9", Checkpoint: 9, Complete: true}
	metas := make([][]scr.FileMeta, len(files))
	for r, list := range files {
		for _, base := range slices.Sorted(maps.Keys(list)) {
			data := list[base]
			rel := path.Join(l.in, base)
			build(t, fsys, tree{rel: data})
			m := scr.FileMeta{
				File: base, Type: scr.UserFile, Ranks: len(files), Orig: rel, Path: path.Join("/p", l.in), Name: base,
				SizeBytes: int64(len(data)), Complete: true,
			}
			if !l.flat {
				m.File = rel
			}
			metas[r] = append(metas[r], m)
			d.Files++
			d.SizeBytes += m.SizeBytes
		}
	}
	if err := disk.MkdirAll(fsys, p.SCRDir(l.dir), 0o755); err != nil {
		t.Fatal(err)
	}
	redundancy := map[scr.Rank]scr.FileMeta{}
	for _, set := range sets {
		for i, m := range encodeSet(t, fsys, p, l.dir, d, files, metas, set) {
			redundancy[set[i]] = m
		}
	}
	for r, list := range metas {
		rank := scr.Rank(r)
		m := scr.NewFilemap().InFamily(l.family)
		m.SetDataset(9, rank, d)
		n := 0
		for _, meta := range list {
			meta.CRC, meta.HasCRC = scr.CRC(crc32.ChecksumIEEE([]byte(files[r][meta.Name]))), true
			m.SetMeta(9, rank, p.NameIn(l.dir, path.Join(l.in, meta.Name)), meta)
			n++
		}
		if meta, ok := redundancy[rank]; ok {
			m.SetMeta(9, rank, p.NameIn(l.dir, p.Redundancy(l.dir, meta.File)), meta)
			n++
		}
		m.SetExpectedFiles(9, rank, n)
		if err := scr.WriteFilemap(fsys, p.RankFilemap(l.dir, rank), m); err != nil {
			t.Fatal(err)
		}
	}
}

func encodeSet(t testing.TB, fsys disk.FS, p scr.Paths, dir string, d scr.Dataset, files []tree, metas [][]scr.FileMeta, set []scr.Rank) []scr.FileMeta {
	t.Helper()
	members := make([]xor.Member, len(set))
	for i, r := range set {
		members[i] = xor.Member{Rank: r, Files: metas[r]}
	}
	headers, err := xor.Headers(d, len(files), members)
	if err != nil {
		t.Fatal(err)
	}
	data := make([]xor.MemberData, len(set))
	for i, r := range set {
		data[i].Header = headers[i]
		for _, m := range metas[r] {
			data[i].Files = append(data[i].Files, bytes.NewReader([]byte(files[r][m.Name])))
		}
	}
	out, err := xor.Encode(context.Background(), data, func(h xor.Header) (io.WriteCloser, error) {
		return &whole{fsys: fsys, name: p.Redundancy(dir, h.FileName().Format(p.Family))}, nil
	}, xor.Options{Family: p.Family})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// whole writes a file when it is closed.
type whole struct {
	bytes.Buffer
	fsys disk.FS
	name string
}

func (w *whole) Close() error { return disk.WriteFile(w.fsys, w.name, w.Bytes(), 0o644) }

// lose removes all that a rank had.
func lose(t testing.TB, fsys disk.FS, l layout, files []tree, rank scr.Rank) {
	t.Helper()
	p := scr.Paths{Family: l.family}
	m, err := scr.ReadFilemap(fsys, p.RankFilemap(l.dir, rank))
	if err != nil {
		t.Fatal(err)
	}
	names := []string{p.RankFilemap(l.dir, rank)}
	for _, name := range m.Files(9, rank) {
		rel, err := p.Resolve(l.dir, name)
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, rel)
	}
	for _, name := range names {
		if err := fsys.Remove(name); err != nil {
			t.Fatal(err)
		}
		if err := fsys.SyncDir(path.Dir(name)); err != nil {
			t.Fatal(err)
		}
	}
}

// userFiles is what all ranks wrote, by path.
func userFiles(l layout, files []tree) tree {
	out := tree{}
	for _, list := range files {
		for base, data := range list {
			out[path.Join(l.in, base)] = data
		}
	}
	return out
}

// holds tells of the first user file that is not there as written.
func holds(t testing.TB, fsys disk.FS, want tree) {
	t.Helper()
	for name, data := range want {
		got, err := disk.ReadFile(fsys, name)
		if err != nil {
			t.Error(err)
		} else if !same(got, data) {
			t.Errorf("%s has other contents", name)
		}
	}
}

// sample is a dataset of four ranks in one set; rank 2 wrote nothing.
func sample() ([]tree, [][]scr.Rank) {
	return []tree{
		{"a0": string(contents(1, 3000)), "b0": ""},
		{"a1": string(contents(2, 700))},
		{},
		{"a3": string(contents(3, 1)), "b3": string(contents(4, 2500)), "c3": string(contents(5, 40))},
	}, [][]scr.Rank{{0, 1, 2, 3}}
}
