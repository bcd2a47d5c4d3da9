// Package cachestore keeps datasets on node-local storage.
//
// A Store owns one cache directory and, in the control directory, the filemap
// that describes it and a journal of what changed since. It never touches the
// prefix directory, never talks to another node, and decides nothing: which
// files make a dataset, and when it goes, it is told.
//
//	<cache>/scr.dataset.<id>/<path relative to the prefix directory>
//	<cache>/scr.dataset.<id>/<n>_of_<m>_in_<g>.xor
//	<control>/filemap.scrinfo      names the next one, as SCR wants it
//	<control>/filemap_0.scrinfo    sealed datasets, in SCR's form
//	<control>/filemap_0.journal    what happened since it was written
//
// SCR's rule is that no file is in the cache without an entry in a filemap. A
// job makes thousands of files in a second, and a filemap is rewritten whole,
// so here the entry is a line in the journal until the dataset is sealed: it is
// written before the file is made, and a removal is written after the file is
// gone. A rename stands in the journal twice, before (both names may be there)
// and after. So at every moment each file in the cache has its entry in the
// filemap or in the journal; entries without a file may be found after a crash
// and are dropped by Open. An entry in the journal has no rank; Seal gives it
// one and moves it into the filemap. A sealed file that is opened for writing,
// renamed or removed makes its rank incomplete until the next seal. Who reads
// a control directory while or after a daemon runs takes Read, which knows the
// journal; SCR's own tools see the datasets as they were sealed.
//
// All this holds when the daemon is killed at any point. When the node loses
// power, the filemap is as of the last Seal, AddRanks, CommitRedundancy, Unseal
// or RemoveDataset that returned; the journal and the user files are only as
// far on the disk as the kernel had written them, since the cache is made for
// speed and a node that lost power is a lost node. Files found without an entry
// are reported, never removed, and files that are short make their rank
// incomplete.
//
// Locks: writing before mu. Mu guards the names and the journal and is held
// while one file is made, renamed or removed; writing is held while the filemap
// is written. Neither is held while a file is read or written, and looking up
// or opening a file to read takes none.
package cachestore
