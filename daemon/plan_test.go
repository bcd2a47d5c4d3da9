package daemon

import (
	"errors"
	"syscall"
	"testing"

	"github.com/scrfs/scrfs/catalog"
	"github.com/scrfs/scrfs/redset"
	"github.com/scrfs/scrfs/scr"
)

// fourRanks is a dataset of a directory with a file of each of four ranks on
// two nodes, all of another length, and a symbolic link.
func fourRanks() planInput {
	in := planInput{
		Dataset: scr.Dataset{ID: 7}, Held: map[catalog.Ino]cachedFile{}, Nodes: []string{"n0", "n1"}, PrefixDir: "/p",
		Sets: redset.Options{Scheme: scr.XOR, Family: scr.F14},
	}
	add := func(path string, i catalog.Inode) {
		i.Ino = catalog.Ino(len(in.Inodes) + 1)
		in.Inodes, in.Paths = append(in.Inodes, &i), append(in.Paths, path)
	}
	add("run/link", catalog.Inode{Mode: syscall.S_IFLNK | 0o777, Target: "ckpt"})
	add("run/ckpt/z", catalog.Inode{Mode: syscall.S_IFDIR | 0o700})
	add("run/ckpt", catalog.Inode{Mode: syscall.S_IFDIR | 0o755, UID: 5, Mtime: 3e9 + 4})
	for r, node := range []string{"n0", "n0", "n1", "n1"} {
		add("run/ckpt/rank"+string(rune('0'+r)), catalog.Inode{Mode: syscall.S_IFREG | 0o640, Owner: node, Rank: scr.Rank(r), World: 4, SizeBytes: -1})
		ino := catalog.Ino(len(in.Inodes))
		in.Held[ino] = cachedFile{Ino: ino, SizeBytes: int64(100 + r), Mtime: 2e9 + 1}
	}
	return in
}

func TestPlanGivesEachFileARankAndEachRankASet(t *testing.T) {
	p, warnings, err := makePlan(fourRanks())
	if err != nil || len(warnings) != 0 {
		t.Fatal(warnings, err)
	}
	if p.Ranks != 4 || p.Dataset.Files != 4 || p.Dataset.SizeBytes != 406 || !p.Dataset.Complete {
		t.Errorf("%d ranks, dataset %+v", p.Ranks, p.Dataset)
	}
	for r, node := range []string{"n0", "n0", "n1", "n1"} {
		files := p.Files[scr.Rank(r)]
		if p.NodeOf[scr.Rank(r)] != node || len(files) != 1 {
			t.Fatalf("rank %d is on %s with %d files", r, p.NodeOf[scr.Rank(r)], len(files))
		}
		f := files[0]
		// Size and time are those of the cache file, not of the catalogue.
		if f.SizeBytes != int64(100+r) || f.Attr.Modify != (scr.Timespec{Secs: 2, Nsecs: 1}) || f.Path != "/p/run/ckpt" || f.Name != f.File[len("run/ckpt/"):] || f.Orig != f.File {
			t.Errorf("rank %d: %+v %+v", r, f, f.Attr)
		}
	}
	if len(p.Tree.Dirs) != 2 || p.Tree.Dirs[0].Path != "run/ckpt" || p.Tree.Dirs[0].Attr.UID != 5 || len(p.Tree.Symlinks) != 1 || p.Tree.Symlinks[0].Target != "ckpt" {
		t.Errorf("tree %+v", p.Tree)
	}
	sets, err := p.setPlans()
	if err != nil || len(sets) != 2 {
		t.Fatalf("%d sets: %v", len(sets), err)
	}
	for _, s := range sets {
		if len(s.Nodes) != 2 || s.Nodes[0] == s.Nodes[1] || len(s.Header) != 2 {
			t.Errorf("set over %v with %d headers", s.Nodes, len(s.Header))
		}
	}
	d := p.descriptor(3, 1, "/cache", "/base")
	if d.Type != scr.XOR || d.GroupSize != 2 || d.GroupRank != 1 || d.GroupID != 1 || d.Groups != 2 || !d.Enabled {
		t.Errorf("descriptor %+v", d)
	}
}

func TestPlanOfADatasetThatIsNotWhole(t *testing.T) {
	in := fourRanks()
	delete(in.Held, catalog.Ino(len(in.Inodes)))
	if _, _, err := makePlan(in); !errors.Is(err, scr.ErrIncomplete) {
		t.Errorf("a file is in no cache: %v", err)
	}
}

func TestPlanOnOneNodeHasNoRedundancyAndSaysSo(t *testing.T) {
	in := fourRanks()
	in.Nodes = []string{"n0"}
	for _, i := range in.Inodes {
		if i.IsRegular() {
			i.Owner = "n0"
		}
	}
	p, warnings, err := makePlan(in)
	if err != nil || len(warnings) == 0 {
		t.Fatalf("warnings %v: %v", warnings, err)
	}
	if sets, err := p.setPlans(); err != nil || len(sets) != 0 {
		t.Errorf("%d sets: %v", len(sets), err)
	}
	if d := p.descriptor(2, 1, "/cache", "/base"); d.Type != scr.Single || d.GroupSize != 1 || d.GroupID != 2 {
		t.Errorf("descriptor %+v", d)
	}
}

func TestPlanKeepsFailureGroupsApart(t *testing.T) {
	in := fourRanks()
	in.Groups = map[string]string{"n0": "rack", "n1": "rack"}
	p, warnings, err := makePlan(in)
	if err != nil || len(warnings) == 0 {
		t.Fatalf("two nodes of one failure group protect each other: %v %v", warnings, err)
	}
	if sets, _ := p.setPlans(); len(sets) != 0 {
		t.Errorf("%d sets within one failure group", len(sets))
	}
}

func TestPlanOfADirectoryWithoutFiles(t *testing.T) {
	in := fourRanks()
	in.Inodes, in.Paths = in.Inodes[:3], in.Paths[:3]
	p, _, err := makePlan(in)
	if err != nil || p.Ranks != 2 || p.Dataset.Files != 0 {
		t.Errorf("%d ranks, %d files: %v", p.Ranks, p.Dataset.Files, err)
	}
}
