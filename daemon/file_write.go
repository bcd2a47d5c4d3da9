package daemon

import (
	"context"
	"errors"
	"syscall"

	"github.com/scrfs/scrfs/catalog"
	"github.com/scrfs/scrfs/peer"
)

// A file of another node that is opened for writing here is written there:
// every write goes to the owner before it is answered, so readers on all nodes
// see it.
const (
	callWrite    = "file.write"
	callTruncate = "file.truncate"
)

type writeRequest struct {
	Ino    catalog.Ino
	Offset int64
	Block  []byte // with its checksum behind it
}

func (n *Node) writeRemote(ctx context.Context, i *catalog.Inode, p []byte, off int64) (int, error) {
	total := 0
	for total < len(p) {
		piece := p[total:min(total+blockBytes, len(p))]
		req := writeRequest{Ino: i.Ino, Offset: off + int64(total), Block: sealBlock(append([]byte(nil), piece...))}
		if _, err := n.askOwner(ctx, i, callWrite, req); err != nil {
			return total, err
		}
		total += len(piece)
	}
	return total, nil
}

func (n *Node) serveWrite(_ context.Context, _ peer.NodeID, req []byte) ([]byte, error) {
	var w writeRequest
	if err := decodeGob(req, &w); err != nil {
		return nil, err
	}
	data, err := openBlock(w.Block)
	if err != nil {
		return nil, err
	}
	return nil, n.changeHere(w.Ino, func(f cacheFile) error {
		_, err := f.WriteAt(data, w.Offset)
		return err
	})
}

// cacheFile is what is changed for another node.
type cacheFile interface {
	WriteAt(p []byte, off int64) (int, error)
	Truncate(sizeBytes int64) error
}

// changeHere changes a cache file of this node for another one.
func (n *Node) changeHere(ino catalog.Ino, change func(cacheFile) error) error {
	i := n.inode(uint64(ino))
	_, p, err := n.here(ino)
	if err != nil || i == nil {
		return errors.Join(err, syscall.ESTALE)
	}
	f, err := n.openBytes(i, p, opening{writes: true, remote: true})
	if err != nil {
		return err
	}
	if err := change(f); err != nil {
		_ = f.Close()
		return err
	}
	return f.Close()
}

// truncate sets the size of a file that has a name, wherever it lies.
func (n *Node) truncate(ctx context.Context, i *catalog.Inode, sizeBytes int64) error {
	if !n.owns(i) {
		return n.truncateRemote(ctx, i, sizeBytes)
	}
	return n.changeHere(i.Ino, func(f cacheFile) error { return f.Truncate(sizeBytes) })
}

func (n *Node) truncateRemote(ctx context.Context, i *catalog.Inode, sizeBytes int64) error {
	_, err := n.askOwner(ctx, i, callTruncate, fileRequest{Ino: i.Ino, Offset: sizeBytes})
	return err
}

func (n *Node) serveTruncate(_ context.Context, _ peer.NodeID, req []byte) ([]byte, error) {
	var r fileRequest
	if err := decodeGob(req, &r); err != nil {
		return nil, err
	}
	return nil, n.changeHere(r.Ino, func(f cacheFile) error { return f.Truncate(r.Offset) })
}
