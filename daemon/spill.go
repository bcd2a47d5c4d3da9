package daemon

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path"
	"strconv"
	"strings"
	"syscall"

	"github.com/scrfs/scrfs/catalog"
	"github.com/scrfs/scrfs/internal/disk"
	"github.com/scrfs/scrfs/lifecycle"
	"github.com/scrfs/scrfs/scr"
	"github.com/scrfs/scrfs/spill"
)

// cacheName is the name of a dataset's file in the cache directory.
func cacheName(id scr.DatasetID, p string) string { return path.Join(scr.DatasetName(id), p) }

// spilled tells whether a file of this node's cache lies on the prefix
// directory because there was no room for it.
func (n *Node) spilled(id scr.DatasetID, p string) bool { return n.spill.Spilled(cacheName(id, p)) }

// noRoom tells whether an error says that a file system is full.
func noRoom(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// spillFile copies what is cached of a file to the prefix directory and lets it
// lie there from now on. The caller sees to it that nobody writes the file
// meanwhile. On error the file is in the cache as before.
func (n *Node) spillFile(ino catalog.Ino, id scr.DatasetID, cached disk.File) (disk.File, error) {
	at := path.Join(spill.JobDir(n.opts.JobID), strconv.FormatInt(int64(id), 10), strconv.FormatUint(uint64(ino), 10))
	var f disk.File
	var bytes int64
	err := n.prefix.Do(func() (err error) {
		if f, err = n.spill.Create(at); err == nil {
			bytes, err = copySparse(f, cached)
		}
		return err
	})
	if err == nil {
		err = n.replaceBySpilled(ino, at)
	}
	if err != nil {
		if f != nil {
			err = errors.Join(err, f.Close(), n.prefix.Do(func() error { return n.spill.Drop(at) }))
		}
		return nil, fmt.Errorf("dataset %d: no room in the cache, nor on the prefix directory: %w", id, err)
	}
	n.room.count(bytes)
	if n.room.first(&n.room.spilledOf, id) {
		n.log.Warn("cache is full: files of this dataset go to the prefix directory", slog.Int64("dataset", int64(id)))
	}
	n.tellShort(id)
	return f, nil
}

// replaceBySpilled is done under the group's lock, as all changes of names are,
// so it finds the file where it is now. A file without a name stays without.
func (n *Node) replaceBySpilled(ino catalog.Ino, at string) error {
	var err error
	named := false
	n.group.view(func(t *catalog.State, _ *lifecycle.Machine) {
		i := t.Inode(ino)
		if i == nil || i.Name == "" {
			return
		}
		if p, ok := t.Path(i); ok {
			named, err = true, n.spill.Replace(cacheName(i.Dataset, p), at)
		}
	})
	if err == nil && !named {
		err = n.prefix.Do(func() error { return n.spill.Drop(at) })
	}
	return err
}

// placeSpilled gives spilled files of a dataset a second name in its stage: they
// are on the prefix directory already. The first goes with the cached dataset.
func (n *Node) placeSpilled(id scr.DatasetID) func(src, dst string) (bool, error) {
	stage := strings.TrimPrefix(n.index.StageDir(id), stateDir+"/")
	return func(src, dst string) (bool, error) {
		return n.spill.LinkInto(cacheName(id, src), path.Join(stage, dst))
	}
}

// copySparse copies a file, leaving out blocks of zeros, and returns its size.
func copySparse(dst, src disk.File) (int64, error) {
	buf, zeros := make([]byte, blockBytes), make([]byte, blockBytes)
	for off := int64(0); ; {
		got, err := src.ReadAt(buf, off)
		if err != nil && !errors.Is(err, io.EOF) {
			return off, err
		}
		if !bytes.Equal(buf[:got], zeros[:got]) {
			if _, werr := dst.WriteAt(buf[:got], off); werr != nil {
				return off, werr
			}
		}
		off += int64(got)
		if errors.Is(err, io.EOF) {
			return off, dst.Truncate(off)
		}
	}
}

// tellShort tells the job that this node's cache has no room for a dataset,
// once for each.
func (n *Node) tellShort(id scr.DatasetID) {
	if !n.room.first(&n.room.shortOf, id) || n.ctx.Err() != nil {
		return
	}
	n.wg.Add(1)
	go func() {
		defer n.wg.Done()
		ctx, cancel := context.WithTimeout(n.ctx, proposeTimeout)
		defer cancel()
		if err := n.group.announce(ctx, lifecycle.Event{Kind: lifecycle.Short}); err != nil && n.ctx.Err() == nil {
			n.log.Warn("the job was not told that the cache is short", slog.Any("err", err))
		}
	}()
}

// makeRoom looks, when a dataset is protected, whether the next will fit, so
// that room is there before it begins.
func (n *Node) makeRoom(id scr.DatasetID) {
	c, err := n.room.cache()
	if err != nil {
		n.log.Warn("free space in the cache is not known", slog.Any("err", err))
		return
	}
	next := n.room.nextBytes()
	if !n.room.limits.Room(c, next, n.redundancyBytes(next)) {
		n.tellShort(id)
	}
}

// redundancyBytes is about what protecting so many bytes takes on this node.
func (n *Node) redundancyBytes(bytes int64) int64 {
	members := int64(min(len(n.opts.Members), max(n.opts.Sets.SetSize, 2)))
	switch {
	case n.opts.Sets.Scheme == scr.Single || members < 2:
		return 0
	case n.opts.Sets.Scheme == scr.XOR:
		return (bytes + members - 2) / (members - 1)
	}
	return bytes
}
