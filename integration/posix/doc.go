// Package posix tests that a mount is a file system as POSIX and Linux have it.
//
// Each test is written once and runs in three places: a plain directory in
// memory, which shows that the test itself is right; a directory of a mount
// that no rule claims; and a directory of a mount that belongs to a dataset. What a
// dataset's directory cannot do is listed in table_test.go by the name of the
// test, with the reason; docs/posix.md says the same to users.
//
// The mount is one of the real command, run as a child. The tests need root:
// they change to other users, and mount.
package posix
