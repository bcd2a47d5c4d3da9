package main

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"

	urfave "github.com/urfave/cli/v2"

	"github.com/scrfs/scrfs/cmd/internal/cli"
	"github.com/scrfs/scrfs/indexer"
	"github.com/scrfs/scrfs/kvtree"
	"github.com/scrfs/scrfs/scr"
)

func indexCommand() *urfave.Command {
	return &urfave.Command{
		Name:  "index",
		Usage: "list, mend, add, remove, verify datasets of a prefix directory",
		Description: `Works on what a job left in the prefix directory, whether scrfs wrote it or SCR.
NAME is a dataset directory below the prefix directory, or the name of a dataset
of an SCR release; ID is its number. An ID that several directories have must be
given as NAME.

--add looks at every file of a dataset, rebuilds what is missing or damaged from
the redundancy files, and enters it into the index. With --dry-run it prints what
it found, with the rebuilds as commands, and changes nothing. A dataset that is
complete and in the index stays as it is. --remove leaves the files alone.

Examples:
  scrfs index --prefix /p/sim1 --list
  scrfs index --prefix /p/sim1 --add scr.dataset.18
  scrfs index --prefix /p/sim1 --add 18 --dry-run
  scrfs index --prefix /p/sim1 --current run/ckpt.0170
  scrfs index --prefix /p/sim1 --verify 18 --json

Exit codes: 2 usage, or an ID of several directories; 3 no such dataset; 4 files
are missing and cannot be rebuilt; 5 a file is corrupt or contradicts another;
6 no space left to rebuild; 7 not permitted.`,
		Flags: append([]urfave.Flag{
			prefixFlag(),
			&urfave.BoolFlag{Name: "list", Aliases: []string{"l"}, Usage: "list the datasets of the index, newest first"},
			&urfave.StringFlag{Name: "add", Aliases: []string{"a"}, Usage: "mend the dataset `NAME|ID` and add it to the index"},
			&urfave.StringFlag{Name: "remove", Aliases: []string{"r"}, Usage: "take the dataset `NAME|ID` out of the index; its files stay"},
			&urfave.StringFlag{Name: "current", Aliases: []string{"c"}, Usage: "restart from the dataset `NAME|ID`"},
			&urfave.StringFlag{Name: "verify", Usage: "read every byte of the dataset `NAME|ID`"},
			&urfave.BoolFlag{Name: "dry-run", Aliases: []string{"n"}, Usage: "with --add: print what would be done"},
		}, offlineFlags()...),
		Action: index,
	}
}

func index(c *urfave.Context) error {
	action, name, err := indexAction(c)
	if err != nil {
		return err
	}
	x, dir, done, err := openPrefix(c, c.String("prefix"))
	if err != nil {
		return err
	}
	defer done()
	switch {
	case action == "add" && c.Bool("dry-run"):
		return indexDryRun(c, x, dir, name)
	case action == "list":
		// Who may only read sees the list as it is.
		if _, err := x.RollForward(c.Context); err != nil && !errors.Is(err, fs.ErrPermission) {
			return err
		}
		entries, err := x.List(c.Context)
		if err != nil {
			return err
		}
		return showEntries(c, entries)
	case action == "add":
		r, err := x.Add(c.Context, name)
		if err != nil {
			return hintFor(err, dir, name)
		}
		done()
		return showReport(c, r, "added")
	case action == "verify":
		r, err := x.Verify(c.Context, name)
		if err != nil {
			if c.Bool("json") {
				err = errors.Join(err, showReport(c, r, ""))
			}
			return hintFor(err, dir, name)
		}
		done()
		return showReport(c, r, "verified")
	case action == "remove":
		e, err := x.Remove(c.Context, name)
		if err != nil {
			return err
		}
		return showEntry(c, e, "removed from the index")
	}
	e, err := x.SetCurrent(c.Context, name)
	if err != nil {
		return err
	}
	return showEntry(c, e, "is the one to restart from")
}

// indexAction is the one thing that was asked for.
func indexAction(c *urfave.Context) (action, name string, err error) {
	for _, a := range []string{"list", "add", "remove", "current", "verify"} {
		if !c.IsSet(a) {
			continue
		}
		if action != "" {
			return "", "", cli.Usagef("--%s and --%s: want one of them", action, a)
		}
		action, name = a, c.String(a)
	}
	switch {
	case action == "":
		return "", "", cli.Usagef("want one of --list, --add, --remove, --current, --verify")
	case action != "list" && name == "":
		return "", "", cli.Usagef("--%s: want the name or the id of a dataset", action)
	case c.Bool("dry-run") && action != "add":
		return "", "", cli.Usagef("--dry-run goes with --add")
	case c.NArg() > 0:
		return "", "", cli.Usagef("%q: no argument is wanted", c.Args().First())
	}
	return action, name, nil
}

// indexDryRun prints the scan hash. Its exit code is that of an --add that
// could only rebuild what is said there.
func indexDryRun(c *urfave.Context, x *indexer.Indexer, dir, name string) error {
	s, err := x.DryRun(c.Context, name)
	if err != nil {
		return err
	}
	write := kvtree.WriteText
	if c.Bool("json") {
		write = kvtree.WriteJSON
	}
	if err := write(c.App.Writer, s.Tree(dir)); err != nil {
		return err
	}
	for _, p := range slices.Concat(s.Invalid, s.Problems) {
		fmt.Fprintf(c.App.ErrWriter, "%s: %v\n", s.Dir, p)
	}
	return s.Verdict()
}

// hintFor says what can be done about a dataset that was not added.
func hintFor(err error, dir, name string) error {
	switch {
	case errors.Is(err, scr.ErrUnrecoverable):
		return cli.Hint(err, "run 'scrfs index --prefix %s --add %s --dry-run' for what is there, and restart from an older dataset of 'scrfs index --prefix %s --list'", dir, name, dir)
	case errors.Is(err, scr.ErrAmbiguous):
		return cli.Hint(err, "give the name of one of these directories")
	}
	return err
}
