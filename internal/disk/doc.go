// Package disk is the one seam between scrfs and files.
//
// An FS is one directory tree. Real trees (Open) stand on os.Root, so that no
// name, no ".." and no symbolic link leads out of them. NewMem gives a tree in
// memory that also knows what a power cut would leave (CrashClone). Trace,
// Inject and Tag wrap any FS, and disk/disktest holds the promises which all
// of them keep. Above that stand a few helpers: WriteFile replaces a small
// state file whole or not at all, ReadFile, MkdirAll, RemoveAll and Exists do
// what their namesakes of package os do.
//
// The package decides nothing: it knows no dataset, keeps no cache, retries
// nothing but an interrupted system call and logs nothing. Each failure is an
// *fs.PathError (an *os.LinkError where there are two names) with the full
// path, and errors.Is finds the errno, fs.ErrNotExist and the like in it.
//
// Locks: a Mem has one mutex over the whole tree, held for the length of one
// operation, and a condition on which Lock waits; no caller's code runs under
// it. The other types have no locks; Faults counts under a mutex of its own.
// Every FS and File may be used by several goroutines at once; the offset of
// a File is shared as that of a descriptor is.
package disk
