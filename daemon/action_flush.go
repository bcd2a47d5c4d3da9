package daemon

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"time"

	"github.com/scrfs/scrfs/flush"
	"github.com/scrfs/scrfs/indexer"
	"github.com/scrfs/scrfs/internal/disk"
	"github.com/scrfs/scrfs/lifecycle"
	"github.com/scrfs/scrfs/peer"
	"github.com/scrfs/scrfs/scr"
)

// flush lets every node copy its files into the staging directory, where the
// leader has made the directories and symbolic links.
func (n *Node) flush(ctx context.Context, a lifecycle.Action) error {
	tree, ranks, err := n.sealedTree(ctx, a)
	if err != nil {
		return err
	}
	if err := n.prefix.Do(func() error {
		stage, err := n.index.OpenStage(a.Dataset)
		if err != nil {
			return err
		}
		return makeTree(stage, tree)
	}); err != nil {
		return fmt.Errorf("stage: %w", err)
	}
	if err := n.askAll(ctx, ranks, callFlush, datasetRequest{a.Dataset, a.Gen}, nil); err != nil {
		return fmt.Errorf("copy: %w", err)
	}
	return nil
}

// sealedTree returns what the filemaps say of a dataset's directories, and the
// nodes that hold ranks of it.
func (n *Node) sealedTree(ctx context.Context, a lifecycle.Action) (scr.DirTree, []string, error) {
	var tree scr.DirTree
	var nodes []string
	err := n.askAll(ctx, n.liveNodes(), callHold, datasetRequest{a.Dataset, a.Gen}, func(node string, reply []byte) error {
		var h holding
		if err := decodeGob(reply, &h); err != nil {
			return err
		}
		if len(h.Ranks) > 0 {
			nodes, tree = append(nodes, node), h.Whole.Tree
		}
		return nil
	})
	return tree, nodes, err
}

// makeTree makes directories and symbolic links of a dataset. What is there
// already, from a try before, stays.
func makeTree(stage disk.FS, tree scr.DirTree) error {
	for _, d := range tree.Dirs {
		if err := disk.MkdirAll(stage, d.Path, 0o777); err != nil {
			return err
		}
		if d.Attr == nil {
			continue
		}
		mode := fs.FileMode(d.Attr.Mode & 0o777)
		if d.Attr.Mode&0o2000 != 0 {
			mode |= fs.ModeSetgid
		}
		if err := stage.Chmod(d.Path, mode); err != nil {
			return err
		}
		if err := stage.Chown(d.Path, int(d.Attr.UID), int(d.Attr.GID)); err != nil && !errors.Is(err, fs.ErrPermission) {
			return err
		}
	}
	for _, l := range tree.Symlinks {
		if err := disk.MkdirAll(stage, path.Dir(l.Path), 0o777); err != nil {
			return err
		}
		if err := stage.Symlink(l.Target, l.Path); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	return nil
}

// serveFlush copies this node's files of a dataset into the stage.
func (n *Node) serveFlush(ctx context.Context, _ peer.NodeID, req []byte) ([]byte, error) {
	var r datasetRequest
	if err := decodeGob(req, &r); err != nil {
		return nil, err
	}
	cache, err := n.store.DatasetFS(r.ID)
	if err != nil {
		return nil, err
	}
	var stage disk.FS
	if err := n.prefix.Do(func() (err error) { stage, err = n.index.OpenStage(r.ID); return err }); err != nil {
		return nil, err
	}
	fm, err := n.store.Filemap()
	if err != nil {
		return nil, err
	}
	part := flush.Part{
		Dataset: r.ID, Filemap: fm, Cache: cache, CacheDir: n.store.DatasetDir(r.ID), Prefix: n.opts.Prefix,
		Place: n.placeSpilled(r.ID),
	}
	copied, err := flush.CopyPart(ctx, part, stage, flush.Options{BytesPerSecond: n.opts.FlushBytesPerSecond, BufBytes: n.opts.CopyBytes})
	if err != nil {
		return nil, err
	}
	for _, files := range copied {
		for _, f := range files {
			if f.HasCRC {
				if err := n.store.SetCRC(r.ID, f.File, f.CRC); err != nil {
					return nil, err
				}
			}
		}
	}
	return nil, nil
}

// publish makes a staged dataset visible. Every byte of it was verified by the
// copy that brought it there.
func (n *Node) publish(ctx context.Context, a lifecycle.Action) error {
	return n.prefix.Do(func() error {
		if err := n.index.PublishStage(ctx, a.Dataset, indexer.PublishOptions{}); err != nil {
			return err
		}
		return n.index.MarkFlushed(ctx, a.Dataset)
	})
}

// evict takes a dataset out of the catalogue, then out of the caches. Programs
// that have its files open keep them.
func (n *Node) evict(ctx context.Context, a lifecycle.Action) error {
	if err := n.group.drop(ctx, a.Dataset); err != nil {
		return err
	}
	if err := n.askAll(ctx, n.liveNodes(), callEvict, datasetRequest{a.Dataset, a.Gen}, nil); err != nil {
		return err
	}
	d, ok := n.dataset(a.Dataset)
	if ok && d.Published {
		return nil
	}
	return n.prefix.Do(func() error {
		return errors.Join(n.index.DropStage(a.Dataset), n.index.Forget(ctx, a.Dataset))
	})
}

func (n *Node) serveEvict(_ context.Context, _ peer.NodeID, req []byte) ([]byte, error) {
	var r datasetRequest
	if err := decodeGob(req, &r); err != nil {
		return nil, err
	}
	return nil, n.store.RemoveDataset(r.ID)
}

// tickEvery is how often the leader looks whether something is due.
const tickEvery = 50 * time.Millisecond
