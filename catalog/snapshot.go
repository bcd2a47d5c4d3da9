package catalog

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/scrfs/scrfs/kvtree"
	"github.com/scrfs/scrfs/scr"
)

// Snapshot returns the whole state, for a node that joins late or a new leader.
func (s *State) Snapshot() *kvtree.Tree {
	t := kvtree.New()
	t.PutInt("NEXT", int64(s.nextIno))
	inodes := t.Sub("INODE")
	for _, ino := range slices.Sorted(maps.Keys(s.inodes)) {
		inodes.Set(strconv.FormatInt(int64(ino), 10), s.inodes[ino].tree())
	}
	for _, node := range slices.Sorted(maps.Keys(s.answers)) {
		m := s.answers[node]
		list := t.Sub("ANSWERS", node)
		for _, req := range m.order {
			a := m.by[req]
			list.Set(fmt.Sprintf("%d %d %d", req, int64(a.ino), a.errno), nil)
		}
	}
	return t
}

// Restore builds the state a Snapshot describes.
func Restore(t *kvtree.Tree) (*State, error) {
	s := New()
	r := reader{t: t}
	s.nextIno = Ino(r.num("NEXT"))
	if r.err != nil {
		return nil, fmt.Errorf("catalogue snapshot: %w", r.err)
	}
	for key, sub := range t.Get("INODE").All() {
		num, err := strconv.ParseInt(key, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("catalogue snapshot: inode %q: %w", key, err)
		}
		n, err := inodeFromTree(Ino(num), sub)
		if err != nil {
			return nil, fmt.Errorf("catalogue snapshot: inode %q: %w", key, err)
		}
		s.inodes[n.Ino] = n
	}
	for _, n := range s.inodes {
		if n.Name == "" {
			continue
		}
		if n.Parent.Ino != 0 && s.inodes[n.Parent.Ino] == nil {
			return nil, fmt.Errorf("catalogue snapshot: inode %d: no parent %d", n.Ino, n.Parent.Ino)
		}
		s.attach(n, n.Parent, n.Name)
	}
	for node, list := range t.Get("ANSWERS").All() {
		for key := range list.All() {
			var req uint64
			var ino int64
			var o Op
			var a answer
			if _, err := fmt.Sscanf(key, "%d %d %d", &req, &ino, &a.errno); err != nil {
				return nil, fmt.Errorf("catalogue snapshot: answer %q: %w", key, err)
			}
			a.ino, o.Node, o.Request = Ino(ino), node, req
			s.keep(o, a)
		}
	}
	return s, nil
}

func (n *Inode) tree() *kvtree.Tree {
	// An inode's own fields are those an operation has; what is left is added.
	t := Op{
		Ino: n.Ino, Mode: n.Mode, UID: n.UID, GID: n.GID, SizeBytes: n.SizeBytes, Now: n.Ctime,
		Atime: n.Atime, Mtime: n.Mtime, Target: n.Target, Dataset: n.Dataset, Node: n.Owner,
		Rank: n.Rank, World: n.World, Dir: n.Parent, Name: n.Name,
	}.Tree()
	for node, count := range n.Writers {
		t.Sub("WRITERS").PutInt(node, int64(count))
	}
	for name, value := range n.Xattrs {
		t.Sub("XATTR").PutString(name, strconv.Quote(value))
	}
	return t
}

func inodeFromTree(ino Ino, t *kvtree.Tree) (*Inode, error) {
	o, err := OpFromTree(t)
	if err != nil {
		return nil, err
	}
	n := &Inode{
		Ino: ino, Mode: o.Mode, UID: o.UID, GID: o.GID, SizeBytes: o.SizeBytes, Ctime: o.Now,
		Atime: o.Atime, Mtime: o.Mtime, Target: o.Target, Dataset: scr.DatasetID(o.Dataset), Owner: o.Node,
		Rank: o.Rank, World: o.World, Parent: o.Dir, Name: o.Name,
	}
	for node := range t.Get("WRITERS").All() {
		count, err := t.Get("WRITERS").Int(node)
		if err != nil {
			return nil, err
		}
		n.addWriter(node, int(count))
	}
	for name := range t.Get("XATTR").All() {
		value, _ := t.Get("XATTR").Value(name)
		if value, err = strconv.Unquote(value); err != nil {
			return nil, fmt.Errorf("attribute %q: %w", name, err)
		}
		if n.Xattrs == nil {
			n.Xattrs = map[string]string{}
		}
		n.Xattrs[name] = value
	}
	return n, nil
}
