// Package cli is what the commands of scrfs share: how an error is shown, what
// exit code it gives, where settings come from.
//
// It is the only place, with the commands themselves, that reads the
// environment and the command line.
package cli
