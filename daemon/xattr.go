package daemon

import (
	"context"
	"strconv"
	"strings"
	"syscall"

	"github.com/scrfs/scrfs/catalog"
)

// Extended attributes of scrfs, below the program's own.
const (
	xattrState    = "user.scr.state"
	xattrDataset  = "user.scr.dataset"
	xattrRank     = "user.scr.rank"
	xattrComplete = "user.scr.complete"
)

func (s namespace) GetXattr(_ context.Context, ino uint64, name string) ([]byte, error) {
	n := s.known(ino)
	if n == nil {
		return nil, syscall.ESTALE
	}
	if err := nameSpace(name); err != nil {
		if name == "security.capability" {
			err = syscall.ENODATA // asked of every program that is started
		}
		return nil, err
	}
	switch name {
	case xattrDataset:
		return []byte(strconv.FormatInt(int64(n.Dataset), 10)), nil
	case xattrRank:
		if n.Rank >= 0 {
			return []byte(strconv.Itoa(int(n.Rank))), nil
		}
		return nil, syscall.ENODATA
	case xattrState:
		return []byte(s.n.stateOf(n.Dataset)), nil
	}
	if v, ok := n.Xattrs[name]; ok {
		return []byte(v), nil
	}
	return nil, syscall.ENODATA
}

func (s namespace) ListXattr(_ context.Context, ino uint64) ([]string, error) {
	n := s.known(ino)
	if n == nil {
		return nil, syscall.ESTALE
	}
	names := []string{xattrState, xattrDataset}
	if n.Rank >= 0 {
		names = append(names, xattrRank)
	}
	for name := range n.Xattrs {
		names = append(names, name)
	}
	return names, nil
}

func (s namespace) SetXattr(ctx context.Context, ino uint64, name string, value []byte, flags uint32) error {
	if name == xattrComplete {
		return s.complete(ctx, ino, string(value))
	}
	if strings.HasPrefix(name, "user.scr.") {
		return syscall.EPERM
	}
	if err := nameSpace(name); err != nil {
		return err
	}
	_, err := s.propose(ctx, catalog.Op{Kind: catalog.OpXattr, Ino: catalog.Ino(ino), Name: name, Target: string(value), Flags: flags})
	return err
}

func (s namespace) RemoveXattr(ctx context.Context, ino uint64, name string) error {
	if err := nameSpace(name); err != nil {
		return err
	}
	_, err := s.propose(ctx, catalog.Op{Kind: catalog.OpXattr, Ino: catalog.Ino(ino), Name: name, Flags: catalog.RemoveXattr})
	return err
}

// nameSpace tells why an attribute of this name cannot be had: the catalogue
// keeps those of users only. (That other kinds of files than regular ones and
// directories have none, and how large they may be, the kernel sees to.)
func nameSpace(name string) error {
	if !strings.HasPrefix(name, "user.") || name == "user." {
		return syscall.EOPNOTSUPP
	}
	return nil
}

// known returns the inode, also one that has no name any more.
func (s namespace) known(ino uint64) *catalog.Inode {
	if n := s.n.inode(ino); n != nil {
		return n
	}
	return s.n.removed.get(ino)
}
