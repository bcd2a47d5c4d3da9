package prefixfs

import "github.com/scrfs/scrfs/internal/disk"

// FS returns the same tree for packages that work on files: it reaches beneath
// the mount as everything here does, but its calls are not counted by Hung. It
// stays usable after Close.
func (f *FS) FS() (disk.FS, error) { return disk.OpenFd(f.root.fd, f.dir) }
