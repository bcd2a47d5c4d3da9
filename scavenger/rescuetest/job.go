// Package rescuetest makes, for tests, what a job leaves behind when its
// daemons are killed: caches and control directories of some nodes, with sealed
// and protected datasets, and a prefix directory that knows nothing of them.
//
// It uses the daemon's own store and redundancy code, with one rank on each
// node, and is for tests only. Locks: none; a Job is for one goroutine.
package rescuetest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path"

	"github.com/scrfs/scrfs/cachestore"
	"github.com/scrfs/scrfs/internal/disk"
	"github.com/scrfs/scrfs/scr"
	"github.com/scrfs/scrfs/xor"
)

// Job is a job on nodes n0, n1 ... with rank i on node i.
type Job struct {
	Root  string // absolute; all is below it
	Nodes int

	root   disk.FS
	stores []*cachestore.Store
}

// Files are the contents of one rank's files by path, relative to the prefix
// directory.
type Files map[string][]byte

// New makes the directories of a job below root, which must be there.
func New(root string, nodes int) (*Job, error) {
	j := &Job{Root: root, Nodes: nodes}
	var err error
	if j.root, err = disk.Open(root); err != nil {
		return nil, err
	}
	if err := disk.MkdirAll(j.root, "prefix", 0o755); err != nil {
		return nil, err
	}
	for i := range nodes {
		store, err := j.open(i)
		if err != nil {
			return nil, err
		}
		j.stores = append(j.stores, store)
	}
	return j, nil
}

func (j *Job) open(node int) (*cachestore.Store, error) {
	o := cachestore.Options{
		CacheDir: path.Join(j.Root, Node(node), "cache"), ControlDir: j.Control(node), Prefix: j.Prefix(), Node: Node(node),
	}
	for _, dir := range []struct {
		name string
		into *disk.FS
	}{{"cache", &o.Cache}, {"control", &o.Control}} {
		name := path.Join(Node(node), dir.name)
		if err := disk.MkdirAll(j.root, name, 0o700); err != nil {
			return nil, err
		}
		var err error
		if *dir.into, err = j.root.Sub(name); err != nil {
			return nil, err
		}
	}
	return cachestore.Open(o)
}

// Node is the name of a node.
func Node(i int) string { return fmt.Sprintf("n%d", i) }

// Control is a node's control directory.
func (j *Job) Control(node int) string { return path.Join(j.Root, Node(node), "control") }

// Cache is a file of a dataset in a node's cache, relative to Root.
func (j *Job) Cache(node int, id scr.DatasetID, name string) string {
	return path.Join(Node(node), "cache", scr.DatasetName(id), name)
}

// Prefix is the prefix directory.
func (j *Job) Prefix() string { return path.Join(j.Root, "prefix") }

// FS is the directory tree of everything.
func (j *Job) FS() disk.FS { return j.root }

// Store is a node's store, as its daemon has it.
func (j *Job) Store(node int) *cachestore.Store { return j.stores[node] }

// Close ends the daemons.
func (j *Job) Close() error {
	var first error
	for _, s := range j.stores {
		if err := s.Close(); first == nil {
			first = err
		}
	}
	return first
}

// Lose removes a node with its cache.
func (j *Job) Lose(node int) error { return disk.RemoveAll(j.root, Node(node)) }

// Write lets every node write its files of a dataset, as files[rank], seals it
// and protects it by XOR. The tree has the directories that the dataset made.
func (j *Job) Write(id scr.DatasetID, files []Files, tree scr.DirTree) error {
	d, err := j.Seal(id, files, tree)
	if err != nil {
		return err
	}
	return j.protect(d, files)
}

// Seal is Write without the redundancy.
func (j *Job) Seal(id scr.DatasetID, files []Files, tree scr.DirTree) (scr.Dataset, error) {
	d := scr.Dataset{
		ID: id, Name: scr.DatasetName(id), CreatedMicros: 1700000000000000 + int64(id), User: "me", JobID: "1",
		Checkpoint: scr.CheckpointID(id), Complete: true,
	}
	var names []string
	for _, of := range files {
		for name, data := range of {
			names = append(names, name)
			d.Files++
			d.SizeBytes += int64(len(data))
		}
	}
	for node := range j.Nodes {
		if err := j.Make(node, id, files[node]); err != nil {
			return d, err
		}
		rank := scr.Rank(node)
		err := j.stores[node].Seal(cachestore.SealRecord{
			Dataset: d, Ranks: j.Nodes, Tree: tree, Layout: scr.LayoutOf(id, tree, names),
			Files:      map[scr.Rank][]scr.FileMeta{rank: j.metas(files[node])},
			Redundancy: map[scr.Rank]scr.RedundancyDescriptor{rank: j.descriptor(node)},
		})
		if err != nil {
			return d, err
		}
	}
	return d, nil
}

// Make writes files into a node's cache, unsealed.
func (j *Job) Make(node int, id scr.DatasetID, files Files) error {
	for _, name := range sorted(files) {
		f, err := j.stores[node].Create(id, name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return err
		}
		if _, err := f.Write(files[name]); err != nil {
			return err
		}
		if err := f.Close(); err != nil {
			return err
		}
	}
	return nil
}

func (j *Job) descriptor(node int) scr.RedundancyDescriptor {
	return scr.RedundancyDescriptor{
		Enabled: true, Interval: 1, Type: scr.XOR, Directory: path.Join(j.Root, Node(node), "cache"),
		Groups: 1, GroupID: 0, GroupSize: j.Nodes, GroupRank: node,
	}
}

// metas describes files as a daemon does.
func (j *Job) metas(files Files) []scr.FileMeta {
	var list []scr.FileMeta
	for _, name := range sorted(files) {
		list = append(list, scr.FileMeta{
			File: name, Type: scr.UserFile, Ranks: j.Nodes, Orig: name, Path: path.Join(j.Prefix(), path.Dir(name)), Name: path.Base(name),
			SizeBytes: int64(len(files[name])), Complete: true,
			Attr: &scr.FileAttr{Mode: 0o100640, UID: uint32(os.Getuid()), GID: uint32(os.Getgid())},
		})
	}
	return list
}

// protect writes the redundancy files.
func (j *Job) protect(d scr.Dataset, files []Files) error {
	members := make([]xor.Member, j.Nodes)
	for i := range members {
		members[i] = xor.Member{Rank: scr.Rank(i), Files: j.metas(files[i])}
	}
	headers, err := xor.Headers(d, j.Nodes, members)
	if err != nil {
		return err
	}
	data := make([]xor.MemberData, j.Nodes)
	for i, h := range headers {
		data[i].Header = h
		for _, f := range h.Current.Files {
			data[i].Files = append(data[i].Files, bytes.NewReader(files[i][f.File]))
		}
	}
	create := func(h xor.Header) (io.WriteCloser, error) {
		return j.stores[h.Index()].CreateRedundancy(d.ID, h.Current.Rank, h.FileName().Format(scr.F14))
	}
	metas, err := xor.Encode(context.Background(), data, create, xor.Options{Family: scr.F14})
	if err != nil {
		return err
	}
	for i, h := range headers {
		left := h.Layout().Left(i)
		err := j.stores[i].CommitRedundancy(d.ID, scr.Rank(i), h.FileName().Format(scr.F14), metas[i], scr.Rank(left), j.descriptor(left))
		if err != nil {
			return err
		}
	}
	return nil
}
