// Package space decides whether the kernel may write a file of the cache by
// itself.
//
// The kernel cannot be stopped once it has a cache file open, and what it writes
// into a full cache is ENOSPC to the program. So a file is given to it only if
// what the file will need can be set aside, or if there is far more room than
// one file is likely to take. Every other file is written by the daemon, which
// can put it elsewhere when room runs out.
//
// How much a file will need is told by the last one whose name differs only in
// its numbers (Sizes). The package is pure: it is told how full the cache is.
package space
