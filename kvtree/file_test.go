package kvtree

import (
	"encoding/hex"
	"testing"
)

// nodesFile is a whole file as SCR writes it: NODES = 3.
const nodesFile = "951fc3f500010001000000000000002c00000001" +
	"00000001" + "4e4f44455300" + "00000001" + "3300" + "00000000" + "d64a1f79"

func TestEncodeIsTheFileThatSCRWrites(t *testing.T) {
	tree := New()
	tree.PutInt("NODES", 3)
	if got := hex.EncodeToString(Encode(tree)); got != nodesFile {
		t.Errorf("NODES = 3 is encoded as\n%s, want\n%s", got, nodesFile)
	}
}

// TestADecodedTreeGrowsWithoutTouchingItsNeighbours: the elements of a file
// that is read lie side by side in memory.
func TestADecodedTreeGrowsWithoutTouchingItsNeighbours(t *testing.T) {
	want := parse(t, "RANK\n  0\n    a\n  1\n    b\nDSET\n  1\n")
	tree, _, err := Decode(Encode(want))
	if err != nil {
		t.Fatal(err)
	}
	for _, grown := range []*Tree{tree, want} {
		for _, path := range [][]string{{"RANK", "0"}, {"RANK"}, {}, {"RANK", "1", "b"}} {
			grown.Sub(path...).PutInt("NEW", 1)
			grown.Sub(path...).PutFlag("NEWER")
		}
	}
	if got, want := text(t, tree), text(t, want); got != want {
		t.Errorf("the decoded tree grew to\n%s, want\n%s", got, want)
	}
}
