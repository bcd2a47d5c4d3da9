// Package scavenger rescues after a run what the daemons had not flushed: it is
// the second face of scrfs, as the mount is the first.
//
// It has two halves. On each node Holdings says what is in the cache, and Copy
// brings one dataset's files, with the redundancy files and a filemap for each
// rank, into the stage of the prefix directory. In one place Decide makes the
// plan from what all nodes said, and Run carries it out: copy on all nodes,
// rebuild in the stage what lost nodes had, publish, and go on with the next
// newer dataset. How a command gets to a node is the caller's: it gives Run the
// functions List and Copy.
//
// A dataset appears in the prefix directory whole or not at all. Until it is
// published all of it lies in the stage, which the mount hides and SCR does not
// look into. A run that is stopped anywhere is begun again from the start; what
// was copied is verified again, and a publication that was in progress is
// carried to its end first.
//
// The package never changes a cache or a control directory and never publishes
// a dataset that was not sealed on every node that has a part of it.
//
// Decide and Fit are pure. Locks: none; Run starts goroutines, each writes its
// own result, and they have ended when it returns.
package scavenger
