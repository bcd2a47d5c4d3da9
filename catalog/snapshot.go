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

// Restore builds the state a Snapshot describes. What no State can be is
// refused: a name twice, a directory that is its own descendant.
func Restore(t *kvtree.Tree) (*State, error) {
	s := New()
	r := reader{t: t}
	s.nextIno = Ino(r.num("NEXT"))
	err := r.err
	if err == nil {
		err = s.restoreInodes(t.Get("INODE"))
	}
	if err == nil {
		err = s.restoreNames()
	}
	if err == nil {
		err = s.restoreAnswers(t.Get("ANSWERS"))
	}
	if err != nil {
		return nil, fmt.Errorf("catalogue snapshot: %w", err)
	}
	return s, nil
}

func (s *State) restoreInodes(t *kvtree.Tree) error {
	for key, sub := range t.All() {
		num, err := strconv.ParseInt(key, 10, 64)
		if err != nil {
			return fmt.Errorf("inode %q: %w", key, err)
		}
		n, err := inodeFromTree(Ino(num), sub)
		switch {
		case err != nil:
			return fmt.Errorf("inode %q: %w", key, err)
		case n.Ino < firstIno || n.Ino >= s.nextIno || s.inodes[n.Ino] != nil:
			return fmt.Errorf("inode %q: next is %d: %w", key, s.nextIno, scr.ErrCorrupt)
		}
		s.inodes[n.Ino] = n
	}
	return nil
}

func (s *State) restoreNames() error {
	for ino, n := range s.inodes {
		if n.Name == "" {
			if !n.Written() {
				return fmt.Errorf("inode %d: no name, and nobody writes it: %w", ino, scr.ErrCorrupt)
			}
			continue
		}
		if p := s.inodes[n.Parent.Ino]; n.Parent.Ino != 0 && (p == nil || p.Name == "" || !p.IsDir()) {
			return fmt.Errorf("inode %d: %d is no directory: %w", ino, n.Parent.Ino, scr.ErrCorrupt)
		}
		if err := checkName(n.Name); err != nil || s.Lookup(n.Parent, n.Name) != nil {
			return fmt.Errorf("inode %d: name %q: %w", ino, n.Name, scr.ErrCorrupt)
		}
		s.attach(n, n.Parent, n.Name)
	}
	reached := 0
	for _, names := range s.prefix {
		for _, ino := range names {
			s.Below(s.inodes[ino], func(*Inode) { reached++ })
		}
	}
	for _, n := range s.inodes {
		if n.Name == "" {
			reached++
		}
	}
	if reached != len(s.inodes) {
		return fmt.Errorf("%d of %d inodes are in no directory of the prefix: %w", len(s.inodes)-reached, len(s.inodes), scr.ErrCorrupt)
	}
	return nil
}

func (s *State) restoreAnswers(t *kvtree.Tree) error {
	for node, list := range t.All() {
		for key := range list.All() {
			var req uint64
			var ino int64
			var a answer
			if _, err := fmt.Sscanf(key, "%d %d %d", &req, &ino, &a.errno); err != nil {
				return fmt.Errorf("answer %q: %w", key, err)
			}
			o := Op{Node: node, Request: req}
			if _, twice := s.answered(o); twice || req == 0 {
				return fmt.Errorf("answer %q: %w", key, scr.ErrCorrupt)
			}
			a.ino = Ino(ino)
			s.keep(o, a)
		}
	}
	return nil
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
		if count < 1 || int64(int(count)) != count {
			return nil, fmt.Errorf("%d writers on %s: %w", count, node, scr.ErrCorrupt)
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
