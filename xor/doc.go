// Package xor is SCR's XOR redundancy: the arithmetic, the redundancy file with
// its header, and the rebuild of one lost member of a set.
//
// The files of each member, one after the other in the order of its header and
// padded with zeros, are its logical file. A Layout cuts the logical files of a
// set into blocks; the payload of a member is the XOR of the blocks that the
// others have at its position. So any one member, payload included, is the XOR
// of what the others have, and two lost members are lost.
//
// A redundancy file is a Header, stored as a hash, followed by the payload.
// Header, FileName and the arithmetic are the same in the families F11, F14 and
// F12 but for the name and a word in the meta data.
//
// The package is pure. It reads from io.ReaderAt and writes to io.Writer that
// the caller opened; it knows no path, no clock and no network, and never
// deletes or renames. What it wrote to a writer before an error is worthless;
// the caller writes under temporary names and renames when all is verified.
//
// PARTNER, the other scheme that stands the loss of a node, keeps plain copies;
// PlanPartner says which copies to make.
//
// Locks: none. Rebuild starts goroutines and has ended all of them when it
// returns; everything else runs in the caller's.
package xor
