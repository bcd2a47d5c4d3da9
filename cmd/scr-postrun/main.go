package main

import (
	"os"

	urfave "github.com/urfave/cli/v2"

	"github.com/scrfs/scrfs/cmd/internal/cli"
)

func main() { os.Exit(cli.Main(app(), os.Args)) }

func app() *urfave.App {
	return &urfave.App{
		Name:  "scr-postrun",
		Usage: "bring what is left in the caches of a job to the prefix directory",
		UsageText: `scr-postrun --prefix DIR --nodes LIST [--down LIST] [options]
scr-postrun list --control-dir DIR [--json]
scr-postrun copy --control-dir DIR --dataset ID --prefix DIR [options]`,
		Description: description,
		Flags:       append(cli.SettingFlags(), rescueFlags()...),
		// Errors of the library go through cli.Main like all others.
		HideHelpCommand: true,
		Action:          rescueAction,
		Commands:        append([]*urfave.Command{listCommand(), copyCommand()}, cli.Extras()...),
		// The shell asks with it what may come next.
		EnableBashCompletion: true,
	}
}

const description = `Asks every node of the job that is up what its cache holds, and brings to the
prefix directory each dataset that is newer than those which are there: its
files are copied by the nodes that have them, those of lost nodes are rebuilt
from the redundancy files, and then the dataset appears, whole, with its entry
in the index. The oldest comes first, so that the newest checkpoint is the
current one at the end. Nothing is removed from a cache: a run that failed can
be repeated.

A dataset is left alone if it was still being written when the job ended, if
it is older than one in the prefix directory, or if more of it is lost than
its redundancy can mend. Each is said with its reason. The next one is tried.

The nodes are host lists, as atlas[3,5-7]. The launcher starts a command on a
node: ssh (the default), srun, pdsh, local, or a template in which {node} is
the node and {command} the command as one word for a shell, as in
  --launcher 'ssh -l root {node} {command}'
A launcher that starts programs itself needs a shell in front:
  --launcher 'srun -w {node} sh -c {command}'
In --control-dir, {node} is replaced as well.

Do not run it while a mount of the job is up.

Examples:
  scr-postrun --prefix /p/sim1 --nodes atlas[1-64] --down atlas7 --job-id 4711
  scr-postrun --prefix /p/sim1 --nodes atlas[1-64] --job-id 4711 --dry-run
  scr-postrun --prefix /p/sim1 --nodes n[0-3] --launcher local \
      --control-dir '/tmp/{node}/ctl'

Exit codes:
  0   all that was newer than the prefix directory's newest is there now; or
      there was nothing to do; or, with a warning, some of it is lost and some
      is there
  1   failed      2  usage      3  no control directory on any node
  4   a dataset could not be recovered, and no other was published
  5   damaged     6  no room in the prefix directory      7  not permitted
  10  no node answers`
