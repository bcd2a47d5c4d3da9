// Package integration holds the tests of the whole: the layers of the packages
// (layers_test.go), and scrfs with real programs on several nodes.
//
// It owns no code that is shipped. The packages below it are for tests and the
// demo: cluster makes emulated nodes, lammps runs a program on them.
package integration
