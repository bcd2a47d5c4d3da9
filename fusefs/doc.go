// Package fusefs is the mount: it answers the kernel's requests.
//
// A Mount shows one tree. Names that belong to datasets are asked of a
// Namespace, every other name of the prefix directory through package
// prefixfs; where both have a name, the Namespace's is seen. Directories named
// ".scr" are not shown anywhere and cannot be made.
//
// It owns the tables of nodes (what the kernel knows an inode number of) and
// of handles (open files), and the registrations that let the kernel read and
// write a file without asking (passthrough). It decides no policy: not which
// names are cached, not where data lies, not when a dataset ends.
//
// The file of one inode is opened in one manner as long as any handle of it is
// open: through the kernel with one backing file, or through this process.
// Where passthrough cannot be had (no CAP_SYS_ADMIN, Linux before 6.9) all
// goes through this process.
//
// What the kernel may remember: nothing of names, present or absent; of
// attributes those of directories of the prefix and of private catalogue files
// for a short while. Other nodes change the rest.
//
// Interrupts are not passed on: a signal that a program handles must not make
// its mkdir fail, and FUSE does not tell a fatal signal from another.
//
// Locks: table.mu, then node.mu, then the one of prefixfs. None is held over a
// call to the Namespace or to a file system; node.mu is held while a backing
// file is registered. Notifications to the kernel (Invalidate...) are never
// sent from a request or under a lock: the kernel may hold a lock of its own
// that the request under way holds too.
package fusefs
