package flush

import (
	"errors"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"os"
	"path"
	"slices"
	"testing"

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
