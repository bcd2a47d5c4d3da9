package catalog

import (
	"strings"
	"syscall"
	"testing"

	"github.com/scrfs/scrfs/kvtree"
)

// tree builds a state:
//
//	run/            directory of the prefix
//	run/ckpt/       directory, dataset 1
//	run/ckpt/a      file of node n0, dataset 1, open there
//	run/ckpt/sub/   directory, dataset 1, empty
//	run/b           file of node n1, dataset 2, closed
//	run/link        symbolic link, dataset 2
type tree struct {
	*State
	ckpt, a, sub, b, link Ino
}

var run = Dir{Path: "run"}

func newTree(t testing.TB) tree {
	s := New()
	must := func(o Op) Ino {
		t.Helper()
		r, err := s.Apply(o)
		if err != nil {
			t.Fatalf("%+v: %v", o, err)
		}
		return r.Inode.Ino
	}
	x := tree{State: s}
	x.ckpt = must(Op{Kind: OpMkdir, Dir: run, Name: "ckpt", Mode: 0o755, Dataset: 1, Now: 1})
	x.a = must(Op{Kind: OpCreate, Dir: Dir{Ino: x.ckpt}, Name: "a", Mode: 0o644, Dataset: 1, Node: "n0", Now: 2, Rank: 3, World: 4})
	x.sub = must(Op{Kind: OpMkdir, Dir: Dir{Ino: x.ckpt}, Name: "sub", Mode: 0o700, Dataset: 1, Now: 3})
	x.b = must(Op{Kind: OpCreate, Dir: run, Name: "b", Mode: 0o600, Dataset: 2, Node: "n1", Now: 4})
	must(Op{Kind: OpClose, Ino: x.b, Node: "n1", SizeBytes: 10, Mtime: 5})
	x.link = must(Op{Kind: OpSymlink, Dir: run, Name: "link", Target: "b", Dataset: 2, Now: 6})
	return x
}

func TestRefusedOperations(t *testing.T) {
	in := func(ino Ino) Dir { return Dir{Ino: ino} }
	x := newTree(t)
	for _, c := range []struct {
		what string
		op   Op
		want syscall.Errno
	}{
		{"mkdir over a file", Op{Kind: OpMkdir, Dir: run, Name: "b"}, syscall.EEXIST},
		{"create over a directory", Op{Kind: OpCreate, Dir: run, Name: "ckpt"}, syscall.EEXIST},
		{"create in a file", Op{Kind: OpCreate, Dir: in(x.b), Name: "x"}, syscall.ENOTDIR},
		{"create in nothing", Op{Kind: OpCreate, Dir: in(x.link + 9), Name: "x"}, syscall.ENOENT},
		{"create without a name", Op{Kind: OpCreate, Dir: run}, syscall.ENOENT},
		{"create dot", Op{Kind: OpCreate, Dir: run, Name: ".."}, syscall.EINVAL},
		{"create with a slash", Op{Kind: OpCreate, Dir: run, Name: "a/b"}, syscall.EINVAL},
		{"create with a NUL", Op{Kind: OpCreate, Dir: run, Name: "a\x00"}, syscall.EINVAL},
		{"create a long name", Op{Kind: OpCreate, Dir: run, Name: strings.Repeat("x", 256)}, syscall.ENAMETOOLONG},
		{"unlink nothing", Op{Kind: OpUnlink, Dir: run, Name: "x"}, syscall.ENOENT},
		{"unlink a directory", Op{Kind: OpUnlink, Dir: run, Name: "ckpt"}, syscall.EISDIR},
		{"rmdir a file", Op{Kind: OpRmdir, Dir: run, Name: "b"}, syscall.ENOTDIR},
		{"rmdir a full directory", Op{Kind: OpRmdir, Dir: run, Name: "ckpt"}, syscall.ENOTEMPTY},
		{"rename nothing", Op{Kind: OpRename, Dir: run, Name: "x", NewDir: run, NewName: "y"}, syscall.ENOENT},
		{"rename to nowhere", Op{Kind: OpRename, Dir: run, Name: "b", NewDir: in(x.link), NewName: "y"}, syscall.ENOTDIR},
		{"rename to a bad name", Op{Kind: OpRename, Dir: run, Name: "b", NewDir: run, NewName: "y/z"}, syscall.EINVAL},
		{"rename below itself", Op{Kind: OpRename, Dir: run, Name: "ckpt", NewDir: in(x.sub), NewName: "y"}, syscall.EINVAL},
		{"rename into itself", Op{Kind: OpRename, Dir: run, Name: "ckpt", NewDir: in(x.ckpt), NewName: "y"}, syscall.EINVAL},
		{"exchange with an ancestor", Op{Kind: OpRename, Dir: in(x.ckpt), Name: "sub", NewDir: run, NewName: "ckpt", Flags: RenameExchange}, syscall.EINVAL},
		{"exchange with nothing", Op{Kind: OpRename, Dir: run, Name: "b", NewDir: run, NewName: "y", Flags: RenameExchange}, syscall.ENOENT},
		{"rename over, not allowed", Op{Kind: OpRename, Dir: run, Name: "b", NewDir: run, NewName: "link", Flags: RenameNoReplace}, syscall.EEXIST},
		{"rename with both flags", Op{Kind: OpRename, Dir: run, Name: "b", NewDir: run, NewName: "y", Flags: 3}, syscall.EINVAL},
		{"rename a directory over a file", Op{Kind: OpRename, Dir: run, Name: "ckpt", NewDir: run, NewName: "b"}, syscall.ENOTDIR},
		{"rename a file over a directory", Op{Kind: OpRename, Dir: run, Name: "b", NewDir: run, NewName: "ckpt"}, syscall.EISDIR},
		{"rename a directory over a full one", Op{Kind: OpRename, Dir: in(x.ckpt), Name: "sub", NewDir: run, NewName: "ckpt"}, syscall.ENOTEMPTY},
		{"attributes of nothing", Op{Kind: OpSetAttr, Ino: 5}, syscall.ESTALE},
		{"open nothing", Op{Kind: OpOpen, Ino: 5}, syscall.ESTALE},
		{"close nothing", Op{Kind: OpClose, Ino: 5}, syscall.ESTALE},
		{"remove an attribute that is not there", Op{Kind: OpXattr, Ino: x.b, Name: "user.x", Flags: RemoveXattr}, syscall.ENODATA},
		{"replace an attribute that is not there", Op{Kind: OpXattr, Ino: x.b, Name: "user.x", Flags: ReplaceXattr}, syscall.ENODATA},
		{"move the whole prefix", Op{Kind: OpMoveDir, NewDir: Dir{Path: "x"}}, syscall.EINVAL},
		{"move a directory below itself", Op{Kind: OpMoveDir, Dir: run, NewDir: Dir{Path: "run/x"}}, syscall.EINVAL},
		{"no operation", Op{Kind: "dance"}, syscall.EINVAL},
	} {
		before := x.Snapshot()
		if err := x.Check(c.op); err != c.want {
			t.Errorf("%s: check says %v, want %v", c.what, err, c.want)
		}
		if _, err := x.Apply(c.op); err != c.want {
			t.Errorf("%s: %v, want %v", c.what, err, c.want)
		}
		if !kvtree.Equal(before, x.Snapshot()) {
			t.Errorf("%s: refused, and something has changed", c.what)
		}
	}
}

func (x tree) mustApply(t *testing.T, o Op) Result {
	t.Helper()
	r, err := x.Apply(o)
	if err != nil {
		t.Fatalf("%+v: %v", o, err)
	}
	return r
}

func (x tree) path(t *testing.T, ino Ino, want string) {
	t.Helper()
	if p, ok := x.Path(x.Inode(ino)); p != want || ok != (want != "") {
		t.Errorf("path %q, want %q", p, want)
	}
}

func TestRename(t *testing.T) {
	x := newTree(t)
	r := x.mustApply(t, Op{Kind: OpRename, Dir: run, Name: "b", NewDir: Dir{Ino: x.ckpt}, NewName: "a", Now: 9})
	if r.Inode.Ino != x.b || r.Removed == nil || r.Removed.Ino != x.a {
		t.Errorf("inode %v, removed %v", r.Inode, r.Removed)
	}
	x.path(t, x.b, "run/ckpt/a")
	if n := x.Inode(x.a); n == nil || n.Name != "" {
		t.Error("the file that was replaced is open, and is gone or still has a name")
	}
	x.mustApply(t, Op{Kind: OpClose, Ino: x.a, Node: "n0"})
	if x.Inode(x.a) != nil {
		t.Error("it is closed, and still there")
	}
	x.mustApply(t, Op{Kind: OpRename, Dir: run, Name: "ckpt", NewDir: Dir{}, NewName: "ckpt.old"})
	x.path(t, x.b, "ckpt.old/a")
	x.mustApply(t, Op{Kind: OpRename, Dir: Dir{}, Name: "ckpt.old", NewDir: run, NewName: "link", Flags: RenameExchange})
	x.path(t, x.b, "run/link/a")
	x.path(t, x.link, "ckpt.old")
	if r := x.mustApply(t, Op{Kind: OpRename, Dir: run, Name: "link", NewDir: run, NewName: "link"}); r.Removed != nil {
		t.Error("renamed to itself, and removed")
	}
}

func TestUnlinkedFileLivesWhileItIsWritten(t *testing.T) {
	x := newTree(t)
	x.mustApply(t, Op{Kind: OpOpen, Ino: x.a, Node: "n1"})
	x.mustApply(t, Op{Kind: OpUnlink, Dir: Dir{Ino: x.ckpt}, Name: "a"})
	x.path(t, x.a, "")
	x.mustApply(t, Op{Kind: OpClose, Ino: x.a, Node: "n0"})
	x.mustApply(t, Op{Kind: OpNodeDown, Node: "n1"}) // closes it as well
	if x.Inode(x.a) != nil {
		t.Error("nobody has it open, and it is there")
	}
}

func TestSetAttr(t *testing.T) {
	x := newTree(t)
	x.mustApply(t, Op{
		Kind: OpSetAttr, Ino: x.b, Mask: SetMode | SetUID | SetGID | SetSize | SetAtime, Now: 50,
		Mode: syscall.S_IFDIR | 0o4711, UID: 7, GID: 8, SizeBytes: 99, Atime: 40, Mtime: 41,
	})
	n := x.Inode(x.b)
	if n.Mode != syscall.S_IFREG|0o4711 || n.UID != 7 || n.GID != 8 || n.SizeBytes != 99 || n.Atime != 40 || n.Mtime != 50 || n.Ctime != 50 {
		t.Errorf("%+v", n)
	}
	x.mustApply(t, Op{Kind: OpSetAttr, Ino: x.b, Mask: SetMtime, Mtime: 41, Now: 60})
	if n.Mtime != 41 || n.SizeBytes != 99 || n.Ctime != 60 {
		t.Errorf("%+v", n)
	}
}

func TestXattr(t *testing.T) {
	x := newTree(t)
	set := func(flags uint32, value string) error {
		_, err := x.Apply(Op{Kind: OpXattr, Ino: x.b, Name: "user.x", Target: value, Flags: flags})
		return err
	}
	for _, c := range []struct {
		flags uint32
		value string
		want  error
	}{{CreateXattr, "one\x00", nil}, {CreateXattr, "two", syscall.EEXIST}, {ReplaceXattr, "", nil}, {0, "three", nil}, {RemoveXattr, "", nil}, {RemoveXattr, "", syscall.ENODATA}} {
		if err := set(c.flags, c.value); err != c.want {
			t.Errorf("flags %d value %q: %v, want %v", c.flags, c.value, err, c.want)
		}
		if got := x.Inode(x.b).Xattrs["user.x"]; c.want == nil && got != c.value {
			t.Errorf("value %q, want %q", got, c.value)
		}
	}
}

func TestMovedFileHasAnotherOwner(t *testing.T) {
	x := newTree(t)
	x.mustApply(t, Op{Kind: OpMoved, Ino: x.b, Target: "n7"})
	if got := x.Inode(x.b).Owner; got != "n7" {
		t.Errorf("owner %q", got)
	}
}

func TestLostDatasetLeavesItsDirectoriesToTheOthers(t *testing.T) {
	x := newTree(t)
	c := x.mustApply(t, Op{Kind: OpCreate, Dir: Dir{Ino: x.sub}, Name: "c", Dataset: 3, Node: "n0"}).Inode.Ino
	x.mustApply(t, Op{Kind: OpDrop, Dataset: 1})
	x.path(t, c, "run/ckpt/sub/c")
	if got := len(x.Dataset(3)); got != 3 {
		t.Errorf("dataset 3 has %d names, want the file and the two directories above it", got)
	}
	if n := x.Inode(x.a); n.Name != "" {
		t.Error("the file of dataset 1 has a name")
	}
	x.mustApply(t, Op{Kind: OpDrop, Dataset: 3})
	if x.Inode(x.ckpt) != nil || x.Inode(c).Name != "" {
		t.Error("dataset 3 is still there")
	}
}

func TestPublishedDatasetSparesTheOthers(t *testing.T) {
	x := newTree(t)
	// Dataset 1 was published, and a file of dataset 3 made in its directories.
	c := x.mustApply(t, Op{Kind: OpCreate, Dir: Dir{Ino: x.sub}, Name: "c", Dataset: 3, Node: "n0"}).Inode.Ino
	x.mustApply(t, Op{Kind: OpDrop, Dataset: 1, Flags: DropPublished})
	if x.Inode(x.ckpt) != nil || x.Inode(x.sub) != nil || len(x.Dataset(1)) != 0 {
		t.Error("dataset 1 is still there")
	}
	if n := x.Inode(x.a); n == nil || n.Name != "" {
		t.Error("its open file is gone, or has a name")
	}
	x.path(t, c, "run/ckpt/sub/c")
	if n := x.Lookup(Dir{Path: "run/ckpt/sub"}, "c"); n == nil || n.Ino != c {
		t.Error("the file of dataset 3 is not found in the directory of the prefix")
	}
	x.path(t, x.b, "run/b")
}

func TestForgetTakesOneName(t *testing.T) {
	x := newTree(t)
	x.mustApply(t, Op{Kind: OpForget, Ino: x.sub})
	if x.Inode(x.sub) != nil || x.Inode(x.ckpt) == nil || x.Inode(x.a) == nil {
		t.Error("it took something else")
	}
}

func TestMoveDirTakesTheNamesBelowAlong(t *testing.T) {
	x := newTree(t)
	deep := x.mustApply(t, Op{Kind: OpCreate, Dir: Dir{Path: "run/deep"}, Name: "d", Node: "n0"}).Inode.Ino
	other := x.mustApply(t, Op{Kind: OpCreate, Dir: Dir{Path: "runner"}, Name: "r", Node: "n0"}).Inode.Ino
	way := x.mustApply(t, Op{Kind: OpSymlink, Dir: Dir{Path: "new"}, Name: "b", Target: "x"}).Inode.Ino
	x.mustApply(t, Op{Kind: OpMoveDir, Dir: run, NewDir: Dir{Path: "new"}})
	x.path(t, x.b, "new/b")
	x.path(t, x.a, "new/ckpt/a")
	x.path(t, deep, "new/deep/d")
	x.path(t, other, "runner/r")
	if x.Inode(way) != nil {
		t.Error("what stood in the way is still there")
	}
	if len(x.List(run)) != 0 {
		t.Error("the old directory has names")
	}
}

func TestListIsSortedAndLooksAreNotChanges(t *testing.T) {
	x := newTree(t)
	var names []string
	for _, n := range x.List(run) {
		names = append(names, n.Name)
	}
	if got := strings.Join(names, " "); got != "b ckpt link" {
		t.Errorf("names %q", got)
	}
	c := x.Inode(x.a).Copy()
	c.Writers["n9"] = 5
	if x.Inode(x.a).Writers["n9"] != 0 {
		t.Error("the copy shares its writers")
	}
	under := 0
	for _, n := range x.UnderPrefix("") {
		x.Below(n, func(*Inode) { under++ })
	}
	if under != x.Len() {
		t.Errorf("%d of %d inodes under the prefix", under, x.Len())
	}
}

func TestRepeatedRequestChangesNothing(t *testing.T) {
	x := newTree(t)
	op := Op{Kind: OpCreate, Dir: run, Name: "new", Node: "n0", Request: 7, Now: 10}
	first := x.mustApply(t, op)
	before := x.Snapshot()
	again, err := x.Apply(op)
	if err != nil || !again.Repeated || again.Inode.Ino != first.Inode.Ino || !x.Answered(op) {
		t.Errorf("%+v %v", again, err)
	}
	if !kvtree.Equal(before, x.Snapshot()) {
		t.Error("something has changed")
	}
	refused := Op{Kind: OpCreate, Dir: run, Name: "new", Node: "n1", Request: 7}
	if _, err := x.Apply(refused); err != syscall.EEXIST {
		t.Errorf("the same number of another node: %v", err)
	}
	x.mustApply(t, Op{Kind: OpUnlink, Dir: run, Name: "new", Node: "n2", Request: 1})
	x.mustApply(t, Op{Kind: OpNodeDown, Node: "n0"})
	if _, err := x.Apply(refused); err != syscall.EEXIST {
		t.Errorf("a refusal, asked again: %v", err)
	}
	if _, err := x.Apply(op); err != syscall.ESTALE {
		t.Errorf("a creation, asked again after the file has gone: %v", err)
	}
	for n := range uint64(answersKept) {
		x.mustApply(t, Op{Kind: OpOpen, Ino: x.b, Node: "n0", Request: 100 + n})
	}
	if x.Answered(op) {
		t.Error("answers are kept for ever")
	}
}
