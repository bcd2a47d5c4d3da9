package indexer

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"strings"
	"syscall"
	"testing"

	"pgregory.net/rapid"

	"github.com/scrfs/scrfs/internal/disk"
	"github.com/scrfs/scrfs/scr"
)

// Any sets, any files, one lost member of each: all comes back in every layout.
func TestAddBringsBackAnyLostMember(t *testing.T) {
	for name, l := range layouts {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(rt *rapid.T) {
				var files []tree
				var sets [][]scr.Rank
				var lost []scr.Rank
				for range rapid.IntRange(1, 3).Draw(rt, "sets") {
					var set []scr.Rank
					for range rapid.IntRange(2, 6).Draw(rt, "members") {
						r := scr.Rank(len(files))
						set = append(set, r)
						list := tree{}
						for k := range rapid.IntRange(0, 5).Draw(rt, "files") {
							list[fmt.Sprintf("f%d_%d", r, k)] = string(contents(uint64(len(files)*10+k), rapid.IntRange(0, 5000).Draw(rt, "bytes")))
						}
						files = append(files, list)
					}
					sets = append(sets, set)
					lost = append(lost, rapid.SampledFrom(set).Draw(rt, "lost"))
				}
				all := userFiles(l, files)
				if len(all) == 0 {
					rt.Skip("nothing was written")
				}
				mem := disk.NewMem()
				writeDataset(t, mem, l, files, sets)
				for _, r := range lost {
					lose(t, mem, l, files, r)
				}
				left := 0
				for r := range files {
					if !contains(lost, scr.Rank(r)) {
						left += len(files[r])
					}
				}
				x := newTest(mem)
				r, err := x.Add(context.Background(), l.name())
				if err != nil {
					rt.Fatalf("%d files left of %d: %v", left, len(all), err)
				}
				if len(r.Rebuilt) != len(sets) {
					rt.Fatalf("%d ranks rebuilt of %d", len(r.Rebuilt), len(sets))
				}
				holds(t, mem, all)
				if _, err := x.Verify(context.Background(), l.name()); err != nil {
					rt.Fatal(err)
				}
			})
		})
	}
}

func contains(list []scr.Rank, r scr.Rank) bool {
	for _, x := range list {
		if x == r {
			return true
		}
	}
	return false
}

// A power cut after any operation leaves the index with the dataset, whole, or
// without it; to add it then always ends well.
func TestAddSurvivesCrashAtEveryStep(t *testing.T) {
	for name, l := range layouts {
		t.Run(name, func(t *testing.T) {
			files, sets := sample()
			start := disk.NewMem()
			writeDataset(t, start, l, files, sets)
			lose(t, start, l, files, 3)
			survivors := userFiles(l, files[:3])
			eachCrash(t, start.CrashClone,
				func(fsys disk.FS) error {
					_, err := newTest(fsys).Add(context.Background(), l.name())
					return err
				},
				func(n int, op string, left *disk.Mem) {
					x := newTest(left)
					holds(t, left, survivors)
					entries, err := x.List(context.Background())
					if err != nil {
						t.Fatalf("operation %d, after %s: %v", n, op, err)
					}
					if len(entries) > 0 {
						holds(t, left, userFiles(l, files))
						if _, err := x.Verify(context.Background(), l.name()); err != nil {
							t.Fatalf("operation %d, after %s: indexed, but %v", n, op, err)
						}
					}
					if _, err := x.Add(context.Background(), l.name()); err != nil {
						t.Fatalf("operation %d, after %s: %v", n, op, err)
					}
					holds(t, left.CrashClone(), userFiles(l, files))
					if t.Failed() {
						t.Fatalf("operation %d, after %s", n, op)
					}
				})
		})
	}
}

// Any operation may fail: what was there stays, and nothing half is left.
func TestAddLosesNothingWhenAnOperationFails(t *testing.T) {
	for _, cause := range []error{syscall.ENOSPC, syscall.EIO, syscall.EACCES} {
		for name, l := range layouts {
			t.Run(fmt.Sprintf("%s %v", name, cause), func(t *testing.T) {
				files, sets := sample()
				start := disk.NewMem()
				writeDataset(t, start, l, files, sets)
				lose(t, start, l, files, 1)
				all := userFiles(l, files)
				for n := 1; ; n++ {
					mem := start.CrashClone()
					failed := false
					_, err := newTest(disk.Inject(mem, disk.Faults(disk.Fault{N: n, Err: cause, Match: func(op disk.Op) bool {
						return op.Kind != disk.OpUnlock
					}}))).Add(context.Background(), l.name())
					if err != nil {
						failed = true
						if !errors.Is(err, cause) && !errors.Is(err, scr.ErrUnrecoverable) {
							t.Errorf("operation %d: %v does not say %v", n, err, cause)
						}
					}
					for file, data := range all { // each is right or absent
						if got, err := disk.ReadFile(mem, file); err == nil && !same(got, data) {
							t.Errorf("operation %d: %s has other contents", n, file)
						}
					}
					holds(t, mem, userFiles(l, []tree{files[0], files[2], files[3]}))
					if _, err := newTest(mem).Add(context.Background(), l.name()); err != nil {
						t.Errorf("operation %d: then %v", n, err)
					}
					holds(t, mem, all)
					for file := range everything(t, mem) {
						if strings.Contains(file, "rebuild.0.tmp") || disk.IsTemp(file) {
							t.Errorf("operation %d: %s is left", n, file)
						}
					}
					if t.Failed() {
						t.Fatalf("operation %d", n)
					}
					if !failed && n > 40 {
						return
					}
					if n > 2000 {
						t.Fatal("no end")
					}
				}
			})
		}
	}
}

// A corrupt file counts as missing, whatever kind of file it is.
func TestDamagedFilesAreRebuilt(t *testing.T) {
	for name, l := range layouts {
		p := scr.Paths{Family: l.family}
		for what, file := range map[string]string{
			"user file":       path.Join(l.in, "b3"),
			"redundancy file": p.Redundancy(l.dir, p.XORName(scr.SetMember{Set: 0, Member: 3, Size: 4})),
			"filemap":         p.RankFilemap(l.dir, 3),
		} {
			for how, harm := range map[string]func([]byte) []byte{
				"bit":   func(b []byte) []byte { b[len(b)/2] ^= 1; return b },
				"short": func(b []byte) []byte { return b[:len(b)-1] },
				"long":  func(b []byte) []byte { return append(b, 0) },
			} {
				if what == "filemap" && how == "long" {
					continue // bytes after a hash have no meaning
				}
				t.Run(name+" "+what+" "+how, func(t *testing.T) {
					files, sets := sample()
					mem := disk.NewMem()
					writeDataset(t, mem, l, files, sets)
					data, err := disk.ReadFile(mem, file)
					if err != nil {
						t.Fatal(err)
					}
					build(t, mem, tree{file: string(harm(data))})
					r, err := newTest(mem).Add(context.Background(), l.name())
					if err != nil {
						t.Fatal(err)
					}
					if len(r.Rebuilt) != 1 || r.Rebuilt[0].Rank != 3 || len(r.Scan.Problems) != 1 {
						t.Errorf("rebuilt %+v, problems %v", r.Rebuilt, r.Scan.Problems)
					}
					holds(t, mem, userFiles(l, files))
					if _, err := newTest(mem).Verify(context.Background(), l.name()); err != nil {
						t.Error(err)
					}
				})
			}
		}
	}
}

// A filemap that was damaged says nothing of its files: those of other contents
// in their place may be of a later dataset, and are kept.
func TestFilesInTheWayAreKept(t *testing.T) {
	l := layouts["F14 loose"]
	files, sets := sample()
	mem := disk.NewMem()
	writeDataset(t, mem, l, files, sets)
	lose(t, mem, l, files, 3)
	build(t, mem, tree{"out/a3": "of a later dataset"})
	r, err := newTest(mem).Add(context.Background(), l.name())
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Rebuilt) != 1 || len(r.Rebuilt[0].Kept) != 1 {
		t.Fatalf("rebuilt %+v", r.Rebuilt)
	}
	holds(t, mem, userFiles(l, files))
	holds(t, mem, tree{r.Rebuilt[0].Kept[0]: "of a later dataset"})
}

// A dataset directory that is a root may have another name than when it was
// written, and so may the prefix directory.
func TestARootMayBeRenamed(t *testing.T) {
	l := layouts["F14 root"]
	files, sets := sample()
	mem := disk.NewMem()
	writeDataset(t, mem, l, files, sets)
	lose(t, mem, l, files, 0)
	if err := mem.Rename("run/ckpt.9", "elsewhere"); err != nil {
		t.Fatal(err)
	}
	if _, err := New(mem, "/q", Options{}).Add(context.Background(), "/q/elsewhere"); err != nil {
		t.Fatal(err)
	}
	moved := tree{}
	for name, data := range userFiles(l, files) {
		moved["elsewhere"+strings.TrimPrefix(name, "run/ckpt.9")] = data
	}
	holds(t, mem, moved)
}

// What is complete and in the index stays as it is, to the byte.
func TestAddOfWhatIsThereChangesNothing(t *testing.T) {
	for name, l := range layouts {
		t.Run(name, func(t *testing.T) {
			files, sets := sample()
			mem := disk.NewMem()
			writeDataset(t, mem, l, files, sets)
			if _, err := newTest(mem).Add(context.Background(), l.name()); err != nil {
				t.Fatal(err)
			}
			was := everything(t, mem)
			r, err := newTest(mem).Add(context.Background(), l.name())
			if err != nil || !r.Already {
				t.Fatalf("%+v, %v", r, err)
			}
			if !maps.Equal(was, everything(t, mem)) {
				t.Error("something changed")
			}
		})
	}
}

func TestAddOfWhatSCRFlushed(t *testing.T) {
	for _, g := range goldens(t) {
		if !strings.HasPrefix(g.Case, "flush4") || g.family == scr.F12 && strings.Contains(g.Case, "containers") { // SCR's writer is broken there
			continue
		}
		t.Run(g.name(), func(t *testing.T) {
			mem := g.load(t, before)
			x := newTest(mem)
			entries, err := x.List(context.Background())
			if err != nil || len(entries) != 1 || !entries[0].Current {
				t.Fatalf("%+v, %v", entries, err)
			}
			if _, err := x.Remove(context.Background(), "1"); err != nil {
				t.Fatal(err)
			}
			r, err := x.Add(context.Background(), "1")
			if err != nil || r.Already || r.Files != 5 {
				t.Fatalf("%+v, %v", r, err)
			}
			if _, err := x.Verify(context.Background(), "1"); err != nil {
				t.Error(err)
			}
			for name, data := range read(t, mem) { // one byte of a user file or container
				if strings.Contains(name, "rank_1") || strings.Contains(name, "ctr.1") {
					build(t, mem, tree{name: "x" + data[1:]})
				}
			}
			if _, err := x.Verify(context.Background(), "1"); !errors.Is(err, scr.ErrCorrupt) && g.hasCRC(t, mem) {
				t.Errorf("a damaged file: %v", err)
			}
		})
	}
}

// hasCRC tells whether SCR was told to record checksums.
func (g golden) hasCRC(t *testing.T, mem disk.FS) bool {
	return strings.HasSuffix(g.Case, "-crc") && exists(t, mem, scr.Paths{Family: g.family}.Summary("scr.dataset.1"))
}
