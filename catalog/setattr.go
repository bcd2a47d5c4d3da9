package catalog

import "syscall"

func (s *State) setAttr(n *Inode, o Op) Result {
	if o.Mask&SetMode != 0 {
		n.Mode = n.Mode&syscall.S_IFMT | o.Mode&0o7777
	}
	if o.Mask&SetUID != 0 {
		n.UID = o.UID
	}
	if o.Mask&SetGID != 0 {
		n.GID = o.GID
	}
	if o.Mask&SetSize != 0 {
		n.SizeBytes, n.Mtime = o.SizeBytes, o.Now
	}
	if o.Mask&SetAtime != 0 {
		n.Atime = o.Atime
	}
	if o.Mask&SetMtime != 0 {
		n.Mtime = o.Mtime
	}
	n.Ctime = o.Now
	return Result{Inode: n}
}
