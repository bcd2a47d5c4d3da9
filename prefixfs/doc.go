// Package prefixfs reaches the parallel file system below the mount.
//
// An FS owns one descriptor of the prefix directory, opened before anything is
// mounted over it, and every other descriptor that was opened beneath it. All
// of its calls are `*at` calls on these descriptors or go through
// /proc/self/fd, so it keeps working when the mount lies over the prefix
// directory itself, and no call ever passes through the mount. It knows
// nothing of datasets, of caching or of FUSE.
//
// A Node is one file or directory the caller holds on to: an O_PATH
// descriptor, and the directory and name it was last seen under. Descriptors
// are a bounded resource: beyond a limit those of nodes not in use are closed
// and opened again by name when they are needed, and a node whose name now
// leads elsewhere answers ESTALE. A node that was removed through this FS
// keeps its descriptor until it is released.
//
// A parallel file system can hang. At most Options.Calls calls are under way
// at once; more wait for their turn, in callers that have nothing else to do.
// Hung says how long the oldest has been under way.
//
// Locks: FS.mu guards the tree of nodes and is never held over a call to the
// file system, except close of an O_PATH descriptor, which does not reach it.
package prefixfs
