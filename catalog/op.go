package catalog

import (
	"fmt"
	"strconv"

	"github.com/scrfs/scrfs/kvtree"
	"github.com/scrfs/scrfs/scr"
)

// Kind names an operation.
type Kind string

// The operations. Each one's fields are given behind it.
const (
	OpMkdir    Kind = "mkdir"    // Dir Name Mode UID GID Dataset
	OpCreate   Kind = "create"   // Dir Name Mode UID GID Dataset Node Rank World: made and open for writing on Node
	OpSymlink  Kind = "symlink"  // Dir Name Target UID GID Dataset; without a Target: a FIFO or socket, by Mode
	OpUnlink   Kind = "unlink"   // Dir Name
	OpRmdir    Kind = "rmdir"    // Dir Name
	OpRename   Kind = "rename"   // Dir Name NewDir NewName Flags
	OpSetAttr  Kind = "setattr"  // Ino Attr
	OpOpen     Kind = "open"     // Ino Node, Dataset Rank World if it is written anew for that one: opened for writing on Node
	OpClose    Kind = "close"    // Ino Node SizeBytes Mtime: the last descriptor of one such open is gone
	OpXattr    Kind = "xattr"    // Ino Name Target (value) Flags
	OpMoved    Kind = "moved"    // Ino Target: the bytes now lie on node Target (rebuilt there)
	OpNodeDown Kind = "nodedown" // Node: it has nothing open any more
	OpDrop     Kind = "drop"     // Dataset Flags: every name of it leaves the catalogue
	OpForget   Kind = "forget"   // Ino: this one name leaves the catalogue (it is on the prefix directory)
	OpMoveDir  Kind = "movedir"  // Dir.Path NewDir.Path: a directory of the prefix was renamed
)

// Rename flags, as renameat2(2).
const (
	RenameNoReplace = 1
	RenameExchange  = 2
)

// AttrMask says which fields of Attr are set.
type AttrMask uint32

// The fields an OpSetAttr may set.
const (
	SetMode AttrMask = 1 << iota
	SetUID
	SetGID
	SetSize
	SetAtime
	SetMtime
)

// Op is one change to the tree. Now is the leader's clock in nanoseconds since
// the epoch. Node and Request say who asked and with which number; Request 0
// is never taken for a repetition.
type Op struct {
	Kind         Kind
	Node         string
	Request      uint64
	Now          int64
	Dir, NewDir  Dir
	Name         string
	NewName      string
	Flags        uint32
	Ino          Ino
	Mask         AttrMask
	Mode         uint32
	UID, GID     uint32
	SizeBytes    int64
	Atime, Mtime int64
	Target       string
	Dataset      scr.DatasetID
	Rank         scr.Rank
	World        int
	App          string          // application of the caller; the tree does not use it
	Kept         []scr.DatasetID // complete in Node's cache; the tree does not use it
}

// Tree returns the form of the operation that goes over the wire.
func (o Op) Tree() *kvtree.Tree {
	t := kvtree.New()
	putString := func(key, v string) {
		if v != "" {
			t.PutString(key, v)
		}
	}
	putInt := func(key string, v int64) {
		if v != 0 {
			t.PutInt(key, v)
		}
	}
	putString("KIND", string(o.Kind))
	putString("NODE", o.Node)
	putInt("REQUEST", int64(o.Request))
	putInt("NOW", o.Now)
	putInt("DIRINO", int64(o.Dir.Ino))
	putString("DIRPATH", o.Dir.Path)
	putInt("NEWINO", int64(o.NewDir.Ino))
	putString("NEWPATH", o.NewDir.Path)
	putString("NAME", o.Name)
	putString("NEWNAME", o.NewName)
	putInt("FLAGS", int64(o.Flags))
	putInt("INO", int64(o.Ino))
	putInt("MASK", int64(o.Mask))
	putInt("MODE", int64(o.Mode))
	putInt("UID", int64(o.UID))
	putInt("GID", int64(o.GID))
	putInt("SIZE", o.SizeBytes)
	putInt("ATIME", o.Atime)
	putInt("MTIME", o.Mtime)
	// A value may hold any byte, a key of the tree no NUL: quoted.
	if o.Target != "" {
		t.PutString("TARGET", strconv.Quote(o.Target))
	}
	putInt("DSET", int64(o.Dataset))
	putInt("RANK", int64(o.Rank))
	putInt("WORLD", int64(o.World))
	putString("APP", o.App)
	for _, id := range o.Kept {
		t.SetKV("KEPT", strconv.FormatInt(int64(id), 10))
	}
	return t
}

// OpFromTree reads what Tree wrote. Fields that are absent are zero.
func OpFromTree(t *kvtree.Tree) (Op, error) {
	r := reader{t: t}
	o := Op{
		Kind:      Kind(r.str("KIND")),
		Node:      r.str("NODE"),
		Request:   uint64(r.num("REQUEST")),
		Now:       r.num("NOW"),
		Dir:       Dir{Ino(r.num("DIRINO")), r.str("DIRPATH")},
		NewDir:    Dir{Ino(r.num("NEWINO")), r.str("NEWPATH")},
		Name:      r.str("NAME"),
		NewName:   r.str("NEWNAME"),
		Flags:     uint32(r.num("FLAGS")),
		Ino:       Ino(r.num("INO")),
		Mask:      AttrMask(r.num("MASK")),
		Mode:      uint32(r.num("MODE")),
		UID:       uint32(r.num("UID")),
		GID:       uint32(r.num("GID")),
		SizeBytes: r.num("SIZE"),
		Atime:     r.num("ATIME"),
		Mtime:     r.num("MTIME"),
		Target:    r.quoted("TARGET"),
		Dataset:   scr.DatasetID(r.num("DSET")),
		Rank:      scr.Rank(r.num("RANK")),
		World:     int(r.num("WORLD")),
		App:       r.str("APP"),
	}
	kept, err := t.Get("KEPT").IntKeys()
	if err != nil && r.err == nil {
		r.err = err
	}
	for _, id := range kept {
		o.Kept = append(o.Kept, scr.DatasetID(id))
	}
	return o, r.err
}

// reader takes fields out of a tree and keeps the first error. A field with
// more than one value is none.
type reader struct {
	t   *kvtree.Tree
	err error
}

func (r *reader) str(key string) string {
	v, ok := r.t.Value(key)
	if !ok && r.t.Has(key) && r.err == nil {
		r.err = fmt.Errorf("%s: %w", key, kvtree.ErrValue)
	}
	return v
}

func (r *reader) num(key string) int64 {
	if !r.t.Has(key) {
		return 0
	}
	v, err := r.t.Int(key)
	if err != nil && r.err == nil {
		r.err = err
	}
	return v
}

func (r *reader) quoted(key string) string {
	v := r.str(key)
	if !r.t.Has(key) || r.err != nil {
		return ""
	}
	s, err := strconv.Unquote(v)
	if err != nil {
		r.err = fmt.Errorf("%s %q: %w", key, v, err)
	}
	return s
}
