package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"

	urfave "github.com/urfave/cli/v2"

	"github.com/scrfs/scrfs/cmd/internal/cli"
	"github.com/scrfs/scrfs/config"
	"github.com/scrfs/scrfs/hostlist"
	"github.com/scrfs/scrfs/internal/disk"
	"github.com/scrfs/scrfs/scavenger"
	"github.com/scrfs/scrfs/scr"
	"github.com/scrfs/scrfs/spill"
)

func listCommand() *urfave.Command {
	return &urfave.Command{
		Name:            "list",
		Usage:           "say which datasets the cache of this node holds",
		HideHelpCommand: true,
		Description: `Reads the control directory, looks whether every file is there with its size,
and changes nothing. The job's daemon need not run.

Examples:
  scr-postrun list --control-dir /dev/shm/me/scr.4711
  scr-postrun list --control-dir /dev/shm/me/scr.4711 --json | jq .cache

Exit codes: 2 usage, 3 no control directory there, 5 its files are damaged.`,
		Flags: []urfave.Flag{
			&urfave.StringFlag{Name: "control-dir", Usage: "control `DIR` of the job on this node"},
			&urfave.BoolFlag{Name: "json", Usage: "print one line of JSON"},
		},
		Action: answering(func(c *urfave.Context) (scavenger.Reply, error) {
			cache, err := listHere(c)
			if err != nil {
				return scavenger.Reply{}, err
			}
			if !c.Bool("json") {
				showCache(c, cache)
			}
			return scavenger.Reply{Kind: "list", Cache: &cache}, nil
		}),
	}
}

// checkUse refuses arguments, and misses flags that must be there.
func checkUse(c *urfave.Context, needed ...string) error {
	if c.NArg() > 0 {
		return cli.Usagef("unexpected argument %q", c.Args().First())
	}
	for _, name := range needed {
		if c.String(name) == "" && c.Int64(name) == 0 {
			return cli.Usagef("%s: --%s is missing", c.Command.Name, name)
		}
	}
	return nil
}

func listHere(c *urfave.Context) (scavenger.NodeCache, error) {
	if err := checkUse(c, "control-dir"); err != nil {
		return scavenger.NodeCache{}, err
	}
	control, err := openControl(c)
	if err != nil {
		return scavenger.NodeCache{}, err
	}
	return scavenger.Holdings(control, spill.Opener(disk.Open))
}

func openControl(c *urfave.Context) (disk.FS, error) {
	dir, err := filepath.Abs(c.String("control-dir"))
	if err != nil {
		return nil, err
	}
	control, err := disk.Open(dir)
	if err != nil {
		return nil, fmt.Errorf("control directory: %w", err)
	}
	return control, nil
}

func showCache(c *urfave.Context, cache scavenger.NodeCache) {
	for _, d := range cache.Datasets {
		if d.Unsealed != "" {
			fmt.Fprintf(c.App.Writer, "dataset %d was not finished: %s\n", d.ID, d.Unsealed)
			continue
		}
		for _, h := range d.Held {
			fmt.Fprintf(c.App.Writer, "dataset %d (%s): rank %d of %d: %d files, %d bytes", d.ID, d.Dir, h.Rank, d.Ranks, h.Files, h.Bytes)
			switch {
			case h.Missing != "":
				fmt.Fprintf(c.App.Writer, ": damaged: %s", h.Missing)
			case h.Redundancy:
				fmt.Fprintf(c.App.Writer, ", %s set %d of %d", h.Set.Scheme, h.Set.ID, h.Set.Size)
			}
			if h.PartnerOf != "" {
				fmt.Fprintf(c.App.Writer, ", copy for %s", h.PartnerOf)
			}
			fmt.Fprintln(c.App.Writer)
		}
	}
}

func copyCommand() *urfave.Command {
	return &urfave.Command{
		Name:            "copy",
		Usage:           "copy this node's part of a dataset towards the prefix directory",
		HideHelpCommand: true,
		Description: `Copies the files of all ranks that are whole in this node's cache, compares
checksums on the way, and writes a filemap for each rank. They go to the stage
of the dataset, PREFIX/.scr/stage.ID, where nobody sees them yet: scr-postrun
without a command calls this on every node and then publishes.

Copies that the node keeps for a partner are taken only for those in --failed.

Examples:
  scr-postrun copy --control-dir /dev/shm/me/scr.4711 --dataset 18 --prefix /p/sim1

Exit codes: 2 usage, 3 no control directory, no such dataset, 4 a rank could not
be copied (the others are), 6 no room in the prefix directory.`,
		Flags: []urfave.Flag{
			&urfave.StringFlag{Name: "control-dir", Usage: "control `DIR` of the job on this node"},
			&urfave.Int64Flag{Name: "dataset", Usage: "`ID` of the dataset"},
			&urfave.StringFlag{Name: "prefix", Aliases: []string{"p"}, Usage: "prefix `DIR`"},
			&urfave.StringFlag{Name: "failed", Usage: "nodes that are lost, as host `LIST`"},
			&urfave.StringFlag{Name: "sets", Value: "all", Usage: "redundancy sets whose redundancy files are copied: `WHICH` is all, none or numbers"},
			&urfave.StringFlag{Name: "ranks", Usage: "copy only these `RANKS`, as 3,7"},
			&urfave.StringFlag{Name: "bandwidth", Usage: "copy no more than `BYTES` per second, as 200M"},
			&urfave.BoolFlag{Name: "json", Usage: "print one line of JSON"},
		},
		Action: answering(func(c *urfave.Context) (scavenger.Reply, error) {
			got, err := copyHere(c)
			if err != nil {
				return scavenger.Reply{}, err
			}
			if !c.Bool("json") {
				fmt.Fprintf(c.App.Writer, "dataset %d: %d ranks, %d files, %d bytes copied\n", c.Int64("dataset"), len(got.Ranks), got.Files, got.Bytes)
				return scavenger.Reply{}, failedRanks(c, got)
			}
			return scavenger.Reply{Kind: "copy", Copied: &got}, nil
		}),
	}
}

// failedRanks is the error for a user; another scr-postrun reads the answer.
func failedRanks(c *urfave.Context, got scavenger.Copied) error {
	var errs []error
	for _, f := range got.Failed {
		errs = append(errs, fmt.Errorf("dataset %d: rank %d: %s: %w", c.Int64("dataset"), f.Rank, f.Error, scr.ErrIncomplete))
	}
	return errors.Join(errs...)
}

func copyHere(c *urfave.Context) (scavenger.Copied, error) {
	none := scavenger.Copied{}
	if err := checkUse(c, "control-dir", "dataset", "prefix"); err != nil {
		return none, err
	}
	id := c.Int64("dataset")
	if id < 1 || id > scr.MaxDatasetID {
		return none, cli.Usagef("--dataset %d: want an id from 1 up", id)
	}
	order := scavenger.CopyOrder{Dataset: scr.DatasetID(id)}
	var err error
	if order.Failed, err = hostlist.Expand(c.String("failed")); err != nil {
		return none, &cli.UsageError{Err: err}
	}
	if err := parseSets(c.String("sets"), &order); err != nil {
		return none, err
	}
	if order.Ranks, err = parseRanks(c.String("ranks")); err != nil {
		return none, cli.Usagef("--ranks: %w", err)
	}
	o := scavenger.CopyOptions{Open: spill.Opener(disk.Open), Order: order}
	if text := c.String("bandwidth"); text != "" {
		n, ok := config.ParseBytes(text)
		if !ok || n <= 0 {
			return none, cli.Usagef("--bandwidth %s: want bytes per second, as 200M", text)
		}
		o.BytesPerSecond = n
	}
	if o.Control, err = openControl(c); err != nil {
		return none, err
	}
	if o.PrefixDir, err = filepath.Abs(c.String("prefix")); err != nil {
		return none, err
	}
	if o.Prefix, err = disk.Open(o.PrefixDir); err != nil {
		return none, fmt.Errorf("prefix directory: %w", err)
	}
	return scavenger.Copy(c.Context, o)
}

// answering prints what a command answers, or its error, as JSON if that is
// asked for.
func answering(do func(*urfave.Context) (scavenger.Reply, error)) urfave.ActionFunc {
	return func(c *urfave.Context) error {
		reply, err := do(c)
		if !c.Bool("json") {
			return err
		}
		if err != nil {
			reply = scavenger.Reply{Kind: "error", Code: int(cli.CodeOf(err)), Error: err.Error()}
		}
		line, jerr := json.Marshal(reply)
		if jerr != nil {
			panic("BUG: an answer is not JSON: " + jerr.Error())
		}
		if _, werr := fmt.Fprintf(c.App.Writer, "%s\n", line); err == nil && werr != nil {
			return fmt.Errorf("answer: %w", werr)
		}
		return err
	}
}
