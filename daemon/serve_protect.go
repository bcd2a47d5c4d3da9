package daemon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/scrfs/scrfs/cachestore"
	"github.com/scrfs/scrfs/catalog"
	"github.com/scrfs/scrfs/internal/disk"
	"github.com/scrfs/scrfs/peer"
	"github.com/scrfs/scrfs/ring"
	"github.com/scrfs/scrfs/scr"
	"github.com/scrfs/scrfs/xor"
)

// errBusy: a file of the dataset is open for writing, or mapped.
var errBusy = errors.New("is still being written")

func init() { peer.RegisterError("dataset.busy", errBusy) }

// serveFreeze reports the files of a dataset that lie here, if none of them is
// being written.
func (n *Node) serveFreeze(_ context.Context, _ peer.NodeID, req []byte) ([]byte, error) {
	var r datasetRequest
	if err := decodeGob(req, &r); err != nil {
		return nil, err
	}
	inodes, paths := n.inodesOf(r.ID)
	var held []cachedFile
	for k, i := range inodes {
		if !i.IsRegular() || !n.owns(i) {
			continue
		}
		f, err := n.freezeFile(i, paths[k])
		if err != nil {
			return nil, fmt.Errorf("dataset %d: %s: %w", r.ID, paths[k], err)
		}
		held = append(held, f)
	}
	return encodeGob(held)
}

func (n *Node) freezeFile(i *catalog.Inode, path string) (cachedFile, error) {
	if n.files.written(i.Ino) {
		return cachedFile{}, errBusy
	}
	f, err := n.store.OpenFile(i.Dataset, path, os.O_RDONLY)
	if err != nil {
		return cachedFile{}, err
	}
	defer f.Close()
	if err := unmapped(f); err != nil {
		return cachedFile{}, err
	}
	st, err := f.Stat()
	if err != nil {
		return cachedFile{}, err
	}
	return cachedFile{Ino: i.Ino, SizeBytes: st.Size(), Mtime: st.ModTime().UnixNano(), Spilled: n.spilled(i.Dataset, path)}, nil
}

// unmapped tells whether nobody writes a file, not even through a mapping that
// outlives its descriptor: the kernel grants a read lease only then (fcntl(2)).
// A file system without leases is taken at its word.
func unmapped(f disk.File) error {
	fd, ok := f.Fd()
	if !ok {
		return nil
	}
	_, err := unix.FcntlInt(fd, unix.F_SETLEASE, unix.F_RDLCK)
	switch {
	case errors.Is(err, unix.EAGAIN):
		return errBusy
	case err != nil:
		return nil
	}
	_, err = unix.FcntlInt(fd, unix.F_SETLEASE, unix.F_UNLCK)
	return err
}

// protectRequest is a node's part in the protection of a dataset, and what its
// filemap records.
type protectRequest struct {
	Gen  int
	Plan plan
	Sets []setPlan
	// PieceBytes must be the same for all members of a set; 0 is the default.
	PieceBytes int
}

func (n *Node) serveProtect(ctx context.Context, _ peer.NodeID, req []byte) ([]byte, error) {
	var r protectRequest
	if err := decodeGob(req, &r); err != nil {
		return nil, err
	}
	rec := cachestore.SealRecord{
		Dataset: r.Plan.Dataset, Ranks: r.Plan.Ranks, Tree: r.Plan.Tree,
		Layout: r.Plan.layout(), Files: map[scr.Rank][]scr.FileMeta{}, Redundancy: map[scr.Rank]scr.RedundancyDescriptor{},
	}
	for rank, node := range r.Plan.NodeOf {
		if node == string(n.group.self) {
			rec.Files[rank] = r.Plan.Files[rank]
			rec.Redundancy[rank] = r.Plan.descriptor(rank, 1, n.opts.CacheDir, n.opts.CacheBase)
		}
	}
	if err := n.store.Seal(rec); err != nil {
		return nil, err
	}
	var mu sync.Mutex
	var errs []error
	var wg sync.WaitGroup
	for _, set := range r.Sets {
		for index, node := range set.Nodes {
			if node != string(n.group.self) {
				continue
			}
			wg.Add(1)
			go func() {
				defer wg.Done()
				if err := n.encode(ctx, r, set, index); err != nil {
					mu.Lock()
					errs = append(errs, err)
					mu.Unlock()
				}
			}()
		}
	}
	wg.Wait()
	n.makeRoom(r.Plan.Dataset.ID)
	return nil, errors.Join(errs...)
}

// encode computes and stores the redundancy file of one member of a set.
func (n *Node) encode(ctx context.Context, r protectRequest, set setPlan, index int) error {
	id := r.Plan.Dataset.ID
	h := set.Header[index]
	name := scr.Paths{Family: scr.F14}.XORName(setMemberOf(h))
	files, closeAll, err := n.openMember(id, h.Current)
	if err != nil {
		return fmt.Errorf("protect dataset %d: rank %d: %w", id, h.Current.Rank, err)
	}
	defer closeAll()
	logical, err := xor.NewLogical(h.Current.Files, files)
	if err != nil {
		return fmt.Errorf("protect dataset %d: rank %d: %w", id, h.Current.Rank, err)
	}
	sizes := make([]int64, len(h.Current.Files))
	for k, f := range h.Current.Files {
		sizes[k] = f.SizeBytes
	}
	out, err := n.store.CreateRedundancy(id, h.Current.Rank, name)
	if err != nil {
		return err
	}
	header := h.Encode(scr.F14)
	links := ringLinks{n: n, id: id, gen: r.Gen, set: set, index: index}
	info, err := ring.EncodeXOR(ctx, ring.Member{Layout: h.Layout(), Index: index, Logical: logical, FileBytes: sizes, PieceBytes: r.PieceBytes}, links, headed(out, header))
	if err == nil {
		err = out.Sync()
	}
	if err := errors.Join(err, out.Close()); err != nil {
		return fmt.Errorf("protect dataset %d: rank %d: %w", id, h.Current.Rank, err)
	}
	for k, f := range h.Current.Files {
		if err := n.store.SetCRC(id, f.File, info.FileCRC[k]); err != nil {
			return err
		}
	}
	meta := scr.FileMeta{
		File: name, Type: scr.XORFile, Ranks: h.Ranks, Complete: true,
		SizeBytes: int64(len(header)) + h.ChunkBytes,
	}
	leftIndex := h.Layout().Left(index)
	left := set.Header[leftIndex].Current.Rank
	return n.store.CommitRedundancy(id, h.Current.Rank, name, meta, left, r.Plan.descriptor(left, 1, n.opts.CacheDir, n.opts.CacheBase))
}

func setMemberOf(h xor.Header) scr.SetMember {
	return scr.SetMember{Set: h.Set(), Member: h.Index(), Size: len(h.Group)}
}

// openMember opens a rank's files for reading, in the order of its header.
func (n *Node) openMember(id scr.DatasetID, m xor.Member) ([]io.ReaderAt, func(), error) {
	var open []io.Closer
	closeAll := func() {
		for _, f := range open {
			_ = f.Close() // read only: nothing can be lost
		}
	}
	readers := make([]io.ReaderAt, len(m.Files))
	for k, meta := range m.Files {
		f, err := n.store.OpenFile(id, meta.File, os.O_RDONLY)
		if err != nil {
			closeAll()
			return nil, nil, err
		}
		open = append(open, f)
		readers[k] = f
	}
	return readers, closeAll, nil
}

// headed writes a header in front of the first bytes.
func headed(w io.Writer, header []byte) io.Writer { return &headedWriter{w: w, header: header} }

type headedWriter struct {
	w      io.Writer
	header []byte
}

func (h *headedWriter) Write(p []byte) (int, error) {
	if h.header != nil {
		if _, err := h.w.Write(h.header); err != nil {
			return 0, err
		}
		h.header = nil
	}
	return h.w.Write(p)
}

// ringKey names the link into one member of one set.
type ringKey struct {
	ID     scr.DatasetID
	Gen    int
	Set    scr.Rank
	Member int
}

// streamRing is the kind of the streams of a ring; the header is a ringKey.
const streamRing = "ring"

// ringWait bounds how long a member waits for its neighbour to begin.
const ringWait = time.Minute

// ringLinks connects one member to its neighbours.
type ringLinks struct {
	n     *Node
	id    scr.DatasetID
	gen   int
	set   setPlan
	index int
}

func (l ringLinks) key(member int) ringKey {
	return ringKey{ID: l.id, Gen: l.gen, Set: l.set.Header[0].Set(), Member: member}
}

func (l ringLinks) Right(ctx context.Context) (io.WriteCloser, error) {
	right := l.set.Header[0].Layout().Right(l.index)
	header, err := encodeGob(l.key(right))
	if err != nil {
		return nil, err
	}
	s, err := l.n.transport.Open(ctx, peer.NodeID(l.set.Nodes[right]), streamRing, header)
	if err != nil {
		return nil, err
	}
	return rightStream{s}, nil
}

func (l ringLinks) Left(ctx context.Context) (io.ReadCloser, error) {
	ctx, cancel := context.WithTimeout(ctx, ringWait)
	defer cancel()
	return l.n.rings.await(ctx, l.key(l.index))
}

// rightStream ends the sending half when it is closed, and waits until the
// neighbour has taken everything.
type rightStream struct{ peer.Stream }

func (s rightStream) Close() error {
	err := s.Stream.CloseWrite()
	if err == nil {
		if _, err = io.Copy(io.Discard, s.Stream); err != nil {
			err = fmt.Errorf("right neighbour: %w", err)
		}
	}
	return errors.Join(err, s.Stream.Close())
}
