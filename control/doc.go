// Package control is the local command socket of a daemon: how `scrfs status`
// and its like ask a running mount.
//
// A request is one line of JSON, the answer another. The socket lies in the
// control directory and can be reached by the daemon's user and root only. The
// package knows no command: it carries names and JSON values.
//
// Locks: none; each connection has a goroutine of its own.
package control
