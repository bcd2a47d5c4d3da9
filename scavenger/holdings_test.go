package scavenger

import (
	"os"
	"path"
	"strings"
	"testing"

	"github.com/scrfs/scrfs/internal/disk"
	"github.com/scrfs/scrfs/scavenger/rescuetest"
	"github.com/scrfs/scrfs/scr"
)

const ranks = 4

func newJob(t *testing.T) *rescuetest.Job {
	t.Helper()
	j, err := rescuetest.New(t.TempDir(), ranks)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := j.Close(); err != nil {
			t.Error(err)
		}
	})
	return j
}

// write leaves a protected checkpoint in the caches.
func write(t *testing.T, j *rescuetest.Job, id scr.DatasetID, dir string) []rescuetest.Files {
	t.Helper()
	files, tree := rescuetest.Checkpoint(dir, uint64(id), ranks)
	if err := j.Write(id, files, tree); err != nil {
		t.Fatal(err)
	}
	return files
}

func holdings(t *testing.T, j *rescuetest.Job, node int) NodeCache {
	t.Helper()
	control, err := disk.Open(j.Control(node))
	if err != nil {
		t.Fatal(err)
	}
	c, err := Holdings(control, disk.Open)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestHoldingsOfASealedDataset(t *testing.T) {
	j := newJob(t)
	files := write(t, j, 7, "run/ckpt.7")
	for node := range ranks {
		c := holdings(t, j, node)
		if len(c.Datasets) != 1 || len(c.Datasets[0].Held) != 1 {
			t.Fatalf("node %d holds %+v, want one rank of one dataset", node, c)
		}
		d, h := c.Datasets[0], c.Datasets[0].Held[0]
		if d.ID != 7 || d.Unsealed != "" || d.Ranks != ranks || d.Dir != "run/ckpt.7" || d.Dataset.Files != 2*ranks {
			t.Errorf("node %d: dataset is %+v", node, d)
		}
		want := SetInfo{Scheme: "XOR", ID: 0, Size: ranks, Mends: 1}
		if int(h.Rank) != node || h.Missing != "" || h.Files != len(files[node])+1 || !h.Redundancy || h.Set != want {
			t.Errorf("node %d: rank is %+v", node, h)
		}
	}
}

func TestHoldingsSayWhatIsNotWhole(t *testing.T) {
	for _, c := range []struct {
		name              string
		spoil             func(t *testing.T, j *rescuetest.Job, file, redundancy string) error
		missing, unsealed string
		redundancy        bool
	}{
		{
			name: "gone", missing: "rank_1: is gone", redundancy: true,
			spoil: func(t *testing.T, j *rescuetest.Job, file, _ string) error { return j.FS().Remove(file) },
		},
		{
			name: "short", missing: "rank_1: has 3 bytes, expected 6000", redundancy: true,
			spoil: func(t *testing.T, j *rescuetest.Job, file, _ string) error {
				return disk.WriteFile(j.FS(), file, []byte("abc"), 0o600)
			},
		},
		{
			name:  "redundancy gone",
			spoil: func(t *testing.T, j *rescuetest.Job, _, redundancy string) error { return j.FS().Remove(redundancy) },
		},
		{
			name: "a new file", unsealed: "run/ckpt.7/new was being written", redundancy: true,
			spoil: func(t *testing.T, j *rescuetest.Job, _, _ string) error {
				return j.Make(1, 7, rescuetest.Files{"run/ckpt.7/new": nil})
			},
		},
		{
			name: "written again", unsealed: "rank_1 was being written",
			spoil: func(t *testing.T, j *rescuetest.Job, _, _ string) error {
				f, err := j.Store(1).OpenFile(7, "run/ckpt.7/rank_1", os.O_RDWR)
				if err != nil {
					return err
				}
				return f.Close()
			},
		},
		{
			name: "unsealed", unsealed: "was being written",
			spoil: func(t *testing.T, j *rescuetest.Job, _, _ string) error { return j.Store(1).Unseal(7) },
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			j := newJob(t)
			write(t, j, 7, "run/ckpt.7")
			if err := c.spoil(t, j, j.Cache(1, 7, "run/ckpt.7/rank_1"), j.Cache(1, 7, "2_of_4_in_0.xor")); err != nil {
				t.Fatal(err)
			}
			d := holdings(t, j, 1).Datasets[0]
			if !strings.Contains(d.Unsealed, c.unsealed) || (c.unsealed == "") != (d.Unsealed == "") {
				t.Errorf("unsealed %q, want %q", d.Unsealed, c.unsealed)
			}
			if c.unsealed != "" {
				return
			}
			if h := d.Held[0]; h.Missing != c.missing || c.missing == "" && h.Redundancy != c.redundancy {
				t.Errorf("rank is %+v, want missing %q, redundancy %v", h, c.missing, c.redundancy)
			}
		})
	}
}

// A daemon killed while it made redundancy leaves whole user files.
func TestHoldingsBeforeTheRedundancyIsDone(t *testing.T) {
	j := newJob(t)
	files, tree := rescuetest.Restart("pp", 3, ranks)
	if _, err := j.Seal(3, files, tree); err != nil {
		t.Fatal(err)
	}
	f, err := j.Store(2).CreateRedundancy(3, 2, "3_of_4_in_0.xor")
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	d := holdings(t, j, 2).Datasets[0]
	if d.Unsealed != "" || d.Held[0].Missing != "" || d.Held[0].Redundancy || d.Held[0].Files != 1 {
		t.Errorf("holds %+v", d)
	}
	if d.Dir != ".scr/scr.dataset.3" {
		t.Errorf("loose files go to %s", d.Dir)
	}
}

func TestHoldingsOfAnEmptyControlDirectory(t *testing.T) {
	c, err := Holdings(disk.NewMem(), disk.Open)
	if err != nil || len(c.Datasets) != 0 {
		t.Errorf("got %+v, %v", c, err)
	}
	j := newJob(t)
	if c := holdings(t, j, 0); len(c.Datasets) != 0 {
		t.Errorf("got %+v", c)
	}
	master := path.Join(rescuetest.Node(0), "control", own.MasterFilemap())
	if err := disk.WriteFile(j.FS(), master, []byte("no hash"), 0o600); err != nil {
		t.Fatal(err)
	}
	control, err := disk.Open(j.Control(0))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Holdings(control, disk.Open); err == nil {
		t.Error("a damaged master filemap is no error")
	}
}
