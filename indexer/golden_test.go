package indexer

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/scrfs/scrfs/internal/disk"
	"github.com/scrfs/scrfs/kvtree"
	"github.com/scrfs/scrfs/scr"
	"github.com/scrfs/scrfs/xor"
)

// golden is a case that SCR ran.
type golden struct {
	dir      string
	family   scr.Family
	Version  string
	Case     string
	Scheme   string
	Lost     []int    `json:"lost_nodes"`
	RC       []int    `json:"scr_index_rc"`
	Commands []string `json:"commands"`
}

var goldenFamilies = map[string]scr.Family{"dev-20111122": scr.F11, "dev-20140129": scr.F14, "v1.2.2": scr.F12}

// goldens reads the cases of testdata, and of the whole collection where the
// checkout has it beside it.
func goldens(t *testing.T) []golden {
	t.Helper()
	roots := []string{"testdata/golden"}
	if _, err := os.Stat("../../shared/golden"); err == nil {
		roots = append(roots, "../../shared/golden")
	}
	var list []golden
	for _, root := range roots {
		for version, family := range goldenFamilies {
			dirs, err := filepath.Glob(filepath.Join(root, version, "*", "case.json"))
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range dirs {
				data, err := os.ReadFile(name)
				if err != nil {
					t.Fatal(err)
				}
				g := golden{dir: filepath.Dir(name), family: family}
				if err := json.Unmarshal(data, &g); err != nil {
					t.Fatal(err)
				}
				list = append(list, g)
			}
		}
	}
	if len(list) < 14 {
		t.Fatalf("%d golden cases", len(list))
	}
	return list
}

func (g golden) name() string {
	return strings.ReplaceAll(strings.TrimPrefix(filepath.ToSlash(g.dir), "../../"), "/", "_")
}

// added lists what SCR's index command was told to add.
func (g golden) added() []string {
	var names []string
	for _, c := range g.Commands {
		if _, name, ok := strings.Cut(c, "scr_index --prefix /srv/lscratchb/user1/simulation123 --add "); ok {
			names = append(names, name)
		}
	}
	return names
}

// load copies stages into memory, later ones over earlier ones.
func (g golden) load(t *testing.T, stages ...string) *disk.Mem {
	t.Helper()
	mem := disk.NewMem()
	for _, stage := range stages {
		loadDir(t, mem, filepath.Join(g.dir, stage))
	}
	return mem
}

func loadDir(t *testing.T, mem disk.FS, dir string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		rel, err := filepath.Rel(dir, name)
		if err != nil {
			return err
		}
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		if err := disk.MkdirAll(mem, path.Dir(rel), 0o755); err != nil {
			return err
		}
		if rel == "scr.current" { // kept as a file that holds the target
			return mem.Symlink(string(data), rel)
		}
		return disk.WriteFile(mem, rel, data, 0o644)
	})
	if err != nil {
		t.Fatal(err)
	}
}

const (
	before    = "2-prefix-before"
	scavenged = "3-prefix-scavenged"
	indexed   = "4-prefix-indexed"
)

// Every case that SCR rebuilt gives the same files, and the same hashes.
func TestAddDoesWhatSCRDid(t *testing.T) {
	rebuilt := 0
	for _, g := range goldens(t) {
		if len(g.RC) == 0 || slices.Contains(g.RC, 1) {
			continue
		}
		t.Run(g.name(), func(t *testing.T) {
			mem := g.load(t, before, scavenged)
			for _, name := range g.added() {
				r, err := newTest(mem).Add(context.Background(), name)
				if err != nil {
					t.Fatal(err)
				}
				rebuilt += len(r.Rebuilt)
				if g.Scheme == "XOR" && len(r.Rebuilt) == 0 {
					t.Error("nothing was rebuilt")
				}
			}
			g.checkUserFiles(t, mem)
			g.compare(t, mem, g.load(t, before, scavenged, indexed))
		})
	}
	if rebuilt < 8 {
		t.Errorf("%d ranks were rebuilt", rebuilt)
	}
}

// A prefix directory of another name, and a dataset directory of another name,
// are no trouble.
func TestAddWorksInAMovedPrefixDirectory(t *testing.T) {
	for _, g := range goldens(t) {
		if len(g.RC) == 0 || slices.Contains(g.RC, 1) {
			continue
		}
		t.Run(g.name(), func(t *testing.T) {
			mem := g.load(t, before, scavenged)
			for _, name := range g.added() {
				if g.family != scr.F12 {
					if err := mem.Rename(name, "moved away"); err != nil {
						t.Fatal(err)
					}
					name = "moved away"
				}
				if _, err := New(mem, "/elsewhere/p", Options{}).Add(context.Background(), name); err != nil {
					t.Fatal(err)
				}
				if g.family != scr.F12 {
					if err := mem.Rename(name, g.added()[0]); err != nil {
						t.Fatal(err)
					}
				}
			}
			g.checkUserFiles(t, mem)
		})
	}
}

// What cannot be rebuilt is an error that names the ranks, and nothing changes.
func TestAddOfTheUnrecoverableChangesNothing(t *testing.T) {
	seen := 0
	for _, g := range goldens(t) {
		if !slices.Contains(g.RC, 1) {
			continue
		}
		seen++
		t.Run(g.name(), func(t *testing.T) {
			for _, stages := range [][]string{{before, scavenged}, {before, scavenged, indexed}} { // with SCR's summary: incomplete
				mem := g.load(t, stages...)
				was := everything(t, mem)
				_, err := newTest(mem).Add(context.Background(), g.added()[0])
				if !errors.Is(err, scr.ErrUnrecoverable) {
					t.Fatalf("got %v", err)
				}
				for _, rank := range g.Lost {
					if !strings.Contains(err.Error(), fmt.Sprint(rank)) {
						t.Errorf("%q does not name rank %d", err, rank)
					}
				}
				now := everything(t, mem)
				delete(now, ".scr/rebuild.lock")
				delete(now, "rebuild.lock")
				if len(now) != len(was) {
					t.Errorf("%d files, there were %d", len(now), len(was))
				}
				for name, data := range was {
					if now[name] != data {
						t.Errorf("%s is another", name)
					}
				}
			}
		})
	}
	if seen == 0 {
		t.Error("no case was checked")
	}
}

// The release that wrote a summary of what it had not got never looked again.
// We do.
func TestAStaleIncompleteSummaryIsNotBelieved(t *testing.T) {
	for _, g := range goldens(t) {
		if g.Case != "xor4-basic" {
			continue
		}
		t.Run(g.name(), func(t *testing.T) {
			mem := g.load(t, before, scavenged)
			place, err := newTest(mem).Locate(g.added()[0])
			if err != nil {
				t.Fatal(err)
			}
			stale := scr.Summary{Dataset: scr.Dataset{ID: 1, Name: "stale"}}
			if err := scr.WriteSummary(mem, scr.Paths{Family: g.family}, place.Dir, stale); err != nil {
				t.Fatal(err)
			}
			if _, err := newTest(mem).Add(context.Background(), g.added()[0]); err != nil {
				t.Fatal(err)
			}
			g.compare(t, mem, g.load(t, before, scavenged, indexed))
		})
	}
}

// PARTNER with one node lost: what the copies of the survivors give, brought to
// the prefix directory as a scavenge ought to, is complete.
func TestPartnerRecoversOneLostNode(t *testing.T) {
	for _, g := range goldens(t) {
		if g.Scheme != "PARTNER" {
			continue
		}
		if _, err := os.Stat(filepath.Join(g.dir, "1-nodes")); err != nil {
			continue
		}
		t.Run(g.name(), func(t *testing.T) {
			mem := g.load(t, before)
			g.scavengeNodes(t, mem)
			if _, err := newTest(mem).Add(context.Background(), g.added()[0]); err != nil {
				t.Fatal(err)
			}
			g.checkUserFiles(t, mem)
			if _, err := newTest(mem).Verify(context.Background(), g.added()[0]); err != nil {
				t.Error(err)
			}
		})
	}
}

// scavengeNodes copies the files of dataset 1 from the nodes that are left.
func (g golden) scavengeNodes(t *testing.T, prefix disk.FS) {
	t.Helper()
	p := scr.Paths{Family: g.family}
	all := scr.NewFilemap()
	data := map[string][]byte{}
	nodes, err := filepath.Glob(filepath.Join(g.dir, "1-nodes", "node*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, node := range nodes {
		if slices.Contains(g.Lost, nodeNumber(filepath.Base(node))) {
			continue
		}
		mem := disk.NewMem()
		loadDir(t, mem, node)
		control, err := mem.Sub("user1/scr.1145655")
		if err != nil {
			t.Fatal(err)
		}
		m, err := scr.ReadNodeFilemap(control)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range m.RanksOf(1) {
			flush, err := m.Flush(1, r)
			if err != nil {
				t.Fatal(err)
			}
			if flush.Partner != "" && !slices.Contains(g.Lost, nodeNumber(flush.Partner)) {
				m.RemoveRank(r) // the owner's node has it
				continue
			}
			for _, name := range m.Files(1, r) {
				b, err := disk.ReadFile(mem, strings.TrimPrefix(name, "/srv/ssd/"))
				if err != nil {
					t.Fatal(err)
				}
				data[name] = b
			}
		}
		all.Merge(m)
	}
	dir := p.DatasetDir(1, "scr.dataset.1")
	for _, r := range all.RanksOf(1) {
		rename := func(name string) string {
			meta, err := all.Meta(1, r, name)
			if err != nil {
				t.Fatal(err)
			}
			if g.family != scr.F12 {
				return path.Base(name)
			}
			rel, err := scr.Below("/srv/lscratchb/user1/simulation123", meta.Path, meta.Name)
			if err != nil {
				t.Fatal(err)
			}
			return rel
		}
		for _, name := range all.Files(1, r) {
			rel, err := p.Resolve(dir, rename(name))
			if err != nil {
				t.Fatal(err)
			}
			build(t, prefix, tree{rel: string(data[name])})
		}
		if err := disk.MkdirAll(prefix, p.SCRDir(dir), 0o755); err != nil {
			t.Fatal(err)
		}
		m := all.InFamily(g.family).ForPrefix(1, r, rename)
		if err := scr.WriteFilemap(prefix, p.RankFilemap(dir, r), m); err != nil {
			t.Fatal(err)
		}
	}
}

func nodeNumber(name string) int {
	n, err := strconv.Atoi(strings.TrimPrefix(name, "node"))
	if err != nil {
		return -1
	}
	return n
}

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
