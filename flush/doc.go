// Package flush copies datasets from a node's cache into the stage of the prefix
// directory, in a run and, by the scavenger, after it.
//
// CopyPart copies what one node has of one dataset: the files of its ranks, each
// to the place where it belongs below the prefix directory, and at the end, for
// each rank, the filemap that says which files a rank has and what their
// checksums are. Every byte is read once; size and checksum are compared with
// what the cache's filemap says. A rank's filemap in the stage is the word that
// all of the rank is there, verified and durable; without it nothing there
// counts.
//
// The package writes only in the stage that it is given, never changes a cache,
// decides nothing about which dataset goes or when, and publishes nothing.
// Directories that have no file, symbolic links and the attributes of
// directories are not its business: whoever made the stage made them.
//
// Locks: one, in the progress counter, held while Progress runs. CopyPart starts
// goroutines, and they have ended when it returns.
package flush
