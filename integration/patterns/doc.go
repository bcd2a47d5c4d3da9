// Package patterns replays how real programs write checkpoints.
//
// A program is a Go function that every rank of a job runs in a process of its
// own, with the environment its launcher would give it, through mounts made
// for the test. The same program is played once more in a plain directory:
// when everything is flushed the prefix directory must hold the same names
// with the same bytes. After every checkpoint the test asks the mounts which
// files the new dataset has and which rank wrote each, and looks beneath them
// that nothing of it is on the prefix directory.
//
// The ranks stop at points they all reach; the test lets them go on once what
// it waits for has come. So no test depends on how fast the machine is, but
// for this: inside one checkpoint a program must not stall for the quiet time.
//
// The package has no code outside its tests. They need /dev/fuse and root, and
// are skipped without. There are no locks.
package patterns
