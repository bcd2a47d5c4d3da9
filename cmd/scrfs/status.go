package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	urfave "github.com/urfave/cli/v2"

	"github.com/scrfs/scrfs/cmd/internal/cli"
	"github.com/scrfs/scrfs/daemon"
)

func statusCommand() *urfave.Command {
	return &urfave.Command{
		Name:      "status",
		Usage:     "show what a mount holds and what is not safe yet",
		ArgsUsage: "[PATH]",
		Description: `PATH is anything on the mount; default is the current directory.

Examples:
  scrfs status /scr
  scrfs status --json /scr | jq '.datasets[] | select(.safe | not)'
  scrfs status --watch /scr

Exit codes: 3 no mount there, 10 the daemon does not answer.`,
		Flags: []urfave.Flag{
			&urfave.BoolFlag{Name: "json", Usage: "print JSON"},
			&urfave.BoolFlag{Name: "watch", Aliases: []string{"w"}, Usage: "show it again each second until interrupted"},
		},
		Action: func(c *urfave.Context) error {
			m, err := mountAt(c)
			if err != nil {
				return err
			}
			for {
				var s daemon.Status
				if err := m.call(c.Context, "status", nil, &s); err != nil {
					return err
				}
				if err := showStatus(c.App.Writer, s, c.Bool("json")); err != nil {
					return err
				}
				if !c.Bool("watch") {
					return nil
				}
				select {
				case <-c.Context.Done():
					return nil
				case <-time.After(time.Second):
				}
			}
		},
	}
}

func showStatus(w io.Writer, s daemon.Status, asJSON bool) error {
	if asJSON {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		return e.Encode(s)
	}
	fmt.Fprintf(w, "job %s, node %s of %d, leader %s (epoch %d), %s\n", s.Job, s.Node, len(s.Members), s.Leader, s.Epoch, s.Road)
	fmt.Fprintf(w, "prefix directory %s, cache %s\n", s.Prefix, s.Cache)
	for _, m := range s.Members {
		if !m.Alive {
			fmt.Fprintf(w, "node %s (%s) is down\n", m.Name, m.Addr)
		}
	}
	if s.PrefixHungSeconds > 1 {
		fmt.Fprintf(w, "the prefix directory has not answered for %.0f s\n", s.PrefixHungSeconds)
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "DATASET\tCHECKPOINT\tSTATE\tSAFE\tSCHEME\tFILES\tBYTES\tNAME\tNOTE")
	for _, d := range s.Datasets {
		fmt.Fprintf(t, "%d\t%d\t%s\t%s\t%s\t%d\t%d\t%s\t%s\n", d.ID, d.Checkpoint, d.State, yesNo(d.Safe), d.Scheme, d.Files, d.SizeBytes, d.Name, d.Note)
	}
	return t.Flush()
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

func waitCommand() *urfave.Command {
	return &urfave.Command{
		Name:      "wait",
		Usage:     "wait until every dataset is protected or flushed",
		ArgsUsage: "[PATH]",
		Description: `Returns when nothing is being written and every dataset has reached the state.
With flushed, the newest checkpoint is flushed even if its turn would come later.

Examples:
  scrfs wait --for flushed --timeout 10m /scr

Exit codes: 1 the time is over, 3 no mount there, 10 the daemon does not answer.`,
		Flags: []urfave.Flag{
			&urfave.StringFlag{Name: "for", Value: "flushed", Usage: "`STATE` to wait for: sealed, protected or flushed"},
			&urfave.DurationFlag{Name: "timeout", Usage: "wait no longer than this (default: no limit)"},
		},
		Action: func(c *urfave.Context) error {
			m, err := mountAt(c)
			if err != nil {
				return err
			}
			return waitFor(c, m, c.String("for"), c.Duration("timeout"))
		},
	}
}

func waitFor(c *urfave.Context, m mounted, state string, timeout time.Duration) error {
	ctx := c.Context
	if timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, timeout, fmt.Errorf("not %s after %v", state, timeout))
		defer cancel()
	}
	switch state {
	case daemon.WaitSealed, daemon.WaitProtected, daemon.WaitFlushed:
	default:
		return cli.Usagef("state %q: want %s, %s or %s", state, daemon.WaitSealed, daemon.WaitProtected, daemon.WaitFlushed)
	}
	err := m.call(ctx, "wait", state, nil)
	return cli.Hint(err, "'scrfs status %s' shows what is not safe yet", m.Mountpoint)
}

func flushCommand() *urfave.Command {
	return &urfave.Command{
		Name:      "flush",
		Usage:     "copy datasets to the prefix directory now, whatever SCR_FLUSH says",
		ArgsUsage: "[PATH]",
		Description: `Returns at once; 'scrfs wait --for flushed' waits for the end.

Examples:
  scrfs flush /scr

Exit codes: 3 no mount there, 10 the daemon does not answer.`,
		Action: func(c *urfave.Context) error {
			m, err := mountAt(c)
			if err != nil {
				return err
			}
			return m.call(c.Context, "flush", nil, nil)
		},
	}
}

func completeCommand() *urfave.Command {
	return &urfave.Command{
		Name:      "complete",
		Usage:     "say that the dataset a file or directory belongs to is complete",
		ArgsUsage: "PATH",
		Description: `Ends the dataset at once instead of after the quiet time. With --invalid it is
thrown away: never protected, flushed or offered to a restart.

Examples:
  scrfs complete /scr/ckpt.0010
  scrfs complete --invalid /scr/ckpt.0010

Exit codes: 3 PATH belongs to no dataset.`,
		Flags: []urfave.Flag{&urfave.BoolFlag{Name: "invalid", Usage: "the dataset is not valid"}},
		Action: func(c *urfave.Context) error {
			if c.NArg() != 1 {
				return cli.Usagef("one path is wanted, got %d", c.NArg())
			}
			return setComplete(c.Args().First(), !c.Bool("invalid"))
		},
	}
}
