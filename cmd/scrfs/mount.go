package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	urfave "github.com/urfave/cli/v2"

	"github.com/scrfs/scrfs/cmd/internal/cli"
	"github.com/scrfs/scrfs/daemon"
)

func mountCommand() *urfave.Command {
	return &urfave.Command{
		Name:  "mount",
		Usage: "mount a prefix directory on this node",
		Description: `Returns when programs can use the mount; the daemon goes on in the background.
Every node of a job runs the same command with the same --nodes.

Examples:
  scrfs mount --prefix /p/sim1
      one node, mounted over the prefix directory itself
  scrfs mount --prefix /p/sim1 --mountpoint /scr --nodes 'atlas[1-4]'
      in the prolog of a job of four nodes
  scrfs mount --prefix /p/sim1 --mountpoint /mnt/a --node a \
      --nodes a=127.0.0.1:7001,b=127.0.0.1:7002
      one of two mounts on the same machine

Exit codes: 2 a setting is wrong, 3 no such directory, 6 no room for a cache,
7 not permitted, 8 the mount point, node or prefix directory is in use, 9 no
FUSE, 10 the other nodes of the job do not answer.`,
		Flags: append(cli.SettingFlags(),
			&urfave.StringFlag{Name: "mountpoint", Aliases: []string{"m"}, Usage: "where programs see the tree (default: the prefix directory itself)"},
			&urfave.StringFlag{Name: "nodes", Usage: "nodes of the job: a host list, or `NAME=ADDRESS:PORT,...`"},
			&urfave.StringFlag{Name: "node", Usage: "name of this node (default: the host name)"},
			&urfave.StringFlag{Name: "listen", Usage: "address for the other nodes, as `HOST:PORT` (SCRFS_LISTEN)"},
			&urfave.BoolFlag{Name: "foreground", Aliases: []string{"f"}, Usage: "stay in the foreground; log to standard error"},
			&urfave.BoolFlag{Name: "no-passthrough", Usage: "send all data through the daemon, for comparison"},
			&urfave.BoolFlag{Name: "force", Usage: "mount although processes already work below the prefix directory"},
			&urfave.DurationFlag{Name: "start-within", Value: 30 * time.Second, Usage: "how long to wait for the other nodes"},
		),
		Action: mount,
	}
}

func mount(c *urfave.Context) error {
	if c.NArg() > 0 {
		return cli.Usagef("mount takes no arguments, got %q: directories are given by --prefix and --mountpoint", c.Args().First())
	}
	extra := map[string]string{}
	if c.IsSet("listen") {
		extra["SCRFS_LISTEN"] = c.String("listen")
	}
	cfg, err := cli.Settings(c, extra)
	if err != nil {
		return err
	}
	if !cfg.Enable {
		fmt.Fprintln(c.App.Writer, "scrfs: SCR_ENABLE is 0: nothing is mounted")
		return nil
	}
	o, err := mountOptions(c, cfg)
	if err != nil {
		return err
	}
	if err := checkMount(o, c.Bool("force")); err != nil {
		return err
	}
	if !c.Bool("foreground") {
		return inBackground(c, o)
	}
	return serve(c, o)
}

// serve runs the daemon in this process until it is unmounted or told to end.
func serve(c *urfave.Context, o daemon.Options) error {
	ready := readyPipe()
	if err := os.Chdir("/"); err != nil {
		// Where the command was given must not be kept busy by the daemon.
		return err
	}
	n, err := daemon.Start(c.Context, o)
	if err != nil {
		err = startError(err, o)
		ready.failed(err)
		return err
	}
	if ok, why := n.Passthrough(); !ok {
		o.Log.Warn("data goes through the daemon, at about half the speed", slog.String("why", why))
	}
	o.Log.Info("mounted", slog.String("prefix", o.Prefix), slog.String("mountpoint", o.Mountpoint), slog.String("node", o.Node))
	ready.done()
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(stop)
	gone := make(chan struct{})
	go func() { n.Wait(); close(gone) }()
	select {
	case <-gone:
	case <-stop:
	case <-c.Context.Done():
	}
	return n.Stop()
}

// logTo opens the daemon's log in the control directory.
func logTo(o daemon.Options) (*os.File, error) {
	if err := os.MkdirAll(o.ControlDir, 0o700); err != nil {
		return nil, fmt.Errorf("control directory: %w", err)
	}
	return os.OpenFile(filepath.Join(o.ControlDir, "scrfs.log"), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
}

func unmountCommand() *urfave.Command {
	return &urfave.Command{
		Name:      "unmount",
		Usage:     "end a mount",
		ArgsUsage: "MOUNTPOINT",
		Description: `Waits until the datasets are as safe as --wait says, then unmounts and ends the
daemon. What is not on the prefix directory by then stays in the cache for
scr-postrun.

Examples:
  scrfs unmount --wait flushed /p/sim1
  scrfs unmount --force /scr        although programs have files open

Exit codes: 3 no mount there, 8 programs have files open, 10 the daemon does
not answer (unmount --force cleans up).`,
		Flags: []urfave.Flag{
			&urfave.StringFlag{Name: "wait", Usage: "wait until every dataset is `STATE`: protected or flushed"},
			&urfave.DurationFlag{Name: "timeout", Usage: "wait no longer than this (default: no limit)"},
			&urfave.BoolFlag{Name: "force", Usage: "unmount although files are open"},
		},
		Action: unmount,
	}
}

func unmount(c *urfave.Context) error {
	m, err := mountAt(c)
	if err != nil {
		return err
	}
	if state := c.String("wait"); state != "" {
		if err := waitFor(c, m, state, c.Duration("timeout")); err != nil {
			return err
		}
	}
	flags := 0
	if c.Bool("force") {
		flags = syscall.MNT_DETACH
	}
	if err := syscall.Unmount(m.Mountpoint, flags); err != nil {
		return cli.Hint(fmt.Errorf("unmount %s: %w", m.Mountpoint, err),
			"programs still use it ('fuser -m %s' names them); --force unmounts all the same", m.Mountpoint)
	}
	return awaitEnd(c.Context, m)
}

// awaitEnd waits until the daemon has left: only then may the caller take the
// cache away or mount again.
func awaitEnd(ctx context.Context, m mounted) error {
	t := time.NewTicker(10 * time.Millisecond)
	defer t.Stop()
	for {
		if !m.answers(ctx) {
			return nil
		}
		select {
		case <-t.C:
		case <-ctx.Done():
			return fmt.Errorf("wait for the daemon of %s to end: %w", m.Mountpoint, context.Cause(ctx))
		}
	}
}
