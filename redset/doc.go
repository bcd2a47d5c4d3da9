// Package redset forms redundancy sets as SCR does: which ranks protect each
// other, so that the loss of one failure group takes at most one of them.
//
// Form is a pure function of where the ranks run. All nodes of a job call it
// with the same places and get the same sets, so nothing has to be agreed on.
// What cannot be protected is said in a Warning: where SCR silently keeps a
// single copy, here the caller is handed a value to log.
//
// The package never asks a node anything, never logs, and knows no files: a
// rank without files is a member like any other.
//
// Locks: none.
package redset
