package fusefs

import "golang.org/x/sys/unix"

// setIDBits returns those bits of mode that a write by an ordinary user takes
// away: set-user-id, and set-group-id of a file its group may execute.
func setIDBits(mode uint32) uint32 {
	bits := mode & unix.S_ISUID
	if mode&(unix.S_ISGID|unix.S_IXGRP) == unix.S_ISGID|unix.S_IXGRP {
		bits |= unix.S_ISGID
	}
	return bits
}

// killSetID takes these bits from a file that was written. The kernel leaves
// it to this process (HANDLE_KILLPRIV_V2).
func (m *Mount) killSetID(n *node) error {
	if n.prefix != nil {
		st, err := n.prefix.Stat()
		if err != nil || setIDBits(uint32(st.Mode)) == 0 {
			return err
		}
		return n.prefix.Chmod(uint32(st.Mode) &^ setIDBits(uint32(st.Mode)))
	}
	e, err := m.ns.Attr(noContext(), n.ino)
	if err != nil || setIDBits(e.Mode) == 0 {
		return err
	}
	mode := (e.Mode &^ setIDBits(e.Mode)) & 0o7777
	_, err = m.ns.SetAttr(noContext(), n.ino, AttrChange{Mode: &mode}, Caller{})
	return err
}
