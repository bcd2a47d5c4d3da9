package disk

import (
	"io/fs"
	"strconv"
)

// OpenFd is Open for a directory that is open already, as fd: an O_PATH
// descriptor is enough. It serves a directory that a mount covers since, which
// no path leads to. dir is used in messages only; fd stays the caller's.
func OpenFd(fd int, dir string) (FS, error) {
	root, err := openRoot("/proc/self/fd/" + strconv.Itoa(fd))
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: dir, Err: cause(err)}
	}
	return &Real{root: root, dir: dir}, nil
}
