// Package config makes one checked Config of SCR's parameters, scrfs's own
// settings and the routing rules.
//
// A value is looked for on the command line, in the environment, in the user
// file, in the system file, and is else the default. Every name that SCR has
// is known: it is obeyed, or accepted with one Warning that says why it has no
// effect here. A name that is neither SCR's nor scrfs's, and a value that is
// not of its form, are errors that name file, line, value and the rule; all
// errors of a run are reported together.
//
// The package is pure. It reads no file and no environment but what is handed
// to Load, and checks no directory for being there. A Config is never changed
// after Load; any number of goroutines may read it. There are no locks.
package config
