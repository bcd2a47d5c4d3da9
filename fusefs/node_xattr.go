package fusefs

import (
	"strings"

	"github.com/hanwen/go-fuse/v2/fuse"
)

// GetXAttr reads an extended attribute.
func (r *requests) GetXAttr(_ <-chan struct{}, h *fuse.InHeader, name string, dest []byte) (uint32, fuse.Status) {
	n, status := r.enter(h)
	if !status.Ok() {
		return 0, status
	}
	if n.prefix != nil {
		size, err := n.prefix.GetXattr(name, dest)
		return uint32(max(size, 0)), r.status(err)
	}
	value, err := r.ns.GetXattr(noContext(), n.ino, name)
	if err != nil {
		return 0, r.status(err)
	}
	return fill(dest, value)
}

// ListXAttr lists the names of the extended attributes.
func (r *requests) ListXAttr(_ <-chan struct{}, h *fuse.InHeader, dest []byte) (uint32, fuse.Status) {
	n, status := r.enter(h)
	if !status.Ok() {
		return 0, status
	}
	if n.prefix != nil {
		size, err := n.prefix.ListXattr(dest)
		return uint32(max(size, 0)), r.status(err)
	}
	names, err := r.ns.ListXattr(noContext(), n.ino)
	if err != nil {
		return 0, r.status(err)
	}
	var list strings.Builder
	for _, name := range names {
		list.WriteString(name)
		list.WriteByte(0)
	}
	return fill(dest, []byte(list.String()))
}

// fill copies value to dest as getxattr(2) does: ERANGE if it is too small, and
// the size in any case.
func fill(dest, value []byte) (uint32, fuse.Status) {
	if len(dest) < len(value) {
		return uint32(len(value)), fuse.ERANGE
	}
	return uint32(copy(dest, value)), fuse.OK
}

// SetXAttr sets an extended attribute.
func (r *requests) SetXAttr(_ <-chan struct{}, in *fuse.SetXAttrIn, name string, data []byte) fuse.Status {
	n, status := r.enter(&in.InHeader)
	if !status.Ok() {
		return status
	}
	if n.prefix != nil {
		return r.status(n.prefix.SetXattr(name, data, int(in.Flags)))
	}
	// data is the kernel's request buffer and used again after the answer.
	return r.status(r.ns.SetXattr(noContext(), n.ino, name, append([]byte(nil), data...), in.Flags))
}

// RemoveXAttr removes an extended attribute.
func (r *requests) RemoveXAttr(_ <-chan struct{}, h *fuse.InHeader, name string) fuse.Status {
	n, status := r.enter(h)
	if !status.Ok() {
		return status
	}
	if n.prefix != nil {
		return r.status(n.prefix.RemoveXattr(name))
	}
	return r.status(r.ns.RemoveXattr(noContext(), n.ino, name))
}
