package fusefs

import (
	"errors"

	"github.com/hanwen/go-fuse/v2/fuse"
	"github.com/scrfs/scrfs/prefixfs"
	"golang.org/x/sys/unix"
)

// GetAttr returns the attributes of a node.
func (r *requests) GetAttr(_ <-chan struct{}, in *fuse.GetAttrIn, out *fuse.AttrOut) fuse.Status {
	n := r.table.node(in.NodeId)
	if n == nil {
		return fuse.Status(errStale)
	}
	// Whoever has the file open may ask for its attributes; so may the kernel,
	// before it reads for somebody.
	if in.Flags()&fuse.FUSE_GETATTR_FH == 0 && r.refused(&in.InHeader) {
		return fuse.EACCES
	}
	return r.status(r.attr(n, out))
}

func (r *requests) attr(n *node, out *fuse.AttrOut) error {
	if n.prefix != nil {
		st, err := r.prefixStat(n)
		if err != nil {
			return err
		}
		attrFromStat(&st, &out.Attr)
		out.SetTimeout(statTime(&st))
		return nil
	}
	e, err := r.ns.Attr(noContext(), n.ino)
	if errors.Is(err, unix.ESTALE) {
		return r.unlinkedAttr(n, out)
	}
	if err != nil {
		return err
	}
	n.note(&e)
	attrFromEntry(&e, &out.Attr)
	out.SetTimeout(entryTime(&e))
	return nil
}

// prefixStat returns the attributes of a node of the prefix; through an open
// file of it where its name is gone.
func (r *requests) prefixStat(n *node) (prefixfs.Stat, error) {
	st, err := n.prefix.Stat()
	if errors.Is(err, unix.ESTALE) {
		if h := n.openHandle(func(h *handle) bool { return h.prefix != nil }); h != nil {
			return h.prefix.Stat()
		}
	}
	return st, err
}

// SetAttr changes attributes.
func (r *requests) SetAttr(_ <-chan struct{}, in *fuse.SetAttrIn, out *fuse.AttrOut) fuse.Status {
	n, status := r.enter(&in.InHeader)
	if !status.Ok() {
		return status
	}
	var err error
	if n.prefix != nil {
		err = r.setPrefixAttr(n, in)
	} else {
		err = r.setCatalogueAttr(n, in)
	}
	if err == nil {
		err = r.attr(n, out)
	}
	return r.status(err)
}

func (r *requests) setPrefixAttr(n *node, in *fuse.SetAttrIn) error {
	uid, setUID := in.GetUID()
	gid, setGID := in.GetGID()
	if setUID || setGID {
		if err := n.prefix.Chown(orNone(uid, setUID), orNone(gid, setGID)); err != nil {
			return err
		}
	}
	if mode, ok := in.GetMode(); ok {
		if err := n.prefix.Chmod(mode); err != nil {
			return err
		}
	}
	if size, ok := in.GetSize(); ok {
		if err := r.truncate(n, in, int64(size)); err != nil {
			return err
		}
	}
	atime := timeOf(in.Valid, fuse.FATTR_ATIME, fuse.FATTR_ATIME_NOW, in.Atime, in.Atimensec)
	mtime := timeOf(in.Valid, fuse.FATTR_MTIME, fuse.FATTR_MTIME_NOW, in.Mtime, in.Mtimensec)
	if atime != prefixfs.Omit || mtime != prefixfs.Omit {
		return n.prefix.Chtimes(atime, mtime)
	}
	return nil
}

// truncate sets the size of a file of the prefix, through the open file if the
// caller has one: its permission may be gone since.
func (r *requests) truncate(n *node, in *fuse.SetAttrIn, sizeBytes int64) error {
	var err error
	if h := r.setAttrHandle(in); h != nil && h.prefix != nil {
		err = h.prefix.Truncate(sizeBytes)
	} else {
		err = n.prefix.Truncate(sizeBytes)
	}
	if err == nil && in.Valid&fuse.FATTR_KILL_SUIDGID != 0 {
		err = r.killSetID(n)
	}
	return err
}

func (r *requests) setAttrHandle(in *fuse.SetAttrIn) *handle {
	fh, ok := in.GetFh()
	if !ok {
		return nil
	}
	return r.table.handle(fh)
}

func orNone(id uint32, set bool) int {
	if !set {
		return -1
	}
	return int(id)
}

func timeOf(valid, set, now uint32, sec uint64, nsec uint32) unix.Timespec {
	switch {
	case valid&set == 0:
		return prefixfs.Omit
	case valid&now != 0:
		return prefixfs.Now
	}
	return unix.Timespec{Sec: int64(sec), Nsec: int64(nsec)}
}

func (r *requests) setCatalogueAttr(n *node, in *fuse.SetAttrIn) error {
	var ch AttrChange
	if mode, ok := in.GetMode(); ok {
		ch.Mode = &mode
	}
	if uid, ok := in.GetUID(); ok {
		ch.UID = &uid
	}
	if gid, ok := in.GetGID(); ok {
		ch.GID = &gid
	}
	if size, ok := in.GetSize(); ok {
		bytes := int64(size)
		ch.SizeBytes = &bytes
	}
	if at, ok := in.GetATime(); ok {
		ch.Atime = &at
	}
	if mt, ok := in.GetMTime(); ok {
		ch.Mtime = &mt
	}
	if ch != (AttrChange{}) {
		_, err := r.ns.SetAttr(noContext(), n.ino, ch, caller(&in.InHeader))
		if errors.Is(err, unix.ESTALE) {
			err = setUnlinked(n, ch)
		}
		if err != nil {
			return err
		}
	}
	if in.Valid&fuse.FATTR_KILL_SUIDGID != 0 {
		return r.killSetID(n)
	}
	return nil
}
