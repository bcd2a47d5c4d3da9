// Package hostlist reads and writes lists of host names in the short form that
// SCR's scripts and the resource managers use: atlas[3,5-7,09-11].
//
// A list is host names separated by commas. A name may hold brackets, and each
// bracket stands for the numbers and ranges inside it; with several brackets
// the last one counts fastest. A number is written with as many digits as the
// lower end of its range has, so [09-11] is 09, 10, 11. Names are compared as
// text: atlas7 and atlas07 are two hosts. A name may also carry an address, as
// in n0=10.0.0.1:7000; the package does not look inside.
//
// The package works on strings alone: it never asks a resource manager, never
// resolves a name, holds no state and takes no locks.
package hostlist
