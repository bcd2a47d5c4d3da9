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
