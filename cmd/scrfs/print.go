package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	urfave "github.com/urfave/cli/v2"

	"github.com/scrfs/scrfs/cmd/internal/cli"
	"github.com/scrfs/scrfs/kvtree"
	"github.com/scrfs/scrfs/scr"
)

// printModes are the forms in which a hash is shown.
var printModes = map[string]func(io.Writer, *kvtree.Tree) error{
	"tree": kvtree.WriteText, "keyval": kvtree.WriteKeyval, "json": kvtree.WriteJSON,
}

func printCommand() *urfave.Command {
	return &urfave.Command{
		Name:      "print",
		Usage:     "show SCR's hash files as text",
		ArgsUsage: "FILE...",
		Description: `Shows index, summary, rank2file, filemaps, flush, halt, nodes and transfer files,
and the headers of redundancy files. Mode tree is what SCR's own printer writes.

Examples:
  scrfs print /p/sim1/.scr/index.scr
  scrfs print --mode keyval /p/sim1/scr.dataset.18/.scr/summary.scr
  scrfs print 3_of_4_in_0.xor --mode json | jq .GROUP

Exit codes: 2 usage, 3 no such file, 5 not a whole hash file, 7 not permitted.`,
		Flags: []urfave.Flag{
			&urfave.StringFlag{Name: "mode", Aliases: []string{"m"}, Value: "tree", Usage: "tree, keyval or json"},
			&urfave.BoolFlag{Name: "json", Usage: "the same as --mode json"},
		},
		Action: printFiles,
	}
}

func printFiles(c *urfave.Context) error {
	mode := c.String("mode")
	if c.Bool("json") {
		mode = "json"
	}
	names, mode, err := printArgs(c.Args().Slice(), mode)
	if err != nil {
		return err
	}
	write, ok := printModes[mode]
	if !ok {
		return cli.Usagef("--mode %s: want tree, keyval or json", mode)
	}
	if len(names) == 0 {
		return cli.Usagef("at least one file is wanted")
	}
	var errs []error
	for _, name := range names {
		if len(names) > 1 && mode != "json" {
			fmt.Fprintf(c.App.Writer, "%s:\n", name)
		}
		errs = append(errs, printFile(c.App.Writer, name, write))
	}
	return errors.Join(errs...)
}

// printArgs takes options that stand behind the files.
func printArgs(args []string, mode string) (names []string, _ string, err error) {
	for i := 0; i < len(args); i++ {
		flag, value, given := strings.Cut(args[i], "=")
		switch {
		case args[i] == "--":
			return append(names, args[i+1:]...), mode, nil
		case args[i] == "--json":
			mode = "json"
		case flag == "--mode" || flag == "-m":
			if !given {
				if i++; i == len(args) {
					return nil, "", cli.Usagef("%s: want tree, keyval or json", flag)
				}
				value = args[i]
			}
			mode = value
		case strings.HasPrefix(args[i], "-"):
			return nil, "", cli.Usagef("%s: no such option; a file of this name is ./%s", args[i], args[i])
		default:
			names = append(names, args[i])
		}
	}
	return names, mode, nil
}

// printFile shows one hash. What follows it in the file, as the payload of a
// redundancy file, is left unread.
func printFile(w io.Writer, name string, write func(io.Writer, *kvtree.Tree) error) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close() // read only: nothing can be lost
	t, _, err := kvtree.ReadFrom(f)
	if err != nil {
		return fmt.Errorf("%s: %w: %w", name, scr.ErrCorrupt, err)
	}
	return write(w, t)
}
