package fusefs

import (
	"github.com/hanwen/go-fuse/v2/fuse"
)

// Open opens a file. Truncation by O_TRUNC is part of it (ATOMIC_O_TRUNC).
func (r *requests) Open(_ <-chan struct{}, in *fuse.OpenIn, out *fuse.OpenOut) fuse.Status {
	n, status := r.enter(&in.InHeader)
	if !status.Ok() {
		return status
	}
	return r.status(r.open(n, in, out))
}

func (r *requests) open(n *node, in *fuse.OpenIn, out *fuse.OpenOut) error {
	h := &handle{node: n, flags: in.Flags, opener: caller(&in.InHeader)}
	var mode uint32
	if n.prefix != nil {
		var err error
		if h.prefix, err = n.prefix.Open(int(in.Flags)); err != nil {
			return err
		}
		if h.writes() {
			st, err := h.prefix.Stat()
			if err != nil {
				return err
			}
			mode = uint32(st.Mode)
		}
	} else {
		var err error
		if h.file, err = r.ns.Open(noContext(), n.ino, in.Flags, h.opener); err != nil {
			return err
		}
		if h.writes() {
			e, err := r.ns.Attr(noContext(), n.ino)
			if err == nil {
				mode = e.Mode
			}
		}
	}
	r.opened(h, mode, out)
	if in.Mode&fuse.OPEN_KILL_SUIDGID != 0 {
		return r.killSetID(n)
	}
	return nil
}

// opened puts a freshly opened file into the tables and tells the kernel how to
// use it.
func (r *requests) opened(h *handle, mode uint32, out *fuse.OpenOut) {
	r.table.addHandle(h)
	out.Fh = h.id
	r.admit(h, setIDBits(mode) != 0, out)
}

// Release closes a file for good. The program does not wait for it.
func (r *requests) Release(_ <-chan struct{}, in *fuse.ReleaseIn) {
	if h := r.table.handle(in.Fh); h != nil {
		r.table.dropHandle(h)
		r.release(h)
	}
}

// release gives back what h holds; it is out of the tables already.
func (m *Mount) release(h *handle) {
	m.dismiss(h)
	if h.file != nil {
		h.file.Release()
	}
	if h.prefix == nil {
		return
	}
	defer h.node.prefix.Release()
	// What close(2) has to say was said at Flush.
	_ = h.prefix.Close()
	if h.dir == nil && h.writes() {
		m.changed("close", h.node.prefix, h.opener)
	}
}
