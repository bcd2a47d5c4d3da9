// Package ring runs the schedule of an XOR redundancy set while the job runs.
//
// Each member of a set calls EncodeXOR, on its node, at about the same time.
// The members form a ring: each receives partial results from its left
// neighbour, merges its own bytes into them, and sends them to the right. Each
// byte of a member's files is read once, its payload is written once and in
// order, and what is in hand at any moment is a few pieces that fit the
// processor's cache.
//
// The package owns nothing that stays: no file, no socket. The arithmetic and
// the order of steps are those of package xor; links, files and the agreement on
// the chunk size are the caller's. What was written before an error is
// worthless. It never retries: a member that fails ends the run of its
// neighbours, and theirs, and the set starts again.
//
// Locks: none. EncodeXOR starts goroutines and has ended them when it returns.
package ring
