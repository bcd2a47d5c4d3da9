package catalog

import (
	"strings"
	"syscall"
)

// RemoveXattr in the Flags of OpXattr removes the attribute; the others are
// those of setxattr(2).
const (
	CreateXattr  = 1
	ReplaceXattr = 2
	RemoveXattr  = 4
)

func (n *Inode) checkXattr(o Op) error {
	_, have := n.Xattrs[o.Name]
	switch {
	case o.Name == "" || strings.Contains(o.Name, "\x00"):
		return syscall.EINVAL
	case o.Flags&CreateXattr != 0 && have:
		return syscall.EEXIST
	case o.Flags&(ReplaceXattr|RemoveXattr) != 0 && !have:
		return syscall.ENODATA
	}
	return nil
}

func (n *Inode) setXattr(o Op) {
	if o.Flags&RemoveXattr != 0 {
		delete(n.Xattrs, o.Name)
	} else {
		if n.Xattrs == nil {
			n.Xattrs = map[string]string{}
		}
		n.Xattrs[o.Name] = o.Target
	}
	n.Ctime = o.Now
}
