package catalog

import "testing"

// TestOpenForAnotherDatasetTakesTheFileAlong: a file written anew belongs to
// the dataset and the rank that write it now; any other open changes neither.
func TestOpenForAnotherDatasetTakesTheFileAlong(t *testing.T) {
	s := New()
	made, err := s.Apply(Op{Kind: OpCreate, Node: "n0", Name: "latest", Dataset: 1, Rank: 3, World: 4})
	if err != nil {
		t.Fatal(err)
	}
	ino := made.Inode.Ino
	for _, c := range []struct {
		op      Op
		from    int64
		dataset int64
		rank    int
	}{
		{Op{Kind: OpOpen, Node: "n0", Ino: ino, Rank: 0, World: 4}, 0, 1, 3},
		{Op{Kind: OpOpen, Node: "n0", Ino: ino, Dataset: 1, Rank: 0, World: 4}, 0, 1, 3},
		{Op{Kind: OpOpen, Node: "n1", Ino: ino, Dataset: 2, Rank: 0, World: 4}, 1, 2, 0},
	} {
		res, err := s.Apply(c.op)
		if err != nil {
			t.Fatal(err)
		}
		n := s.Inode(ino)
		if int64(res.From) != c.from || int64(n.Dataset) != c.dataset || int(n.Rank) != c.rank || n.Owner != "n0" {
			t.Errorf("%+v: from %d, dataset %d, rank %d, owner %s", c.op, res.From, n.Dataset, n.Rank, n.Owner)
		}
	}
	if list := s.Dataset(2); len(list) != 1 || len(s.Dataset(1)) != 0 {
		t.Errorf("dataset 2 has %d files, dataset 1 %d", len(list), len(s.Dataset(1)))
	}
}
