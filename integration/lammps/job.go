// Package lammps runs the molecular dynamics program LAMMPS, as Debian ships
// it, as the unmodified user's program of tests and demo.
//
// It owns the command lines and the reading of the output. The input scripts
// are in integration/testdata/lammps; they are made so that a run which goes on
// from a restart file prints the same thermodynamic output, to the last of 15
// digits, as the run that wrote it. The package starts nothing, and has no
// locks.
package lammps

import (
	"fmt"
	"path/filepath"
	"strconv"
)

// Job is one simulation that writes restart files, a file per rank.
type Job struct {
	Inputs string // directory of run.in and restart.in
	Dir    string // where the restart files are, pp.<step>.<rank>.restart and pp.<step>.base.restart
	Cells  int    // box edge; 4 Cells^3 atoms of 88 bytes in the restart files. 0 is 8
	Every  int    // steps from one restart file to the next, a multiple of 10
	Steps  int    // last step, a multiple of 10
}

// Command is the command line of the run from its beginning.
func (j Job) Command() []string { return j.command("run.in") }

// Restart is the command line of the run from a restart file to the same end;
// from is its step, 0 the last one that is there.
func (j Job) Restart(from int) []string {
	step := strconv.Itoa(from)
	if from == 0 {
		step = "*"
	}
	return append(j.command("restart.in"), "-var", "from", step)
}

func (j Job) command(input string) []string {
	cells := j.Cells
	if cells == 0 {
		cells = 8
	}
	return []string{
		"lmp", "-log", "none", "-in", filepath.Join(j.Inputs, input),
		"-var", "cells", strconv.Itoa(cells),
		"-var", "dir", j.Dir,
		"-var", "every", strconv.Itoa(j.Every),
		"-var", "steps", strconv.Itoa(j.Steps),
	}
}

// Files are the names that np ranks write at a step.
func (j Job) Files(step, np int) []string {
	names := []string{fmt.Sprintf("pp.%d.base.restart", step)}
	for r := range np {
		names = append(names, fmt.Sprintf("pp.%d.%d.restart", step, r))
	}
	return names
}
