// Command bench measures what programs pay for working through the mount: a
// real daemon with its cache on memory, against that memory's own file system,
// and for comparison bindfs and fuse-overlayfs. `make bench` runs it, and
// docs/performance.md holds what it printed.
//
// The same load runs in one directory of each file system in turn, round after
// round, neither always first; what is printed is the median over the rounds of
// the ratio within one round. So a machine that does other work as well spoils
// single rounds and not the figure.
//
// It owns no promise: integration/bench/bench_test.go only checks that it runs.
// It has no locks.
package main
