package scr

import (
	"fmt"

	"github.com/scrfs/scrfs/internal/disk"
	"github.com/scrfs/scrfs/kvtree"
)

// NodesFile holds the number of nodes of the last run (nodes.scr).
type NodesFile struct {
	// Nodes is at least 1.
	Nodes int
}

// Tree returns the hash, the same in every family.
func (n NodesFile) Tree(Family) *kvtree.Tree {
	t := kvtree.New()
	t.PutInt("NODES", int64(n.Nodes))
	return t
}

// NodesFileFromTree reads the hash. Errors wrap ErrInvalid.
func NodesFileFromTree(t *kvtree.Tree) (NodesFile, error) {
	f := fields{tree: t, record: "nodes file"}
	n := NodesFile{Nodes: int(f.number("NODES", 1, MaxRanks))}
	return n, f.err
}

// ReadNodes reads the nodes file. An absent file gives fs.ErrNotExist.
func ReadNodes(fsys disk.FS, name string) (NodesFile, error) {
	t, err := ReadTree(fsys, name)
	if err != nil {
		return NodesFile{}, err
	}
	n, err := NodesFileFromTree(t)
	if err != nil {
		return NodesFile{}, fmt.Errorf("read %s: %w", name, err)
	}
	return n, nil
}

// WriteNodes replaces the nodes file in one step.
func WriteNodes(fsys disk.FS, name string, n NodesFile) error {
	return WriteTree(fsys, name, n.Tree(F14))
}
