package main

import (
	"fmt"
	"strconv"
	"strings"

	urfave "github.com/urfave/cli/v2"

	"github.com/scrfs/scrfs/cmd/internal/cli"
	"github.com/scrfs/scrfs/hostlist"
)

func hostsCommand() *urfave.Command {
	return &urfave.Command{
		Name:  "hosts",
		Usage: "calculate with host lists as atlas[3,5-7]",
		Description: `LIST is a host list: names separated by commas, ranges in brackets.

Examples:
  scrfs hosts expand 'atlas[3,5-7]'               atlas3,atlas5,atlas6,atlas7
  scrfs hosts compress atlas5,atlas3,atlas4       atlas[3-5]
  scrfs hosts minus 'atlas[1-9]' 'atlas[2-4]'     atlas[1,5-9]
  scrfs hosts intersect 'atlas[1-5]' 'atlas[4-9]' atlas[4-5]
  scrfs hosts nth 2 'atlas[3,5-7]'                atlas5
  scrfs hosts count 'atlas[3,5-7]'                4

Exit codes: 2 a list that is none, or a host that it does not have.`,
		Subcommands: []*urfave.Command{
			hostsSub("expand", "LIST...", "all hosts, in the order given, duplicates kept", 1, -1, func(a []string) (any, error) {
				return expandAll(a)
			}),
			hostsSub("compress", "LIST...", "the shortest list, sorted by number, duplicates kept", 1, -1, func(a []string) (any, error) {
				hosts, err := expandAll(a)
				return hostlist.Compress(hosts), err
			}),
			hostsSub("minus", "LIST LIST", "hosts of the first list that are not in the second", 2, 2, func(a []string) (any, error) {
				return hostsOfTwo(a, hostlist.Minus)
			}),
			hostsSub("intersect", "LIST LIST", "hosts of the first list that are in the second", 2, 2, func(a []string) (any, error) {
				return hostsOfTwo(a, hostlist.Intersect)
			}),
			hostsSub("nth", "N LIST", "the N-th host, counted from 1", 2, 2, func(a []string) (any, error) {
				n, err := strconv.Atoi(a[0])
				if err != nil {
					return nil, fmt.Errorf("%q is no number", a[0])
				}
				return hostlist.Nth(a[1], n)
			}),
			hostsSub("count", "LIST...", "number of hosts", 1, -1, func(a []string) (any, error) {
				hosts, err := expandAll(a)
				return len(hosts), err
			}),
		},
	}
}

// hostsSub is one calculation with low to high arguments; high -1 is any.
func hostsSub(name, args, usage string, low, high int, do func([]string) (any, error)) *urfave.Command {
	return &urfave.Command{
		Name: name, ArgsUsage: args, Usage: usage,
		Flags: []urfave.Flag{&urfave.BoolFlag{Name: "json", Usage: "print JSON"}},
		Action: func(c *urfave.Context) error {
			list := c.Args().Slice()
			if len(list) < low || high >= 0 && len(list) > high {
				return cli.Usagef("hosts %s: want %s", name, args)
			}
			result, err := do(list)
			if err != nil {
				return cli.Usagef("hosts %s: %w", name, err)
			}
			if c.Bool("json") {
				return writeJSON(c.App.Writer, result)
			}
			if hosts, ok := result.([]string); ok {
				result = strings.Join(hosts, ",")
			}
			_, err = fmt.Fprintln(c.App.Writer, result)
			return err
		},
	}
}

func expandAll(lists []string) ([]string, error) {
	return hostlist.Expand(strings.Join(lists, ","))
}

// hostsOfTwo calculates with two lists; the result is as short as can be.
func hostsOfTwo(lists []string, calculate func(a, b []string) []string) (any, error) {
	a, err := hostlist.Expand(lists[0])
	if err != nil {
		return nil, err
	}
	b, err := hostlist.Expand(lists[1])
	if err != nil {
		return nil, err
	}
	return hostlist.Compress(calculate(a, b)), nil
}
