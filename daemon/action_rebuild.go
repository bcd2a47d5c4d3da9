package daemon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"

	"github.com/scrfs/scrfs/cachestore"
	"github.com/scrfs/scrfs/internal/disk"
	"github.com/scrfs/scrfs/lifecycle"
	"github.com/scrfs/scrfs/peer"
	"github.com/scrfs/scrfs/scr"
	"github.com/scrfs/scrfs/xor"
)

// holding is what one node has of a dataset.
type holding struct {
	Ranks []scr.Rank
	Whole sealedDataset
	XOR   []heldXOR
}

// sealedDataset is what all ranks of a dataset record alike.
type sealedDataset struct {
	Tree scr.DirTree
	Dir  string // dataset directory, relative to the prefix directory
}

// heldXOR is a redundancy file on a node.
type heldXOR struct {
	Node        string
	Name        string
	HeaderBytes int64
	Header      xor.Header
}

// rebuildRequest names the survivors of one set to the node that is to bring
// back the member that is missing.
type rebuildRequest struct {
	ID        scr.DatasetID
	Ranks     int
	Whole     sealedDataset
	Survivors []heldXOR
}

// rebuild brings back the files that a lost node had. Each set is rebuilt on
// the node of the lost member's right neighbour, which has a copy of its meta
// data and is one of the readers anyway.
func (n *Node) rebuild(ctx context.Context, a lifecycle.Action, ev *lifecycle.Event) error {
	sets := map[scr.Rank][]heldXOR{}
	var whole sealedDataset
	err := n.askAll(ctx, n.liveNodes(), callHold, datasetRequest{a.Dataset, a.Gen}, func(node string, reply []byte) error {
		var h holding
		if err := decodeGob(reply, &h); err != nil {
			return err
		}
		if len(h.Ranks) > 0 {
			whole = h.Whole
		}
		for _, x := range h.XOR {
			x.Node = node
			sets[x.Header.Set()] = append(sets[x.Header.Set()], x)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("rebuild dataset %d: %w", a.Dataset, err)
	}
	movedTo := map[string]string{} // path → node
	for _, id := range slices.Sorted(maps.Keys(sets)) {
		if err := n.rebuildSet(ctx, a, sets[id], whole, movedTo); err != nil {
			return fmt.Errorf("rebuild dataset %d: set %d: %w", a.Dataset, id, err)
		}
	}
	inodes, paths := n.inodesOf(a.Dataset)
	for k, i := range inodes {
		if !i.IsRegular() || i.Owner != a.Node {
			continue
		}
		to, ok := movedTo[paths[k]]
		if !ok {
			return fmt.Errorf("rebuild dataset %d: %s was on node %s only: %w", a.Dataset, paths[k], a.Node, scr.ErrUnrecoverable)
		}
		if err := n.group.moved(ctx, i.Ino, to); err != nil {
			return err
		}
		if !slices.Contains(ev.Nodes, to) {
			ev.Nodes = append(ev.Nodes, to)
		}
	}
	return nil
}

func (n *Node) rebuildSet(ctx context.Context, a lifecycle.Action, held []heldXOR, whole sealedDataset, movedTo map[string]string) error {
	headers := make([]xor.Header, len(held))
	for k, x := range held {
		headers[k] = x.Header
	}
	missing, err := xor.Agree(headers)
	switch {
	case err != nil:
		return err
	case len(missing) == 0:
		// Rebuilt by a try before this one: say where the files are.
		for _, x := range held {
			for _, f := range x.Header.Current.Files {
				movedTo[f.File] = x.Node
			}
		}
		return nil
	}
	h := headers[0]
	right := h.Layout().Right(missing[0])
	target := slices.IndexFunc(headers, func(x xor.Header) bool { return x.Index() == right })
	if target < 0 {
		return fmt.Errorf("members %v are lost: %w", missing, scr.ErrUnrecoverable)
	}
	req := rebuildRequest{ID: a.Dataset, Ranks: h.Ranks, Whole: whole, Survivors: held}
	node := held[target].Node
	if err := n.askAll(ctx, []string{node}, callRebuild, req, nil); err != nil {
		return err
	}
	for _, f := range headers[target].Partner.Files {
		movedTo[f.File] = node
	}
	return nil
}

// serveHold tells what this node has of a dataset.
func (n *Node) serveHold(_ context.Context, _ peer.NodeID, req []byte) ([]byte, error) {
	var r datasetRequest
	if err := decodeGob(req, &r); err != nil {
		return nil, err
	}
	fm, err := n.store.Filemap()
	if err != nil {
		return nil, err
	}
	var h holding
	for _, rank := range fm.RanksOf(r.ID) {
		if _, err := fm.Dataset(r.ID, rank); err != nil {
			continue // only the descriptor of a neighbour
		}
		h.Ranks = append(h.Ranks, rank)
		if h.Whole.Tree, err = fm.DirTree(r.ID, rank); err != nil {
			return nil, err
		}
		h.Whole.Dir, _ = fm.Tag(r.ID, rank, scr.TagDatasetDir)
	}
	redundancy, err := n.store.Redundancy(r.ID)
	if err != nil {
		return nil, err
	}
	for _, name := range redundancy {
		x, err := n.readHeader(r.ID, name)
		if err != nil {
			return nil, err
		}
		h.XOR = append(h.XOR, x)
	}
	return encodeGob(h)
}

func (n *Node) readHeader(id scr.DatasetID, name string) (heldXOR, error) {
	f, err := n.store.OpenFile(id, name, os.O_RDONLY)
	if err != nil {
		return heldXOR{}, err
	}
	defer f.Close()
	h, bytes, err := xor.ReadHeader(f)
	if err != nil {
		return heldXOR{}, fmt.Errorf("dataset %d: %s: %w", id, name, err)
	}
	return heldXOR{Name: name, HeaderBytes: bytes, Header: h}, nil
}

// serveRebuild brings back one member of a set on this node, reading the
// others over the network.
func (n *Node) serveRebuild(ctx context.Context, _ peer.NodeID, req []byte) ([]byte, error) {
	var r rebuildRequest
	if err := decodeGob(req, &r); err != nil {
		return nil, err
	}
	members := make([]xor.MemberData, len(r.Survivors))
	for k, s := range r.Survivors {
		members[k] = n.memberData(ctx, r.ID, s)
	}
	sink := &rebuildSink{n: n, id: r.ID}
	done, err := xor.Rebuild(ctx, members, sink, xor.Options{Family: scr.F14, Workers: 4, PieceBytes: n.opts.EncodeBytes})
	if err != nil {
		return nil, err
	}
	cur := done.Header.Current
	rec := cachestore.SealRecord{
		Dataset: done.Header.Dataset, Ranks: r.Ranks, Tree: r.Whole.Tree, Layout: scr.Layout{Dir: r.Whole.Dir},
		Files: map[scr.Rank][]scr.FileMeta{cur.Rank: done.Files},
		Redundancy: map[scr.Rank]scr.RedundancyDescriptor{cur.Rank: {
			Enabled: true, Interval: 1, Type: scr.XOR, Directory: n.opts.CacheDir, Store: n.opts.CacheBase,
			Groups: 1, GroupID: done.Header.Set(), GroupSize: len(done.Header.Group), GroupRank: done.Header.Index(),
		}},
	}
	if err := n.store.AddRanks(rec); err != nil {
		return nil, err
	}
	done.Redundancy.File = sink.name
	return nil, n.store.CommitRedundancy(r.ID, cur.Rank, sink.name, done.Redundancy, done.Header.Partner.Rank, rec.Redundancy[cur.Rank])
}

func (n *Node) memberData(ctx context.Context, id scr.DatasetID, s heldXOR) xor.MemberData {
	m := xor.MemberData{Header: s.Header, Payload: &heldFile{n: n, ctx: ctx, node: s.Node, id: id, path: s.Name, start: s.HeaderBytes}}
	for _, f := range s.Header.Current.Files {
		m.Files = append(m.Files, &heldFile{n: n, ctx: ctx, node: s.Node, id: id, path: f.File})
	}
	return m
}

// rebuildSink writes what is rebuilt into this node's cache.
type rebuildSink struct {
	n    *Node
	id   scr.DatasetID
	name string // of the redundancy file
}

func (s *rebuildSink) File(_ int, meta scr.FileMeta) (io.WriteCloser, error) {
	f, err := s.n.store.Create(s.id, meta.File, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	return synced{f}, err
}

func (s *rebuildSink) Redundancy(h xor.Header) (io.WriteCloser, error) {
	s.name = scr.Paths{Family: scr.F14}.XORName(setMemberOf(h))
	f, err := s.n.store.CreateRedundancy(s.id, h.Current.Rank, s.name)
	return synced{f}, err
}

// synced makes a file durable when it is closed.
type synced struct{ disk.File }

func (s synced) Close() error { return errors.Join(s.Sync(), s.File.Close()) }

// blockRequest asks for a piece of a cached file by its name in the dataset.
type blockRequest struct {
	ID     scr.DatasetID
	Path   string
	Offset int64
	Bytes  int
}

func (n *Node) serveBlock(_ context.Context, _ peer.NodeID, req []byte) ([]byte, error) {
	var r blockRequest
	if err := decodeGob(req, &r); err != nil {
		return nil, err
	}
	if r.Bytes < 0 || r.Bytes > blockBytes {
		return nil, fmt.Errorf("block of %d bytes, at most %d are allowed", r.Bytes, blockBytes)
	}
	return n.readBlock(r.ID, r.Path, r.Offset, r.Bytes)
}

// heldFile reads a cached file of any node.
type heldFile struct {
	n     *Node
	ctx   context.Context // of the rebuild that reads
	node  string
	id    scr.DatasetID
	path  string
	start int64 // offset 0 of the reader in the file
}

func (f *heldFile) ReadAt(p []byte, off int64) (int, error) {
	total := 0
	for total < len(p) {
		want := min(len(p)-total, blockBytes)
		req, err := encodeGob(blockRequest{f.id, f.path, f.start + off + int64(total), want})
		if err != nil {
			return total, err
		}
		b, err := f.n.ask(f.ctx, f.node, callBlock, req)
		if err != nil {
			return total, fmt.Errorf("read %s of dataset %d on node %s: %w", f.path, f.id, f.node, err)
		}
		data, err := openBlock(b)
		if err != nil {
			return total, fmt.Errorf("read %s of dataset %d on node %s: %w", f.path, f.id, f.node, err)
		}
		total += copy(p[total:], data)
		if len(data) < want {
			return total, io.EOF
		}
	}
	return total, nil
}
