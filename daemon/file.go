package daemon

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/scrfs/scrfs/catalog"
	"github.com/scrfs/scrfs/fusefs"
	"github.com/scrfs/scrfs/internal/disk"
	"github.com/scrfs/scrfs/lifecycle"
	"github.com/scrfs/scrfs/peer"
	"github.com/scrfs/scrfs/scr"
)

// openFile is one open of a catalogue file by a program on this node. Its
// bytes lie here (local is set), or on the node that owns it.
type openFile struct {
	n      *Node
	inode  *catalog.Inode // as it was when it was opened
	writes bool
	local  disk.File
}

func (s namespace) Create(ctx context.Context, dir fusefs.Dir, name string, flags, mode uint32, c fusefs.Caller) (fusefs.Entry, fusefs.File, error) {
	s.seen(ctx, c)
	op := catalog.Op{Kind: catalog.OpCreate, Dir: catDir(dir), Name: name, Mode: mode}
	for {
		e, err := s.make(ctx, op, fusefs.RegularFile, dir, c)
		if errors.Is(err, syscall.EEXIST) && flags&syscall.O_EXCL == 0 {
			// Another program was first: open what it made.
			if e, err = s.Lookup(ctx, dir, name); err == nil {
				f, err := s.Open(ctx, e.Ino, flags, c)
				return e, f, err
			}
			continue // and it has removed it again
		}
		if err != nil {
			return fusefs.Entry{}, nil, err
		}
		i := s.n.inode(e.Ino)
		if i == nil {
			return fusefs.Entry{}, nil, syscall.ESTALE
		}
		s.n.writers.wrote(c, i.Dataset)
		// The operation counted this open already.
		f, err := s.n.openLocal(i, flags, true)
		if err != nil {
			s.n.closed(&openFile{n: s.n, inode: i, writes: true})
			return fusefs.Entry{}, nil, err
		}
		return e, f, nil
	}
}

func (s namespace) Open(ctx context.Context, ino uint64, flags uint32, c fusefs.Caller) (fusefs.File, error) {
	s.seen(ctx, c)
	i := s.n.inode(ino)
	if i == nil {
		return s.n.reopened(ino, flags)
	}
	writes := flags&syscall.O_ACCMODE != syscall.O_RDONLY || flags&syscall.O_TRUNC != 0
	if writes {
		var err error
		if i, err = s.openToWrite(ctx, i, flags, c); err != nil {
			return nil, err
		}
	}
	f, err := s.n.openFile(ctx, i, flags, writes)
	if err != nil && writes {
		s.n.closed(&openFile{n: s.n, inode: i, writes: true})
	}
	if errors.Is(err, fs.ErrNotExist) && s.n.elsewhere(i) {
		return s.Open(ctx, ino, flags, c) // renamed or removed meanwhile
	}
	return f, err
}

func (n *Node) reopened(ino uint64, flags uint32) (fusefs.File, error) {
	f, err := n.openRemoved(ino, flags)
	if err != nil {
		return nil, err
	}
	return f, nil
}

// openToWrite tells the job of an open for writing and returns the inode as it
// is then: one that is truncated may belong to another dataset now.
func (s namespace) openToWrite(ctx context.Context, i *catalog.Inode, flags uint32, c fusefs.Caller) (*catalog.Inode, error) {
	id := s.n.ident.Of(c.PID)
	op := catalog.Op{Kind: catalog.OpOpen, Ino: i.Ino, Rank: id.Rank, World: id.World, App: s.n.app(c)}
	if flags&syscall.O_TRUNC != 0 {
		op.Flags = flagTruncates
	}
	_, err := s.propose(ctx, op)
	if errors.Is(err, syscall.EXDEV) && op.Flags == flagTruncates {
		// It was being published; when it is, it can be written anew.
		if _, err := s.n.awaitPublished(ctx, i); err != nil {
			return nil, err
		}
		_, err = s.propose(ctx, op)
	}
	if errors.Is(err, syscall.EXDEV) {
		return nil, s.n.toPrefix(ctx, i)
	}
	if err != nil {
		return nil, err
	}
	if now := s.n.inode(uint64(i.Ino)); now != nil {
		i = now
	}
	s.n.writers.wrote(c, i.Dataset)
	return i, nil
}

func (n *Node) openFile(ctx context.Context, i *catalog.Inode, flags uint32, writes bool) (fusefs.File, error) {
	if n.owns(i) {
		return n.openLocal(i, flags, writes)
	}
	f := &openFile{n: n, inode: i, writes: writes}
	if flags&syscall.O_TRUNC != 0 {
		if err := n.truncateRemote(ctx, i, 0); err != nil {
			return nil, err
		}
	}
	n.files.add(f)
	return f, nil
}

// openLocal opens the cache file. Flags that name a place or a moment are the
// kernel's and the catalogue's business.
func (n *Node) openLocal(i *catalog.Inode, flags uint32, writes bool) (*openFile, error) {
	p, ok := n.pathOf(i)
	if !ok {
		return nil, fs.ErrNotExist
	}
	local, err := n.openBytes(i, p, opening{writes: writes, truncate: flags&syscall.O_TRUNC != 0})
	if err != nil {
		return nil, fmt.Errorf("open cache file of dataset %d: %s: %w", i.Dataset, p, err)
	}
	f := &openFile{n: n, inode: i, writes: writes, local: local}
	n.files.add(f)
	return f, nil
}

func (f *openFile) Local() (*os.File, bool) {
	if r, ok := f.local.(*kernelFile); ok {
		file := r.OSFile()
		return file, file != nil
	}
	return nil, false
}

func (f *openFile) ReadAt(ctx context.Context, p []byte, off int64) (int, error) {
	if f.local != nil {
		return f.local.ReadAt(p, off)
	}
	return f.n.readRemote(ctx, f.inode, p, off)
}

func (f *openFile) WriteAt(ctx context.Context, p []byte, off int64) (int, error) {
	if f.local != nil {
		return f.local.WriteAt(p, off)
	}
	return f.n.writeRemote(ctx, f.inode, p, off)
}

func (f *openFile) Sync(_ context.Context, _ bool) error {
	if f.local != nil {
		return f.local.Sync()
	}
	return nil // written through to the owner; it is as durable as its cache
}

func (f *openFile) Allocate(_ context.Context, off, size int64, mode uint32) error {
	if h, ok := f.local.(*daemonFile); ok {
		return h.fallocate(off, size, mode)
	}
	fd, ok := f.fd()
	if !ok {
		return syscall.EOPNOTSUPP
	}
	return unix.Fallocate(fd, mode, off, size)
}

func (f *openFile) Seek(_ context.Context, off int64, whence int) (int64, error) {
	if h, ok := f.local.(*daemonFile); ok {
		return h.seek(off, whence)
	}
	fd, ok := f.fd()
	if !ok {
		return 0, syscall.EOPNOTSUPP
	}
	return unix.Seek(fd, off, whence)
}

func (f *openFile) fd() (int, bool) {
	if f.local == nil {
		return -1, false
	}
	fd, ok := f.local.Fd()
	return int(fd), ok
}

// Flush sees the program that closes: one that a signal has killed leaves a
// dataset nobody may take for whole.
func (f *openFile) Flush(ctx context.Context, c fusefs.Caller) error {
	if !f.writes || !f.n.ident.Killed(c.PID) {
		return nil
	}
	f.n.log.Warn("a writer was killed", slog.Int64("dataset", int64(f.inode.Dataset)), slog.Uint64("thread", uint64(c.PID)))
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), proposeTimeout)
	defer cancel()
	return f.n.group.announce(ctx, lifecycle.Event{Kind: lifecycle.Killed, Dataset: f.inode.Dataset})
}

func (f *openFile) Release() {
	f.n.files.remove(f)
	if !f.writes {
		if f.local != nil {
			_ = f.local.Close() // read only: nothing can be lost
		}
		return
	}
	// The kernel does not wait for RELEASE, and neither must it here: the job
	// is told in the background, for as long as it takes.
	f.n.wg.Add(1)
	go func() {
		defer f.n.wg.Done()
		f.n.closed(f)
	}()
}

// closed tells the job that one open for writing has ended, with the size and
// time the file has now.
func (n *Node) closed(f *openFile) {
	op := catalog.Op{Kind: catalog.OpClose, Ino: f.inode.Ino, SizeBytes: f.inode.SizeBytes, Mtime: f.inode.Mtime}
	if f.local != nil {
		if st, err := f.local.Stat(); err == nil {
			op.SizeBytes, op.Mtime = st.Size(), st.ModTime().UnixNano()
		}
		if err := f.local.Close(); err != nil {
			n.log.Error("cache file was not closed cleanly, its dataset is void", slog.Int64("dataset", int64(f.inode.Dataset)), slog.Any("err", err))
			n.announceUntilHeard(lifecycle.Event{Kind: lifecycle.Invalid, Dataset: f.inode.Dataset})
		}
	} else if !n.owns(f.inode) {
		if size, mtime, err := n.askSize(f.inode); err == nil {
			op.SizeBytes, op.Mtime = size, mtime.UnixNano()
		}
	}
	for n.ctx.Err() == nil {
		ctx, cancel := context.WithTimeout(n.ctx, proposeTimeout)
		_, err := n.group.propose(ctx, &op, nil)
		cancel()
		if err == nil {
			n.marked(n.ctx, f.inode.Ino)
		}
		if err == nil || errors.Is(err, syscall.ESTALE) {
			return
		}
		n.log.Warn("the end of a write is not told yet", slog.Int64("dataset", int64(f.inode.Dataset)), slog.Any("err", err))
	}
}

// blockBytes is the piece in which files of other nodes are read; each carries
// its checksum.
const blockBytes = 1 << 20

func (n *Node) readRemote(ctx context.Context, i *catalog.Inode, p []byte, off int64) (int, error) {
	total := 0
	for total < len(p) {
		want := min(len(p)-total, blockBytes)
		b, err := n.askOwner(ctx, i, callRead, fileRequest{Ino: i.Ino, Offset: off + int64(total), Bytes: want})
		if err != nil {
			return total, err
		}
		data, err := openBlock(b)
		if err != nil {
			return total, fmt.Errorf("read dataset %d, inode %d from %s: %w", i.Dataset, i.Ino, i.Owner, err)
		}
		total += copy(p[total:], data)
		if len(data) < want {
			return total, io.EOF
		}
	}
	return total, nil
}

func (n *Node) serveRead(_ context.Context, _ peer.NodeID, req []byte) ([]byte, error) {
	var r fileRequest
	if err := decodeGob(req, &r); err != nil {
		return nil, err
	}
	if r.Bytes < 0 || r.Bytes > blockBytes {
		return nil, fmt.Errorf("read of %d bytes, at most %d are allowed", r.Bytes, blockBytes)
	}
	id, p, err := n.here(r.Ino)
	if err != nil {
		return nil, err
	}
	return n.readBlock(id, p, r.Offset, r.Bytes)
}

func (n *Node) readBlock(id scr.DatasetID, path string, off int64, bytes int) ([]byte, error) {
	f, err := n.store.OpenFile(id, path, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b := make([]byte, bytes, bytes+4)
	got, err := f.ReadAt(b, off)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return sealBlock(b[:got]), nil
}

// sealBlock appends the checksum of a block, openBlock takes it off again.
func sealBlock(b []byte) []byte {
	sum := crc32.ChecksumIEEE(b)
	return append(b, byte(sum>>24), byte(sum>>16), byte(sum>>8), byte(sum))
}

func openBlock(b []byte) ([]byte, error) {
	if len(b) < 4 {
		return nil, fmt.Errorf("block of %d bytes has no checksum: %w", len(b), scr.ErrCorrupt)
	}
	data, sum := b[:len(b)-4], b[len(b)-4:]
	want := uint32(sum[0])<<24 | uint32(sum[1])<<16 | uint32(sum[2])<<8 | uint32(sum[3])
	if got := crc32.ChecksumIEEE(data); got != want {
		return nil, fmt.Errorf("block of %d bytes has checksum %#x, want %#x: %w", len(data), got, want, scr.ErrCorrupt)
	}
	return data, nil
}

// announceUntilHeard tells the job of an event, however long it takes.
func (n *Node) announceUntilHeard(ev lifecycle.Event) {
	for n.ctx.Err() == nil {
		ctx, cancel := context.WithTimeout(n.ctx, time.Minute)
		err := n.group.announce(ctx, ev)
		cancel()
		if err == nil {
			return
		}
	}
}
