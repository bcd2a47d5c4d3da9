// Package apps runs programs of Debian's that write checkpoints, unmodified,
// through mounts on emulated nodes, and restarts them from what they wrote. The
// result is compared with that of a run that nothing disturbed, to the last
// byte where the program allows.
//
// Its tests have the build tag apps, for the packages are large; `make
// test-apps` installs them and runs it. LAMMPS is in package slice. There is
// no code outside the tests, and there are no locks.
package apps
