package main

import (
	"fmt"
	"path/filepath"
	"strings"

	urfave "github.com/urfave/cli/v2"

	"github.com/scrfs/scrfs/cmd/internal/cli"
	"github.com/scrfs/scrfs/scr"
)

func rebuildCommand() *urfave.Command {
	return &urfave.Command{
		Name:  "rebuild",
		Usage: "rebuild one redundancy set of a dataset directory by hand",
		Description: `Brings back the files of the one rank of a set that lacks some, as
'scrfs index --add --dry-run' says under BUILD, whatever the state of other sets.
Nothing is put in place before all of the rank's files are whole and verified.
The index is not changed: 'scrfs index --add' does that.

Examples:
  scrfs rebuild --dataset /p/sim1/scr.dataset.18 --set 0
  scrfs rebuild --dataset /p/sim1/.scr/scr.dataset.18 --set 4 --missing 5

Exit codes: 2 usage; 3 no such directory or set; 4 more is lost than one member;
5 a file is corrupt or contradicts another; 6 no space left; 7 not permitted.`,
		Flags: append([]urfave.Flag{
			&urfave.StringFlag{Name: "dataset", Usage: "dataset directory `DIR`"},
			&urfave.IntFlag{Name: "set", Usage: "number `G` of the redundancy set: its lowest rank"},
			&urfave.IntFlag{Name: "missing", Usage: "the lost `RANK`, even if nothing seems to be wrong with it", Value: -1, DefaultText: "the rank that lacks files"},
			&urfave.StringFlag{Name: "prefix", Aliases: []string{"p"}, Usage: "prefix directory `DIR`", DefaultText: "the one that the dataset directory is in"},
		}, offlineFlags()...),
		Action: rebuild,
	}
}

func rebuild(c *urfave.Context) error {
	if !c.IsSet("dataset") || !c.IsSet("set") {
		return cli.Usagef("want --dataset DIR and --set G")
	}
	set, missing := c.Int("set"), c.Int("missing")
	if set < 0 || set >= scr.MaxRanks || c.IsSet("missing") && missing < 0 || missing >= scr.MaxRanks {
		return cli.Usagef("--set and --missing want a rank from 0 to %d", scr.MaxRanks-1)
	}
	dataset, err := filepath.Abs(c.String("dataset"))
	if err != nil {
		return err
	}
	prefix := c.String("prefix")
	if prefix == "" {
		prefix = prefixOf(dataset)
	}
	x, dir, done, err := openPrefix(c, prefix)
	if err != nil {
		return err
	}
	defer done()
	rel, err := filepath.Rel(dir, dataset)
	if err != nil || rel == ".." || strings.HasPrefix(rel, "../") {
		return cli.Usagef("--dataset %s is not below the prefix directory %s", dataset, dir)
	}
	place, err := x.Locate(rel)
	if err != nil {
		return err
	}
	ranks, err := x.Rebuild(c.Context, place.Family, place.Dir, scr.Rank(set), scr.Rank(missing))
	if err != nil {
		return err
	}
	done()
	if c.Bool("json") {
		return writeJSON(c.App.Writer, rebuiltOf(ranks))
	}
	showRebuilt(c, ranks)
	if len(ranks) == 0 {
		fmt.Fprintf(c.App.Writer, "set %d: nothing is missing\n", set)
	}
	return nil
}

// prefixOf is the prefix directory of a dataset directory: what .scr is in, or
// else what the directory is in. Names in a dataset directory that is not in
// .scr do not lead out of it, so any directory above will do.
func prefixOf(dataset string) string {
	parent := filepath.Dir(dataset)
	if filepath.Base(parent) == ".scr" {
		return filepath.Dir(parent)
	}
	return parent
}
