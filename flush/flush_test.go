package flush

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"math/rand/v2"
	"os"
	"path"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/scrfs/scrfs/internal/disk"
	"github.com/scrfs/scrfs/scr"
)

const xorName = "1_of_2_in_0.xor"

// world is a cache with dataset 18 and a prefix directory with a stage in it.
type world struct {
	root  disk.FS
	fm    *scr.Filemap
	files map[string]string // of the cache, by path
}

// newWorld makes rank 0 with two files in the root d, rank 1 with one and a
// redundancy file, rank 2 without files, and what is known of a neighbour.
func newWorld(t testing.TB, root disk.FS) *world {
	t.Helper()
	w := &world{root: root, fm: scr.NewFilemap(), files: map[string]string{
		"d/a": random(1, 5000), "d/s/empty": "", "d/s/c": random(2, 300), xorName: random(3, 700),
	}}
	for _, dir := range []string{"cache", "prefix/stage"} {
		must(t, disk.MkdirAll(root, dir, 0o777))
	}
	must(t, disk.WriteFile(root, "prefix/other", []byte("untouched"), 0o644))
	for name, data := range w.files {
		must(t, disk.MkdirAll(root, path.Join("cache", path.Dir(name)), 0o700))
		must(t, disk.WriteFile(root, path.Join("cache", name), []byte(data), 0o600))
	}
	w.rank(0, "d/a", "d/s/empty")
	w.rank(1, "d/s/c", xorName)
	w.rank(2)
	w.fm.SetDescriptor(18, 7, scr.RedundancyDescriptor{Enabled: true, Interval: 1, Groups: 1, GroupSize: 1})
	return w
}

func (w *world) rank(r scr.Rank, names ...string) {
	for _, name := range names {
		m := scr.FileMeta{File: name, Ranks: 3, SizeBytes: int64(len(w.files[name])), Complete: true}
		if name == xorName {
			m.Type = scr.XORFile
		} else {
			m.Orig, m.Path, m.Name = name, path.Join("/p", path.Dir(name)), path.Base(name)
			m.Attr = &scr.FileAttr{
				Mode: 0o100640, UID: uint32(os.Getuid()), GID: uint32(os.Getgid()),
				Access: scr.Timespec{Secs: 1_600_000_000}, Modify: scr.Timespec{Secs: 1_700_000_000, Nsecs: 123_000_000},
			}
		}
		w.fm.SetMeta(18, r, "/c/"+name, m)
	}
	w.fm.SetExpectedFiles(18, r, len(names))
	w.fm.SetDataset(18, r, scr.Dataset{ID: 18, Name: "scr.dataset.18", Complete: true})
	w.fm.SetFlush(18, r, scr.FlushDescriptor{Preserve: true})
	w.fm.SetDirTree(18, r, scr.DirTree{Dirs: []scr.TreeEntry{{Path: "d"}, {Path: "d/s"}}})
	w.fm.SetDescriptor(18, r, scr.RedundancyDescriptor{Enabled: true, Interval: 1, Groups: 1, GroupSize: 1})
	if err := w.fm.SetTag(18, r, scr.TagDatasetDir, "d"); err != nil {
		panic(err)
	}
}

// setMeta changes the meta data of one file.
func (w *world) setMeta(r scr.Rank, name string, change func(*scr.FileMeta)) {
	m, err := w.fm.Meta(18, r, "/c/"+name)
	if err != nil {
		panic(err)
	}
	change(&m)
	w.fm.SetMeta(18, r, "/c/"+name, m)
}

func (w *world) part(t testing.TB) Part {
	return Part{Dataset: 18, Filemap: w.fm, Cache: w.sub(t, "cache"), CacheDir: "/c", Prefix: "/p"}
}

func (w *world) sub(t testing.TB, dir string) disk.FS {
	t.Helper()
	f, err := w.root.Sub(dir)
	must(t, err)
	return f
}

func (w *world) stage(t testing.TB) disk.FS { return w.sub(t, "prefix/stage") }

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func random(seed uint64, n int) string {
	r := rand.New(rand.NewPCG(seed, 0))
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return string(b)
}

func crcOf(s string) scr.CRC { return scr.CRC(crc32.ChecksumIEEE([]byte(s))) }

// tree lists the files below a directory with their contents.
func tree(t testing.TB, f disk.FS, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	list, err := f.ReadDir(dir)
	must(t, err)
	for _, e := range list {
		name := path.Join(dir, e.Name())
		if e.IsDir() {
			for k, v := range tree(t, f, name) {
				found[k] = v
			}
			continue
		}
		data, err := disk.ReadFile(f, name)
		must(t, err)
		found[name] = string(data)
	}
	return found
}

func TestPartLiesInTheStageAsBelowThePrefix(t *testing.T) {
	for _, redundancy := range []bool{false, true} {
		mem := disk.NewMem()
		w := newWorld(t, mem)
		stage := w.stage(t)
		p := w.part(t)
		p.Redundancy = redundancy
		last, calls := int64(0), 0
		done, err := CopyPart(context.Background(), p, stage, Options{Width: 3, BufBytes: 512, Progress: func(n int64) {
			if n <= last {
				t.Errorf("progress from %d to %d", last, n)
			}
			last = n
			calls++
		}})
		must(t, err)
		want := map[string]string{"d/a": w.files["d/a"], "d/s/empty": "", "d/s/c": w.files["d/s/c"]}
		bytes := int64(5300)
		if redundancy {
			want["d/.scr/"+xorName] = w.files[xorName]
			bytes += 700
		}
		if last != bytes || calls < 11 {
			t.Errorf("progress: %d bytes in %d calls, want %d", last, calls, bytes)
		}
		// It is durable: what a power cut leaves is all of it.
		cut, err := mem.CrashClone().Sub("prefix/stage")
		must(t, err)
		got := tree(t, cut, ".")
		for _, r := range []scr.Rank{0, 1, 2} {
			name := fmt.Sprintf("d/.scr/%d.scrfilemap", r)
			if _, ok := got[name]; !ok {
				t.Errorf("%s is not there", name)
			}
			delete(got, name)
			checkFilemap(t, cut, r, redundancy)
			if files, ok := done[r]; !ok {
				t.Errorf("rank %d is not in the result", r)
			} else {
				for _, f := range files {
					if !f.HasCRC || f.CRC != crcOf(w.files[f.File]) {
						t.Errorf("%s: checksum %v", f.File, f.CRC)
					}
				}
			}
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("redundancy %v: got files %v, want %v", redundancy, len(got), len(want))
		}
		if len(done) != 3 {
			t.Errorf("ranks: %v", done)
		}
	}
}

func checkFilemap(t *testing.T, stage disk.FS, r scr.Rank, redundancy bool) {
	t.Helper()
	m, err := scr.ReadFilemap(stage, fmt.Sprintf("d/.scr/%d.scrfilemap", r))
	must(t, err)
	err = m.CheckRank(18, r, func(name string) (int64, error) {
		st, err := stage.Stat(path.Join("d", name))
		if err != nil {
			return 0, err
		}
		return st.Size(), nil
	})
	if err != nil {
		t.Error(err)
	}
	want := map[scr.Rank][]string{0: {"a", "s/empty"}, 1: {"s/c"}}[r]
	if r == 1 && redundancy {
		want = []string{".scr/" + xorName, "s/c"}
	}
	if got := m.Files(18, r); !slices.Equal(got, want) {
		t.Errorf("rank %d: names %v, want %v", r, got, want)
	}
	if n, err := m.ExpectedFiles(18, r); err != nil || n != len(want) {
		t.Errorf("rank %d: FILES %d, %v", r, n, err)
	}
	if _, err := m.Dataset(18, r); err != nil {
		t.Error(err)
	}
	if f, err := m.Flush(18, r); err != nil || !f.Preserve {
		t.Errorf("flush descriptor %+v, %v", f, err)
	}
	if d, err := m.DirTree(18, r); err != nil || len(d.Dirs) != 2 {
		t.Errorf("tree %+v, %v", d, err)
	}
	if _, err := m.Descriptor(18, r); !errors.Is(err, scr.ErrNotFound) {
		t.Errorf("redundancy descriptor: %v", err)
	}
	if m.RankCount() != 1 {
		t.Errorf("ranks %v", m.Ranks())
	}
}

func TestLooseFilesGoToTheirPlaceAndRecordsToSCRs(t *testing.T) {
	w := newWorld(t, disk.NewMem())
	for _, r := range []scr.Rank{0, 1, 2} {
		w.fm.UnsetTag(18, r, scr.TagDatasetDir) // as in a cache of SCR's own
	}
	_, err := CopyPart(context.Background(), w.part(t), w.stage(t), Options{})
	must(t, err)
	m, err := scr.ReadFilemap(w.stage(t), ".scr/scr.dataset.18/.scr/0.scrfilemap")
	must(t, err)
	if got, want := m.Files(18, 0), []string{"../../d/a", "../../d/s/empty"}; !slices.Equal(got, want) {
		t.Errorf("names %v, want %v", got, want)
	}
	if got := tree(t, w.stage(t), "d"); len(got) != 3 {
		t.Errorf("files %d", len(got))
	}
}

func TestModesAndTimesAreThoseOfTheProgram(t *testing.T) {
	root, err := disk.Open(t.TempDir())
	must(t, err)
	w := newWorld(t, root)
	w.setMeta(0, "d/a", func(m *scr.FileMeta) { m.Attr.Mode = 0o104440 })
	w.setMeta(0, "d/s/empty", func(m *scr.FileMeta) { m.Attr = nil })
	must(t, root.Chtimes("cache/d/s/empty", time.Time{}, time.Unix(1_500_000_000, 0)))
	for range 2 { // over what an earlier try left, and may not be written
		_, err = CopyPart(context.Background(), w.part(t), w.stage(t), Options{})
		must(t, err)
		for name, want := range map[string]struct {
			mode  fs.FileMode
			mtime time.Time
		}{
			"d/a":       {0o440 | fs.ModeSetuid, time.Unix(1_700_000_000, 123_000_000)},
			"d/s/c":     {0o640, time.Unix(1_700_000_000, 123_000_000)},
			"d/s/empty": {0o600, time.Unix(1_500_000_000, 0)},
		} {
			st, err := w.stage(t).Lstat(name)
			must(t, err)
			if st.Mode() != want.mode || !st.ModTime().Equal(want.mtime) {
				t.Errorf("%s: got %v %v, want %v %v", name, st.Mode(), st.ModTime(), want.mode, want.mtime)
			}
		}
	}
}

func TestDamagedSourceIsNamedAndNotTaken(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(*world) error
		want  error
		text  string
	}{
		"short": {func(w *world) error { return disk.WriteFile(w.root, "cache/d/a", []byte("x"), 0o600) }, scr.ErrCorrupt, "rank 0: d/a: 1 bytes"},
		"long": {func(w *world) error {
			return disk.WriteFile(w.root, "cache/d/a", []byte(w.files["d/a"]+"x"), 0o600)
		}, scr.ErrCorrupt, "rank 0: d/a: 5001 bytes"},
		"changed": {func(w *world) error {
			w.setMeta(0, "d/a", func(m *scr.FileMeta) { m.CRC, m.HasCRC = crcOf(w.files["d/a"]), true })
			data := []byte(w.files["d/a"])
			data[4000] ^= 1
			return disk.WriteFile(w.root, "cache/d/a", data, 0o600)
		}, scr.ErrCorrupt, "rank 0: d/a: checksum"},
		"gone": {func(w *world) error { return w.root.Remove("cache/d/a") }, scr.ErrIncomplete, "rank 0: d/a:"},
		"a link": {func(w *world) error {
			return errors.Join(w.root.Remove("cache/d/a"), w.root.Symlink("s/c", "cache/d/a"))
		}, syscall.ELOOP, "rank 0: d/a:"},
		"touched":   {func(w *world) error { w.setMeta(0, "d/a", func(m *scr.FileMeta) { m.Complete = false }); return nil }, scr.ErrIncomplete, "rank 0: d/a: was written after"},
		"not known": {func(w *world) error { w.fm.SetExpectedFiles(18, 0, 3); return nil }, scr.ErrIncomplete, "rank 0: 2 files, expected 3"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, disk.NewMem())
			must(t, c.spoil(w))
			p := w.part(t)
			_, err := CopyPart(context.Background(), p, w.stage(t), Options{})
			if !errors.Is(err, c.want) || !strings.Contains(err.Error(), "flush dataset 18: "+c.text) {
				t.Fatalf("got %v", err)
			}
			if there, _ := disk.Exists(w.stage(t), "d/.scr/0.scrfilemap"); there {
				t.Error("the rank has a filemap")
			}
			// After a run the other ranks are rescued, this one can be rebuilt.
			p.Redundancy = true
			done, err := CopyPart(context.Background(), p, w.stage(t), Options{})
			if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.text) {
				t.Fatalf("with redundancy: got %v", err)
			}
			if _, ok := done[0]; ok || len(done) != 2 {
				t.Errorf("with redundancy: got ranks %v", done)
			}
			checkFilemap(t, w.stage(t), 1, true)
			if there, _ := disk.Exists(w.stage(t), "d/.scr/0.scrfilemap"); there {
				t.Error("with redundancy: the rank has a filemap")
			}
		})
	}
}

func TestUnreadableSourceIsNamed(t *testing.T) {
	for _, kind := range []disk.Kind{disk.OpOpen, disk.OpRead, disk.OpFstat} {
		w := newWorld(t, disk.NewMem())
		p := w.part(t)
		p.Cache = disk.Inject(p.Cache, disk.Faults(disk.Fault{Kind: kind, PathPattern: "a"}))
		_, err := CopyPart(context.Background(), p, w.stage(t), Options{})
		if !errors.Is(err, syscall.EIO) || !strings.Contains(err.Error(), "flush dataset 18: rank 0: d/a: ") {
			t.Errorf("%s: got %v", kind, err)
		}
		p.Redundancy = true
		done, err := CopyPart(context.Background(), p, w.stage(t), Options{})
		if _, ok := done[0]; !errors.Is(err, syscall.EIO) || ok || len(done) != 2 {
			t.Errorf("%s: with redundancy: got ranks %v, %v", kind, done, err)
		}
	}
}

func TestNamesStayBelowThePrefix(t *testing.T) {
	for name, spoil := range map[string]func(*world) error{
		"path outside": func(w *world) error { w.setMeta(0, "d/a", func(m *scr.FileMeta) { m.Path = "/etc" }); return nil },
		"name outside": func(w *world) error { w.setMeta(0, "d/a", func(m *scr.FileMeta) { m.Name = "../../x" }); return nil },
		"SCR's own file": func(w *world) error {
			w.setMeta(0, "d/a", func(m *scr.FileMeta) { m.Path = "/p/.scr"; m.Name = "index.scr" })
			return nil
		},
		"no name":                   func(w *world) error { w.setMeta(0, "d/a", func(m *scr.FileMeta) { m.Name = "" }); return nil },
		"dataset directory outside": func(w *world) error { return w.fm.SetTag(18, 0, scr.TagDatasetDir, "../x") },
		"source outside": func(w *world) error {
			w.fm.RemoveFile(18, 0, "/c/d/a")
			w.fm.SetMeta(18, 0, "/c/../prefix/other", scr.FileMeta{File: "a", Path: "/p", Name: "a", SizeBytes: 9, Complete: true})
			return nil
		},
		"source elsewhere": func(w *world) error {
			w.fm.RemoveFile(18, 0, "/c/d/a")
			w.fm.SetMeta(18, 0, "/etc/passwd", scr.FileMeta{File: "a", Path: "/p", Name: "a", SizeBytes: 9, Complete: true})
			return nil
		},
	} {
		w := newWorld(t, disk.NewMem())
		must(t, spoil(w))
		before := tree(t, w.root, ".")
		if _, err := CopyPart(context.Background(), w.part(t), w.stage(t), Options{}); !errors.Is(err, scr.ErrEscape) {
			t.Errorf("%s: got %v", name, err)
		}
		if after := tree(t, w.root, "."); !reflect.DeepEqual(after, before) {
			t.Errorf("%s: something was written", name)
		}
	}
	w := newWorld(t, disk.NewMem())
	w.setMeta(1, "d/s/c", func(m *scr.FileMeta) { m.Path, m.Name = "/p/d", "a" })
	if _, err := CopyPart(context.Background(), w.part(t), w.stage(t), Options{}); !errors.Is(err, scr.ErrInvalid) {
		t.Errorf("one name for two files: got %v", err)
	}
}

// Any call on the prefix directory may fail: the error is clear, nothing beside
// the stage is touched, no filemap claims what is not there, and the next try
// succeeds.
func TestAnyFaultOfTheStageIsSurvived(t *testing.T) {
	for _, errno := range []syscall.Errno{syscall.EIO, syscall.ENOSPC} {
		for n := 1; ; n++ {
			mem := disk.NewMem()
			w := newWorld(t, mem)
			outside := func() map[string]string {
				all := tree(t, mem, ".")
				for name := range all {
					if strings.HasPrefix(name, "prefix/stage/") {
						delete(all, name)
					}
				}
				return all
			}
			before := outside()
			var failed *disk.Op
			seen := 0
			stage := disk.Inject(w.stage(t), func(op disk.Op) error {
				if seen++; seen == n {
					failed = &op
					return errno
				}
				return nil
			})
			p := w.part(t)
			p.Redundancy = n%2 == 0 // a stage that fails is no matter of a rank
			_, err := CopyPart(context.Background(), p, stage, Options{Width: 1, BufBytes: 1024})
			if failed == nil {
				if err != nil {
					t.Fatal(err)
				}
				break
			}
			// Looking whether an old file or filemap may be kept is the only
			// thing that may fail without harm.
			if err == nil && failed.Kind != disk.OpLstat && failed.Kind != disk.OpStat {
				t.Fatalf("%v: no error", *failed)
			}
			if err != nil && (!errors.Is(err, errno) || !strings.Contains(err.Error(), "flush dataset 18: ") || errors.Is(err, scr.ErrNoSpace) != (errno == syscall.ENOSPC)) {
				t.Fatalf("%v: got %v", *failed, err)
			}
			if after := outside(); !reflect.DeepEqual(after, before) {
				t.Fatalf("%v: something beside the stage was changed", *failed)
			}
			cut, cerr := mem.CrashClone().Sub("prefix/stage")
			must(t, cerr)
			for _, f := range []disk.FS{w.stage(t), cut} {
				for r := range scr.Rank(3) {
					if there, _ := disk.Exists(f, fmt.Sprintf("d/.scr/%d.scrfilemap", r)); there {
						checkFilemap(t, f, r, p.Redundancy)
					}
				}
			}
			if _, err := CopyPart(context.Background(), p, w.stage(t), Options{}); err != nil {
				t.Fatalf("%v: second try: %v", *failed, err)
			}
			for r := range scr.Rank(3) {
				checkFilemap(t, w.stage(t), r, p.Redundancy)
			}
		}
	}
}

func TestOnlyWhatIsCertainIsNotCopiedAgain(t *testing.T) {
	w := newWorld(t, disk.NewMem())
	copied := func() int64 {
		total := int64(0)
		done, err := CopyPart(context.Background(), w.part(t), w.stage(t), Options{Progress: func(n int64) { total = n }})
		must(t, err)
		for r, files := range done {
			for _, f := range files {
				if got, err := disk.ReadFile(w.stage(t), f.File); err != nil || string(got) != w.files[f.File] {
					t.Fatalf("rank %d: %s differs, %v", r, f.File, err)
				}
				w.setMeta(r, f.File, func(m *scr.FileMeta) { m.CRC, m.HasCRC = f.CRC, true })
			}
		}
		return total
	}
	if got := copied(); got != 5300 {
		t.Errorf("first: %d bytes", got)
	}
	if got := copied(); got != 0 {
		t.Errorf("again, with all checksums known: %d bytes", got)
	}
	w.setMeta(1, "d/s/c", func(m *scr.FileMeta) { m.HasCRC = false })
	if got := copied(); got != 300 {
		t.Errorf("one checksum not known: %d bytes", got)
	}
	must(t, w.stage(t).Remove("d/a"))
	if got := copied(); got != 5000 {
		t.Errorf("one file gone: %d bytes", got)
	}
	must(t, disk.WriteFile(w.stage(t), "d/.scr/0.scrfilemap", []byte("damaged"), 0o644))
	if got := copied(); got != 5000 {
		t.Errorf("filemap damaged: %d bytes", got)
	}
	// Written anew, with the size it had.
	w.files["d/a"] = random(9, 5000)
	must(t, disk.WriteFile(w.root, "cache/d/a", []byte(w.files["d/a"]), 0o600))
	w.setMeta(0, "d/a", func(m *scr.FileMeta) { m.CRC = crcOf(w.files["d/a"]) })
	if got := copied(); got != 5000 {
		t.Errorf("changed: %d bytes", got)
	}
}

func TestOldFilemapGoesBeforeItsFiles(t *testing.T) {
	mem := disk.NewMem()
	w := newWorld(t, mem)
	_, err := CopyPart(context.Background(), w.part(t), w.stage(t), Options{})
	must(t, err)
	stage := disk.Inject(w.stage(t), disk.Faults(disk.Fault{Kind: disk.OpWrite, PathPattern: "a", ShortWrite: 3}))
	if _, err := CopyPart(context.Background(), w.part(t), stage, Options{}); !errors.Is(err, syscall.EIO) {
		t.Fatalf("got %v", err)
	}
	cut, err := mem.CrashClone().Sub("prefix/stage")
	must(t, err)
	for name, f := range map[string]disk.FS{"stage": w.stage(t), "after a power cut": cut} {
		if there, _ := disk.Exists(f, "d/.scr/0.scrfilemap"); there {
			t.Errorf("%s: the filemap speaks of a file that is half written", name)
		}
	}
}

// A file in the stage may have a second name, that of a published file.
func TestOldFilesAreReplacedNotWrittenOver(t *testing.T) {
	w := newWorld(t, disk.NewMem())
	must(t, disk.MkdirAll(w.stage(t), "d", 0o755))
	must(t, w.root.Link("prefix/other", "prefix/stage/d/a"))
	_, err := CopyPart(context.Background(), w.part(t), w.stage(t), Options{})
	must(t, err)
	if got, err := disk.ReadFile(w.root, "prefix/other"); err != nil || string(got) != "untouched" {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestPartnerCopiesAreForFailedNodes(t *testing.T) {
	for _, failed := range [][]string{nil, {"n8"}, {"n9"}} {
		w := newWorld(t, disk.NewMem())
		w.fm.SetFlush(18, 1, scr.FlushDescriptor{Preserve: true, Partner: "n9"})
		p := w.part(t)
		p.Failed = failed
		done, err := CopyPart(context.Background(), p, w.stage(t), Options{})
		must(t, err)
		if _, ok := done[1]; ok != slices.Contains(failed, "n9") {
			t.Errorf("failed nodes %v: copied %v", failed, ok)
		}
	}
}

func TestCancelledCopyEnds(t *testing.T) {
	w := newWorld(t, disk.NewMem())
	ctx, cancel := context.WithCancel(context.Background())
	_, err := CopyPart(ctx, w.part(t), w.stage(t), Options{BufBytes: 100, BytesPerSecond: 1, Progress: func(int64) { cancel() }})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	for _, o := range []Options{{Width: -1}, {BufBytes: -1}, {BytesPerSecond: -1}} {
		if _, err := CopyPart(context.Background(), w.part(t), w.stage(t), o); !errors.Is(err, scr.ErrInvalid) {
			t.Errorf("%+v: got %v", o, err)
		}
	}
	if _, err := CopyPart(context.Background(), Part{Dataset: 18}, w.stage(t), Options{}); !errors.Is(err, scr.ErrInvalid) {
		t.Errorf("empty part: got %v", err)
	}
}
