// Package daemon is one node of a job, wired: the mount, the catalogue, the
// cache, the peers, and the loop that protects, flushes and publishes datasets.
//
// The nodes of a job keep one catalogue (package catalog) and one life of the
// datasets (package lifecycle) between them. The leader puts every change in
// order (group_lead.go), each node applies the changes one after the other
// (group_apply.go), and what follows from a change on this node's cache is done
// before the change is acknowledged (effects.go). Only the leader carries out
// the actions that the lifecycle asks for (action_*.go); it calls the nodes for
// their part (serve_*.go).
//
// The package decides nothing about datasets, names or redundancy: that is in
// lifecycle, router, catalog and redset.
//
// Locks: group.mu guards the tree, the lives and the sequence; it is held for
// memory and for the node's own cache directory, never over a call to another
// node, a kernel notification or the prefix directory.
package daemon
