// Package scr holds SCR's nouns and the files they are kept in.
//
// A noun is a dataset, a file's meta data, a filemap, a redundancy descriptor,
// an index, a summary, a rank2file map, a flush, halt, nodes or transfer file.
// Each is read from a hash (a kvtree.Tree) and turned into one again, in the
// three families of SCR's on-disk formats that scrfs knows:
//
//	F11  development trees of 2011 and 2012: 1_of_4_in_0.xor, 0.scrfilemap
//	F14  development trees of 2013 and 2014: the same names, below .scr/
//	F12  releases 1.1.8 to 2.0.0: xor.0_1_of_4.scr, fmap.0.scr
//
// Reading accepts every family. Writing takes the family as an argument: what
// scrfs itself creates is F14, what was found in another family stays in it.
//
// Every field that is read is checked for its range; an error wraps ErrInvalid
// and names the record, the key and the value. A number must be written as SCR
// writes it: no sign, no leading zeros, no blanks.
//
// Paths is the only place that joins file names. Names that come out of a hash
// file are hostile until Below or Paths.Resolve has accepted them.
//
// The package does not choose what to flush or rebuild; the few rules that are
// SCR's own (which descriptor, when to halt, what to restart from) are pure
// functions here. It never reads the clock or the environment, and it opens files only through
// the disk.FS it is given.
//
// Keys that are not known are ignored by the nouns that are plain structs, and
// kept by those that are changed in place on disk: Index, FlushFile, HaltFile
// and Filemap hold the tree they were read from.
//
// Locks: none in memory; a value belongs to one goroutine at a time. On disk,
// index.scr and flush.scr are guarded by a lock file beside them, because they
// are replaced by rename and a lock on the file itself would be left behind.
// halt.scr is locked and changed in place, as SCR does.
package scr
