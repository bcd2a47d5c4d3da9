// Package spill keeps the files of a cache that the cache has no room for.
//
// A spilled file lies below <prefix>/.scr/spill.<job>/ and the cache holds a
// symbolic link to it in its place. The link is all there is to know of it: it
// follows renames of the file and of the directories above, it is there after a
// crash, and scr-postrun finds the bytes by it. A file is spilled as a whole or
// not at all.
//
// An FS makes a cache directory look as if nothing had been spilled: a link to
// the place is opened, described and removed as the file it leads to. No other
// link is followed.
//
// The package never decides what is spilled, and it copies no bytes. It has no
// locks; who replaces a file sees to it that nobody renames or removes it
// meanwhile. A call about a spilled file waits for the prefix directory.
package spill
