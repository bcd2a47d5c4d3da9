package indexer

import (
	"bytes"
	"context"
	"errors"
	"hash/crc32"
	"io/fs"
	"os"
	"path"
	"testing"
	"time"

	"github.com/scrfs/scrfs/internal/disk"
	"github.com/scrfs/scrfs/scr"
)

// tree is a directory as a literal: names and contents. A name that ends with
// a slash is a directory; contents that begin with "-> " are a symbolic link.
type tree map[string]string

func build(t testing.TB, fsys disk.FS, files tree) {
	t.Helper()
	for name, data := range files {
		var err error
		switch {
		case name[len(name)-1] == '/':
			err = disk.MkdirAll(fsys, name[:len(name)-1], 0o755)
		case len(data) > 3 && data[:3] == "-> ":
			err = errors.Join(disk.MkdirAll(fsys, path.Dir(name), 0o755), fsys.Symlink(data[3:], name), fsys.SyncDir(path.Dir(name)))
		default:
			err = errors.Join(disk.MkdirAll(fsys, path.Dir(name), 0o755), disk.WriteFile(fsys, name, []byte(data), 0o644))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// read is all of a directory but what is below .scr directories.
func read(t testing.TB, fsys disk.FS) tree {
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
			switch {
			case e.Name() == ".scr":
			case e.IsDir():
				if below, err := fsys.ReadDir(name); err != nil {
					t.Fatal(err)
				} else if len(below) == 0 {
					out[name+"/"] = ""
				}
				walk(name)
			case e.Type() == fs.ModeSymlink:
				target, err := fsys.Readlink(name)
				if err != nil {
					t.Fatal(err)
				}
				out[name] = "-> " + target
			default:
				data, err := disk.ReadFile(fsys, name)
				if err != nil {
					t.Fatal(err)
				}
				out[name] = string(data)
			}
		}
	}
	walk(".")
	return out
}

// staged is a dataset to be published, with rank r having files[r].
type staged struct {
	id    scr.DatasetID
	ckpt  scr.CheckpointID
	dirs  []string // made by the dataset
	files []tree
	links tree // name: target

	fromPrefix bool // the filemaps name directories from the prefix directory
}

// stage writes a dataset and the filemaps of its ranks into a stage, as the
// flush does.
func stage(t testing.TB, x *Indexer, s staged) {
	t.Helper()
	fsys, err := x.OpenStage(s.id)
	if err != nil {
		t.Fatal(err)
	}
	d := scr.Dataset{ID: s.id, Name: scr.DatasetName(s.id), Checkpoint: s.ckpt, Complete: true}
	var all []string
	for _, files := range s.files {
		for name, data := range files {
			all = append(all, name)
			d.Files++
			d.SizeBytes += int64(len(data))
		}
		build(t, fsys, files)
	}
	var dt scr.DirTree
	for _, dir := range s.dirs {
		build(t, fsys, tree{dir + "/": ""})
		dt.Dirs = append(dt.Dirs, scr.TreeEntry{Path: dir})
	}
	for name, target := range s.links {
		build(t, fsys, tree{name: "-> " + target})
		dt.Symlinks = append(dt.Symlinks, scr.TreeEntry{Path: name, Target: target})
	}
	dir := scr.LayoutOf(s.id, dt, all).Dir
	if err := disk.MkdirAll(fsys, own.SCRDir(dir), 0o755); err != nil {
		t.Fatal(err)
	}
	for r, files := range s.files {
		m := scr.NewFilemap()
		rank := scr.Rank(r)
		m.SetExpectedFiles(s.id, rank, len(files))
		m.SetDataset(s.id, rank, d)
		if s.fromPrefix {
			m.SetDirTree(s.id, rank, dt)
		} else {
			m.SetDirTree(s.id, rank, relativeTree(dir, dt))
		}
		for name, data := range files {
			m.SetMeta(s.id, rank, own.NameIn(dir, name), scr.FileMeta{
				File: name, Type: scr.UserFile, Ranks: len(s.files), Orig: name, Path: path.Join("/p", path.Dir(name)), Name: path.Base(name),
				SizeBytes: int64(len(data)), Complete: true, CRC: scr.CRC(crc32.ChecksumIEEE([]byte(data))), HasCRC: true,
			})
		}
		if err := scr.WriteFilemap(fsys, own.RankFilemap(dir, rank), m); err != nil {
			t.Fatal(err)
		}
	}
}

func relativeTree(dir string, dt scr.DirTree) scr.DirTree {
	rel := func(list []scr.TreeEntry) (out []scr.TreeEntry) {
		for _, e := range list {
			if e.Path == dir {
				e.Path = "."
			} else {
				e.Path = own.NameIn(dir, e.Path)
			}
			out = append(out, e)
		}
		return out
	}
	return scr.DirTree{Dirs: rel(dt.Dirs), Symlinks: rel(dt.Symlinks)}
}

var testTime = time.Date(2026, 11, 21, 9, 33, 8, 0, time.UTC)

func newTest(fsys disk.FS) *Indexer {
	return New(fsys, "/p", Options{Now: func() time.Time { return testTime }})
}

func mustPublish(t testing.TB, x *Indexer, id scr.DatasetID) {
	t.Helper()
	if err := x.PublishStage(context.Background(), id, PublishOptions{VerifyCRC: true}); err != nil {
		t.Fatal(err)
	}
}

func indexOf(t testing.TB, fsys disk.FS, p scr.Paths) *scr.Index {
	t.Helper()
	index, err := scr.ReadIndex(fsys, p)
	if err != nil {
		t.Fatal(err)
	}
	return index
}

// eachCrash runs do over and over, with the power cut after each of its
// operations that change something, and gives what is left to check. clone
// makes the state to begin with.
func eachCrash(t *testing.T, clone func() *disk.Mem, do func(disk.FS) error, check func(n int, op string, left *disk.Mem)) {
	t.Helper()
	errCut := errors.New("power cut")
	for n := 1; ; n++ {
		mem := clone()
		count, last := 0, ""
		var left []*disk.Mem
		torn := map[string]bool{} // directories between which something was moved
		cut := disk.Inject(mem, func(op disk.Op) error {
			if !op.Changes() {
				return nil
			}
			if count++; count < n {
				last = op.String()
				note(torn, op)
				return nil
			}
			if count == n {
				left = append(left, mem.CrashClone())
				if len(torn) == 0 {
					left = append(left, mem.CrashCloneSeed(uint64(n)), mem.CrashCloneSeed(uint64(n)+1e6))
				}
			}
			return errCut
		})
		err := do(cut)
		if count < n {
			if err != nil {
				t.Fatalf("without a crash: %v", err)
			}
			check(n, "end", mem.CrashClone())
			if n < 10 {
				t.Fatalf("only %d operations", n)
			}
			return
		}
		if err == nil {
			// What failed was of no account: old marks, clean-up after errors.
			t.Logf("operation %d after %q failed unnoticed", n, last)
		}
		for _, mem := range append(left, mem) { // the last: killed, but with power
			check(n, last, mem)
		}
	}
}

// note keeps the directories of renames that are not yet durable. A power cut
// by chance takes such a rename apart, into neither name, which no file system
// with a journal does and no program could mend.
func note(torn map[string]bool, op disk.Op) {
	switch op.Kind {
	case disk.OpRename, disk.OpRenameNoReplace, disk.OpExchange:
		if from, to := path.Dir(op.Name), path.Dir(op.To); from != to {
			torn[from], torn[to] = true, true
		}
	case disk.OpSyncDir:
		delete(torn, path.Clean(op.Name))
	}
}

func exists(t testing.TB, fsys disk.FS, name string) bool {
	t.Helper()
	there, err := disk.Exists(fsys, name)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return there
}

func same(data []byte, s string) bool { return bytes.Equal(data, []byte(s)) }
