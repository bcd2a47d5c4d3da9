// Package kvtree is SCR's hash: an ordered list of keys, each with a hash of
// its own, and the forms in which SCR stores and prints it.
//
// A [Tree] has no values as such. The value of a field is the single key of
// the field's tree: SIZE = 1501 is the key SIZE whose tree has the one key
// 1501, whose tree is empty. A flag is a key with an empty tree, a list is a
// key whose tree has many keys. Keys are strings of any bytes but NUL and are
// unique in their tree. The order of keys is kept, but it has no meaning: two
// trees are compared as sets, with [Equal].
//
// The package owns the packed form ([Pack], [Unpack]), the file form with its
// header and CRC ([Encode], [Decode], [ReadFrom]), the text that SCR's printer
// makes of a hash ([WriteText], [ParseText]), and two forms to read by people
// and programs ([WriteKeyval], [WriteJSON]).
//
// Its decoders may be given anything. A count, a key or a size is believed
// only as far as bytes are there to bear it out, trees are at most [MaxDepth]
// deep, and no more memory is taken than a small multiple of the input.
//
// It never opens a file, and it knows no key by name: what the keys mean is
// the business of package scr.
//
// Locks: none. A Tree may be read by any number of goroutines as long as none
// changes it; reading changes nothing, not even hidden.
package kvtree
