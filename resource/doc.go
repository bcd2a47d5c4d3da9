// Package resource knows resource managers and launchers: which variables they
// give to the processes they start, and so which rank of which application a
// process is.
//
// It reads /proc and nothing else. A caller must run as the same user as the
// process it asks about, or hold CAP_SYS_PTRACE.
//
// Locks: an Identifier guards its cache with one mutex, never held while /proc
// is read.
package resource
