package catalog

import (
	"slices"
	"strings"
	"syscall"

	"github.com/scrfs/scrfs/scr"
)

// Result is what an operation gave: the inode it made or changed, and the one
// whose name it took away (an unlinked or replaced file), nil if none.
type Result struct {
	Inode   *Inode
	Removed *Inode
	// From is the dataset that an open took the file from, 0 if it stays where
	// it was.
	From scr.DatasetID
	// Repeated is set if this request was answered before: nothing changed.
	Repeated bool
}

// Apply carries out one operation. An error is a syscall.Errno, and then
// nothing has changed. Equal States give equal results.
func (s *State) Apply(o Op) (Result, error) {
	if a, ok := s.answered(o); ok {
		res := Result{Inode: s.inodes[a.ino], Repeated: true}
		if a.errno == 0 && a.ino != 0 && res.Inode == nil {
			return res, syscall.ESTALE // it has gone since
		}
		return res, a.error()
	}
	res, err := s.apply(o)
	s.remember(o, res, err)
	return res, err
}

// Check tells whether Apply would succeed, without changing anything.
func (s *State) Check(o Op) error {
	if a, ok := s.answered(o); ok {
		return a.error()
	}
	switch o.Kind {
	case OpMkdir, OpCreate, OpSymlink:
		return s.checkMake(o)
	case OpUnlink, OpRmdir:
		_, err := s.checkRemove(o)
		return err
	case OpRename:
		_, _, err := s.checkRename(o)
		return err
	case OpSetAttr, OpOpen, OpClose, OpXattr, OpMoved, OpForget:
		n := s.inodes[o.Ino]
		if n == nil {
			return syscall.ESTALE
		}
		switch {
		case o.Kind == OpXattr:
			return n.checkXattr(o)
		case o.Kind == OpMoved && strings.Contains(o.Target, "\x00"):
			return syscall.EINVAL // no name of a node
		}
	case OpMoveDir:
		// The prefix directory would not have allowed it.
		if o.Dir.Path == "" || isBelow(o.NewDir.Path, o.Dir.Path) {
			return syscall.EINVAL
		}
	case OpNodeDown, OpDrop:
	default:
		return syscall.EINVAL
	}
	return nil
}

// checkName refuses what cannot be the name of a file.
func checkName(name string) error {
	switch {
	case name == "":
		return syscall.ENOENT
	case name == "." || name == ".." || strings.ContainsAny(name, "/\x00"):
		return syscall.EINVAL
	case len(name) > 255:
		return syscall.ENAMETOOLONG
	}
	return nil
}

func (s *State) apply(o Op) (Result, error) {
	if err := s.Check(o); err != nil {
		return Result{}, err
	}
	switch o.Kind {
	case OpMkdir, OpCreate, OpSymlink:
		return s.make(o), nil
	case OpUnlink, OpRmdir:
		n, _ := s.checkRemove(o)
		return s.remove(n, o.Now), nil
	case OpRename:
		return s.rename(o), nil
	case OpSetAttr:
		return s.setAttr(s.inodes[o.Ino], o), nil
	case OpOpen:
		n := s.inodes[o.Ino]
		n.addWriter(o.Node, 1)
		res := Result{Inode: n}
		if o.Dataset != 0 && o.Dataset != n.Dataset {
			res.From = n.Dataset
			n.Dataset, n.Rank, n.World = o.Dataset, o.Rank, o.World
		}
		return res, nil
	case OpClose:
		n := s.inodes[o.Ino]
		n.addWriter(o.Node, -1)
		n.SizeBytes, n.Mtime, n.Ctime = o.SizeBytes, o.Mtime, max(n.Ctime, o.Mtime)
		s.forget(n)
		return Result{Inode: n}, nil
	case OpXattr:
		n := s.inodes[o.Ino]
		n.setXattr(o)
		return Result{Inode: n}, nil
	case OpMoved:
		n := s.inodes[o.Ino]
		n.Owner = o.Target
		return Result{Inode: n}, nil
	case OpNodeDown:
		for _, n := range s.inodes {
			delete(n.Writers, o.Node)
			s.forget(n)
		}
		return Result{}, nil
	case OpDrop:
		for _, n := range s.inodes {
			switch {
			case n.Dataset != o.Dataset || n.Name == "":
			case o.Flags == DropPublished:
				s.drop(n)
			default:
				s.dropLost(n)
			}
		}
		return Result{}, nil
	case OpForget:
		n := s.inodes[o.Ino]
		s.drop(n)
		return Result{Removed: n}, nil
	case OpMoveDir:
		s.moveDir(o.Dir.Path, o.NewDir.Path)
		return Result{}, nil
	}
	return Result{}, syscall.EINVAL
}

func (s *State) checkMake(o Op) error {
	if err := checkName(o.Name); err != nil {
		return err
	}
	if err := s.checkDir(o.Dir); err != nil {
		return err
	}
	if s.Lookup(o.Dir, o.Name) != nil {
		return syscall.EEXIST
	}
	return nil
}

func (s *State) checkDir(dir Dir) error {
	if dir.Ino == 0 {
		return nil
	}
	n := s.inodes[dir.Ino]
	switch {
	case n == nil || n.Name == "":
		return syscall.ENOENT
	case !n.IsDir():
		return syscall.ENOTDIR
	}
	return nil
}

func (s *State) make(o Op) Result {
	n := &Inode{
		Ino: s.nextIno, Mode: o.Mode, UID: o.UID, GID: o.GID, Target: o.Target, Dataset: o.Dataset,
		Atime: o.Now, Mtime: o.Now, Ctime: o.Now, Rank: o.Rank, World: o.World,
	}
	switch o.Kind {
	case OpMkdir:
		n.Mode = n.Mode&^syscall.S_IFMT | syscall.S_IFDIR
	case OpSymlink:
		if o.Target == "" {
			break // Mode has the kind
		}
		n.Mode = syscall.S_IFLNK | 0o777
		n.SizeBytes = int64(len(o.Target))
	case OpCreate:
		n.Mode = n.Mode&^syscall.S_IFMT | syscall.S_IFREG
		n.Owner = o.Node
		n.addWriter(o.Node, 1)
	}
	s.nextIno++
	s.inodes[n.Ino] = n
	s.attach(n, o.Dir, o.Name)
	s.touch(o.Dir, o.Now)
	return Result{Inode: n}
}

func (s *State) touch(dir Dir, now int64) {
	if n := s.inodes[dir.Ino]; n != nil {
		n.Mtime, n.Ctime = now, now
	}
}

func (s *State) checkRemove(o Op) (*Inode, error) {
	n := s.Lookup(o.Dir, o.Name)
	switch {
	case n == nil:
		return nil, syscall.ENOENT
	case o.Kind == OpUnlink && n.IsDir():
		return nil, syscall.EISDIR
	case o.Kind == OpRmdir && !n.IsDir():
		return nil, syscall.ENOTDIR
	case len(n.children) > 0:
		return nil, syscall.ENOTEMPTY
	}
	return n, nil
}

func (s *State) remove(n *Inode, now int64) Result {
	s.touch(n.Parent, now)
	s.detach(n)
	s.forget(n)
	return Result{Removed: n}
}

// DropPublished in the Flags of OpDrop: the dataset's directories are on the
// prefix directory from now on.
const DropPublished = 1

// drop takes a name that is on the prefix directory, and what is below it, out
// of the tree without the marks of a removal. Files of other datasets below it
// stay: they stand in the directory of the prefix that has this path.
func (s *State) drop(n *Inode) {
	at, named := s.Path(n)
	for name, ino := range n.children {
		child := s.inodes[ino]
		dir := Dir{Path: at}
		if child.Dataset == n.Dataset || !named || s.Lookup(dir, name) != nil {
			s.drop(child)
			continue
		}
		s.detach(child)
		s.attach(child, dir, name)
	}
	if n.Name != "" {
		s.detach(n)
	}
	s.forget(n)
}

// dropLost takes a name that is nowhere else, and what is below it, out of the
// tree. A directory with files of other datasets below it becomes theirs.
func (s *State) dropLost(n *Inode) {
	var heirs []scr.DatasetID
	for _, ino := range n.children {
		child := s.inodes[ino]
		if child.Dataset == n.Dataset {
			s.dropLost(child)
		}
		if child.Name != "" {
			heirs = append(heirs, child.Dataset)
		}
	}
	if len(heirs) > 0 {
		n.Dataset = slices.Min(heirs)
		return
	}
	if n.Name != "" {
		s.detach(n)
	}
	s.forget(n)
}

func (s *State) checkRename(o Op) (from, to *Inode, err error) {
	from = s.Lookup(o.Dir, o.Name)
	if from == nil {
		return nil, nil, syscall.ENOENT
	}
	if err := checkName(o.NewName); err != nil {
		return nil, nil, err
	}
	if err := s.checkDir(o.NewDir); err != nil {
		return nil, nil, err
	}
	to = s.Lookup(o.NewDir, o.NewName)
	// A directory must not become its own descendant.
	exchange := o.Flags == RenameExchange && to != nil
	if s.within(o.NewDir, from) || exchange && s.within(o.Dir, to) {
		return nil, nil, syscall.EINVAL
	}
	switch {
	case o.Flags == RenameExchange && to == nil:
		return nil, nil, syscall.ENOENT
	case o.Flags == RenameNoReplace && to != nil:
		return nil, nil, syscall.EEXIST
	case o.Flags&^(RenameNoReplace|RenameExchange) != 0 || o.Flags == RenameNoReplace|RenameExchange:
		return nil, nil, syscall.EINVAL
	case to == nil || o.Flags == RenameExchange:
		return from, to, nil
	case from.IsDir() && !to.IsDir():
		return nil, nil, syscall.ENOTDIR
	case !from.IsDir() && to.IsDir():
		return nil, nil, syscall.EISDIR
	case to != from && len(to.children) > 0:
		return nil, nil, syscall.ENOTEMPTY
	}
	return from, to, nil
}

// within tells whether a directory is n or below it.
func (s *State) within(dir Dir, n *Inode) bool {
	for ; dir.Ino != 0; dir = s.inodes[dir.Ino].Parent {
		if dir.Ino == n.Ino {
			return true
		}
	}
	return false
}

func (s *State) rename(o Op) Result {
	from, to, _ := s.checkRename(o)
	if to == from {
		return Result{Inode: from}
	}
	res := Result{Inode: from}
	oldDir, oldName := from.Parent, from.Name
	s.touch(o.Dir, o.Now)
	s.touch(o.NewDir, o.Now)
	s.detach(from)
	switch {
	case to != nil && o.Flags == RenameExchange:
		s.detach(to)
		s.attach(to, oldDir, oldName)
		to.Ctime = o.Now
	case to != nil:
		res.Removed = s.remove(to, o.Now).Removed
	}
	s.attach(from, o.NewDir, o.NewName)
	from.Ctime = o.Now
	return res
}

// moveDir lets the catalogue's names below a directory of the prefix follow
// when that directory is renamed. A name that stands in the way is replaced.
func (s *State) moveDir(from, to string) {
	var paths []string
	for path := range s.prefix {
		if isBelow(path, from) {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	for _, path := range paths {
		moved := Dir{Path: to + strings.TrimPrefix(path, from)}
		for _, n := range s.List(Dir{Path: path}) {
			if there := s.Lookup(moved, n.Name); there != nil {
				s.Below(there, func(n *Inode) { n.Dataset = there.Dataset })
				s.dropLost(there) // all of it
			}
			name := n.Name
			s.detach(n)
			s.attach(n, moved, name)
		}
	}
}
