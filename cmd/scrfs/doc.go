// Command scrfs mounts a prefix directory so that checkpoints written below it
// land in node-local storage, are protected by redundancy across the nodes and
// are copied to the parallel file system behind the application.
//
// Beside the mount and the commands that ask a running one it has the offline
// tools for datasets on the prefix directory: index, rebuild, print, hosts.
package main
