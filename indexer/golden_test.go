package indexer

import (
	"context"
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
	"github.com/scrfs/scrfs/scr"
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
	// testdata alone has seven.
	if rebuilt < 7 {
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
