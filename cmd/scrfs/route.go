package main

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/pkg/xattr"
	urfave "github.com/urfave/cli/v2"
	"golang.org/x/sys/unix"

	"github.com/scrfs/scrfs/cmd/internal/cli"
	"github.com/scrfs/scrfs/config"
	"github.com/scrfs/scrfs/router"
	"github.com/scrfs/scrfs/scr"
)

func routeCommand() *urfave.Command {
	return &urfave.Command{
		Name:      "route",
		Usage:     "explain where paths would go",
		ArgsUsage: "PATH...",
		Description: `Says for each path, relative to the prefix directory, whether a new file of that
name begins or joins a dataset or goes to the prefix directory, and by which
rule. A trailing slash means a directory. Nothing need exist.

Examples:
  scrfs route run/ckpt.0010/ log.lammps state_100.cpt
  scrfs route --rule 'bypass *.traj' md.100.traj`,
		Flags: cli.SettingFlags(),
		Action: func(c *urfave.Context) error {
			if c.NArg() == 0 {
				return cli.Usagef("at least one path is wanted")
			}
			cfg, err := cli.Settings(c, nil)
			if err != nil {
				return err
			}
			table, err := routingTable(cfg)
			if err != nil {
				return err
			}
			for _, p := range c.Args().Slice() {
				kind := router.File
				if p[len(p)-1] == '/' {
					kind = router.Dir
				}
				fmt.Fprintln(c.App.Writer, table.Explain(filepath.ToSlash(filepath.Clean(p)), kind, router.Context{}))
			}
			return nil
		},
	}
}

// setComplete tells the mount through the attribute that programs use too.
func setComplete(path string, valid bool) error {
	value := []byte("0")
	if valid {
		value = []byte("1")
	}
	// Elsewhere the attribute would be set as any other is.
	_, err := xattr.Get(path, "user.scr.dataset")
	if errors.Is(err, unix.ENOTSUP) || errors.Is(err, unix.ENODATA) {
		return fmt.Errorf("%s belongs to no dataset: %w", path, scr.ErrNotFound)
	}
	if err != nil {
		return err
	}
	return xattr.Set(path, "user.scr.complete", value)
}

// routingTable is what a mount routes by and what route explains.
func routingTable(cfg *config.Config) (*router.Table, error) {
	rules := make([]router.Rule, len(cfg.Rules))
	for i, r := range cfg.Rules {
		rules[i] = router.Rule{Verb: router.Verb(r.Verb), Pattern: r.Pattern, Origin: r.Source.String()}
	}
	if cfg.CacheBypass || cfg.CheckpointFor(1).Bypass {
		rules = append([]router.Rule{{Verb: router.Bypass, Pattern: "**", Origin: "SCR_CACHE_BYPASS"}}, rules...)
	}
	table, err := router.Compile(rules)
	if err != nil {
		return nil, &cli.UsageError{Err: err}
	}
	return table, nil
}
