package main

import (
	"os"

	urfave "github.com/urfave/cli/v2"

	"github.com/scrfs/scrfs/cmd/internal/cli"
)

func main() { os.Exit(cli.Main(app(), os.Args)) }

func app() *urfave.App {
	return &urfave.App{
		Name:  "scrfs",
		Usage: "checkpoints at the speed of node-local storage, safe as on the parallel file system",
		Description: `scrfs mounts the directory into which a job writes its checkpoints. What is
written there goes to the node's own storage, is protected against the loss of
a node, and is copied to the parallel file system in the background.

Exit codes: 0 done, 1 failed, 2 usage, 3 not found, 4 unrecoverable, 5 damaged,
6 no room, 7 not permitted, 8 in use, 9 no FUSE, 10 no daemon.`,
		EnableBashCompletion: true,
		HideHelpCommand:      true,
		Commands: append([]*urfave.Command{
			mountCommand(), unmountCommand(), statusCommand(), waitCommand(), flushCommand(), completeCommand(), routeCommand(),
			indexCommand(), rebuildCommand(), printCommand(), hostsCommand(),
		}, cli.Extras()...),
	}
}
