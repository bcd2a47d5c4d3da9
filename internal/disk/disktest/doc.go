// Package disktest holds the promises every disk.FS keeps, as a test suite
// that any implementation runs: Run(t, open). It owns nothing but the trees
// that open gives it, imports testing and is imported by tests only. It has no
// locks.
package disktest
