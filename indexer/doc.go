// Package indexer owns what SCR keeps in a prefix directory about the datasets
// there: the index, the summaries, the rank2file maps and the flush file.
//
// It has two halves. The publishing half serves a run: nodes copy a dataset
// into a stage, PublishStage checks that it is whole and brings it into sight,
// and RollForward ends a publication that a crash cut short. The offline half
// serves what a run left behind, be it by scrfs or by SCR itself: it scans a
// dataset directory, says what is missing, rebuilds it from the redundancy
// files and enters the dataset into the index.
//
// A stage is a directory .scr/stage.<id> that looks like the prefix directory:
// user files at their path, SCR's files in the dataset directory. So both
// halves read it in the same way.
//
// What it writes is written to other names first and renamed when it is whole
// and verified; nothing that is there is changed or lost by an error. It never
// talks to another node, never copies from a cache, and never removes a user
// file.
//
// Locks: .scr/scrfs.lock (in the prefix directory itself for the oldest
// family) is held while names are moved, then, inside it, the lock of
// index.scr or flush.scr for one update. Nothing else is held while files are
// read, and no lock is held while a caller's function runs.
package indexer
