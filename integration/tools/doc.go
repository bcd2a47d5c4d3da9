// Package tools works on a mounted prefix directory with the programs that
// everybody uses: tar, cp, mv, rm, find, du, ls and, where they are installed,
// rsync and git. What they see must be right and the same, inode numbers
// included, while a dataset is written, when it is protected, and when it has
// been published.
//
// There is no code outside the test, and there are no locks.
package tools
