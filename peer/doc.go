// Package peer carries calls and bulk streams between the mounts of one job.
//
// A Transport owns one listening TCP port, the connections to the other
// members, and the knowledge of which of them answer. It never looks into a
// message, never opens a file but the job's secret, and never decides what a
// silent peer means: it says that the peer is silent, the daemon decides.
//
// Calls are small, unordered and at most once: a request is sent once, and a
// call that ends with an error may have been carried out or not. Bulk streams
// are long and ordered: framed, each frame with a CRC, no damaged byte is ever
// delivered, and a stream that merely breaks never looks like one that ended.
//
// Every connection is authenticated in both directions by the job's secret
// before a byte of it reaches a handler. By default it is TLS 1.3, where both
// sides hold the one Ed25519 key that the secret gives and accept no other;
// with Plain the two sides prove the secret to each other and the rest goes in
// clear, for fabrics that are trusted. The secret says "member of this job",
// not which one: a node is believed when it tells its name.
//
// The same Transport runs over a Network, which lives in memory and breaks on
// demand: cut, held, dropping, killed. Tests of layers above use it.
//
// Locks: a node's table lock, the pool's and the health's are leaves; none is
// held while a handler, a callback or the network is waited for.
package peer
