// Package cluster makes emulated compute nodes on one machine, for tests and
// the demo.
//
// A node is a process tree of its own: mount, uts, ipc, net and pid name
// spaces, a host name, an address, a memory file system that nobody else sees
// (Cluster.Local, and /dev/shm), and the machine's other files as they are.
// So the directory Cluster.PFS is the same on every node, as a parallel file
// system is, and a FUSE mount made on a node is seen on that node alone. /tmp
// is the machine's: a binary built there runs on every node.
//
// The first process of a node is the program itself, started again through
// /proc/self/exe; Init, called first in main or TestMain, takes that road.
// Node.Kill is the loss of a node: the kernel ends every process of it, and
// its mounts, memory and network go with them. The login node runs no ranks;
// it shares the machine's process ids, because mpirun on it starts the
// daemons of the other nodes by those.
//
// Everything hangs on those first processes and they hang on the program by a
// pipe: however the program ends, kill -9 included, the nodes end as well.
// The bridge between the nodes is in a name space without a name, held in the
// same way, so it needs no tidying and two programs never meet. Sweep looks
// for what should not be there all the same.
//
// The package knows nothing of scrfs. It needs root, and the tools ip and
// nsenter; Available tells whether they are there.
//
// Locks: Cluster.mu guards the list of nodes only and is not held while a
// node is started or ended. Methods of one Node are not for two goroutines at
// a time, but for Command.
package cluster
