// Command scr-postrun rescues, when a job is over, what its daemons had not yet
// copied to the prefix directory.
//
// It runs on any machine that sees the prefix directory and reaches the nodes
// of the job through a launcher. On each node it starts itself twice: list says
// what the node's cache has, copy brings one dataset's files to the prefix
// directory. What lost nodes had is rebuilt, and the dataset is published.
//
// The decisions are package scavenger's. Here is what reads the command line,
// starts processes and prints.
package main
