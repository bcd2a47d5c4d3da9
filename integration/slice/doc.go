// Package slice is the main job of scrfs from end to end, on emulated nodes:
// an unmodified LAMMPS and a shell loop write checkpoints through four mounts,
// a node is lost in mid-run, the program restarts from what was rebuilt, and
// scr-postrun rescues what killed daemons left. The demo shows it, the
// test of this package checks it: both run the same steps.
//
// It owns the scenario and no promise of its own. It has no locks.
package slice
