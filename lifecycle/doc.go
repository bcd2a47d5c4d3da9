// Package lifecycle decides when datasets begin and end, and what is done with
// them then: protect, flush, publish, evict, rebuild.
//
// A Machine is fed with Events and answers with Actions. It does no I/O and
// reads no clock: an Event carries its time. Every mount of a job feeds its
// Machine the same events in the same order, so all of them agree; only the
// leader carries the actions out. A new leader asks its Machine what is
// pending (Pending) and goes on from there, so every action must be safe to
// repeat.
//
// Merging two checkpoints into one dataset is safe, splitting one is not:
// where the rules are in doubt, they merge.
//
// Locks: none. The owner of a Machine serialises access to it.
package lifecycle
