package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	urfave "github.com/urfave/cli/v2"

	"github.com/scrfs/scrfs/cmd/internal/cli"
	"github.com/scrfs/scrfs/config"
	"github.com/scrfs/scrfs/control"
	"github.com/scrfs/scrfs/hostlist"
	"github.com/scrfs/scrfs/internal/disk"
	"github.com/scrfs/scrfs/scavenger"
	"github.com/scrfs/scrfs/scr"
)

func rescueFlags() []urfave.Flag {
	return []urfave.Flag{
		&urfave.StringFlag{Name: "nodes", Usage: "nodes of the job, as host `LIST` (SCR_NODELIST)"},
		&urfave.StringFlag{Name: "down", Usage: "nodes that are lost, as host `LIST`; those that do not answer count as lost too"},
		&urfave.StringFlag{Name: "launcher", Value: "ssh", Usage: "`NAME` or template of what starts a command on a node"},
		&urfave.StringFlag{Name: "program", Usage: "`PATH` of scr-postrun on the nodes (default: the path here)"},
		&urfave.StringFlag{Name: "control-dir", Usage: "control `DIR` of the job on each node (default: from --control-base, --user, --job-id)"},
		&urfave.Int64Flag{Name: "dataset", Usage: "rescue only the dataset of this `ID`"},
		&urfave.DurationFlag{Name: "time-left", Usage: "skip older datasets if there is not enough `TIME` for all, as 10m"},
		&urfave.StringFlag{Name: "rate", Usage: "what one node copies, in `BYTES` per second, for --time-left until it is measured (default: 200M)"},
		&urfave.DurationFlag{Name: "answer-within", Value: time.Minute, Usage: "a node that does not answer in this `TIME` counts as lost"},
		&urfave.IntFlag{Name: "width", Value: 32, Usage: "work on this `NUMBER` of nodes at a time"},
		&urfave.BoolFlag{Name: "dry-run", Aliases: []string{"n"}, Usage: "say what would be done, and do nothing"},
		&urfave.BoolFlag{Name: "json", Usage: "print each step as a line of JSON"},
	}
}

func rescueAction(c *urfave.Context) error {
	if c.NArg() > 0 {
		return cli.Usagef("%q is no command: want list or copy, or options only", c.Args().First())
	}
	cfg, err := cli.Settings(c, nil)
	if err != nil {
		return err
	}
	r, err := newRemote(c, cfg)
	if err != nil {
		return err
	}
	o, err := options(c, cfg)
	if err != nil {
		return err
	}
	o.List, o.Copy = r.list, r.copy
	_, err = scavenger.Run(c.Context, o)
	return hinted(err)
}

// hinted adds the next step where one helps.
func hinted(err error) error {
	if errors.Is(err, scavenger.ErrNoNode) {
		return cli.Hint(noNode{err}, "--nodes, --down and --launcher say where the job was and how to get there")
	}
	switch cli.CodeOf(err) {
	case cli.NotFound:
		return cli.Hint(err, "--control-dir, or --control-base with --user and --job-id, say where the control directory is")
	case cli.NoRoom:
		return cli.Hint(err, "the caches are as they were: make room in the prefix directory and run it again")
	case cli.Unrecoverable:
		return cli.Hint(err, "'scrfs index --list' shows the datasets to restart from")
	}
	return err
}

// noNode gives an error the exit code of a job whose nodes do not answer.
type noNode struct{ error }

func (e noNode) Unwrap() error        { return e.error }
func (e noNode) Is(target error) bool { return target == control.ErrNoDaemon }

// options reads what Run needs from flags and settings.
func options(c *urfave.Context, cfg *config.Config) (scavenger.Options, error) {
	nodes, down, err := nodeLists(c, cfg)
	if err != nil {
		return scavenger.Options{}, err
	}
	rate := int64(0)
	if text := c.String("rate"); text != "" {
		n, ok := config.ParseBytes(text)
		if !ok || n <= 0 {
			return scavenger.Options{}, cli.Usagef("--rate %s: want bytes per second, as 200M", text)
		}
		rate = n
	}
	if c.IsSet("dataset") && (c.Int64("dataset") < 1 || c.Int64("dataset") > scr.MaxDatasetID) {
		return scavenger.Options{}, cli.Usagef("--dataset %d: want an id from 1 up", c.Int64("dataset"))
	}
	if c.Duration("time-left") < 0 || c.Int("width") < 1 {
		return scavenger.Options{}, cli.Usagef("--time-left must not be negative, --width at least 1")
	}
	prefix, err := disk.Open(cfg.Prefix)
	if err != nil {
		return scavenger.Options{}, cli.Hint(fmt.Errorf("prefix directory: %w", err), "--prefix names the directory that the job's files belong to")
	}
	return scavenger.Options{
		Prefix: prefix, PrefixDir: cfg.Prefix, Nodes: nodes, Down: down,
		Only: scr.DatasetID(c.Int64("dataset")), TimeLeft: c.Duration("time-left"), Rate: rate,
		Width: c.Int("width"), DryRun: c.Bool("dry-run"), Report: reporter(c), Now: time.Now,
	}, nil
}

// nodeLists are the nodes of the job and those of them that are down.
func nodeLists(c *urfave.Context, cfg *config.Config) (nodes, down []string, err error) {
	list := cfg.NodeList
	if c.IsSet("nodes") {
		list = c.String("nodes")
	}
	if nodes, err = hostlist.Expand(list); err == nil {
		down, err = hostlist.Expand(c.String("down"))
	}
	if err != nil {
		return nil, nil, &cli.UsageError{Err: err}
	}
	if len(nodes) == 0 {
		return nil, nil, cli.Usagef("which nodes had the job? --nodes LIST or SCR_NODELIST says it")
	}
	for _, list := range [][]string{nodes, down} {
		for i, n := range list {
			list[i], _, _ = strings.Cut(n, "=") // name=address of a mount
			if err := scavenger.CheckNode(list[i]); err != nil {
				return nil, nil, &cli.UsageError{Err: err}
			}
		}
	}
	for i, n := range nodes {
		if slices.Contains(nodes[:i], n) {
			return nil, nil, cli.Usagef("node %s is listed twice", n)
		}
	}
	return nodes, down, nil
}

// controlDir is the control directory on the nodes, with {node} in it perhaps.
func controlDir(c *urfave.Context, cfg *config.Config) (string, error) {
	if dir := c.String("control-dir"); dir != "" {
		return filepath.Abs(dir)
	}
	if cfg.JobID == "" {
		return "", cli.Usagef("which job? --job-id or --control-dir says it")
	}
	dir, err := scr.JobDir(cfg.User, cfg.JobID)
	if err != nil {
		return "", &cli.UsageError{Err: err}
	}
	return filepath.Join(cfg.ControlBase, dir), nil
}

// reporter prints steps, warnings to standard error.
func reporter(c *urfave.Context) func(scavenger.Step) {
	return func(s scavenger.Step) {
		switch {
		case c.Bool("json"):
			line, err := json.Marshal(s)
			if err != nil {
				panic("BUG: a step is not JSON: " + err.Error())
			}
			fmt.Fprintf(c.App.Writer, "%s\n", line)
		case s.Warning:
			fmt.Fprintf(c.App.ErrWriter, "%s: warning: %s\n", c.App.Name, s)
		default:
			fmt.Fprintln(c.App.Writer, s)
		}
	}
}
