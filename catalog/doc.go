// Package catalog is the tree of names that belong to datasets.
//
// A State maps names to inodes: which dataset a file belongs to, which node
// holds its bytes, who has it open for writing. Every mount of a job keeps the
// same State: the leader puts operations (Op) in order and each node applies
// them one after the other, so what one program made is seen by all the others
// before the call that made it returns.
//
// The package never touches a file, a clock or the network: an Op carries its
// time, and two States that applied the same operations are equal. That is
// what lets another node take over as leader.
//
// Two kinds of directories hold names. A directory that a dataset made is an
// inode itself; below it the catalogue alone answers. A directory of the
// prefix is known by its path, and the catalogue's names in it stand beside
// those of the prefix directory.
//
// Locks: none. The owner of a State serialises access to it.
package catalog
