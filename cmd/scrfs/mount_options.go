package main

import (
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	urfave "github.com/urfave/cli/v2"

	"github.com/scrfs/scrfs/cmd/internal/cli"
	"github.com/scrfs/scrfs/config"
	"github.com/scrfs/scrfs/daemon"
	"github.com/scrfs/scrfs/hostlist"
	"github.com/scrfs/scrfs/lifecycle"
	"github.com/scrfs/scrfs/peer"
	"github.com/scrfs/scrfs/redset"
	"github.com/scrfs/scrfs/scr"
	"github.com/scrfs/scrfs/space"
)

// defaultPort is where a node listens if only host names are given.
const defaultPort = "7117"

// mountOptions turns settings and flags into what a daemon is made from.
func mountOptions(c *urfave.Context, cfg *config.Config) (daemon.Options, error) {
	o := daemon.Options{
		Prefix: cfg.Prefix, Mountpoint: c.String("mountpoint"), CacheBase: cfg.CacheBase,
		User: cfg.User, JobID: cfg.JobID, JobName: cfg.JobName, Cluster: cfg.Cluster,
		Node: c.String("node"), Listen: cfg.Listen, Plain: cfg.Transport == config.Plain,
		DownAfter: cfg.PeerTimeout, StartWithin: c.Duration("start-within"),
		FlushBytesPerSecond: cfg.FlushBytesPerSecond, NoPassthrough: c.Bool("no-passthrough"),
		PurgeCache: cfg.CachePurge, EncodeBytes: int(cfg.EncodeBufferBytes), CopyBytes: int(cfg.CopyBufferBytes),
		Log: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: logLevel(cfg.Debug)})),
	}
	if o.Mountpoint == "" {
		o.Mountpoint = o.Prefix
	}
	var err error
	if o.Mountpoint, err = filepath.Abs(o.Mountpoint); err != nil {
		return o, err
	}
	if o.JobID == "" {
		o.JobID = "0"
	}
	dir, err := scr.JobDir(o.User, o.JobID)
	if err != nil {
		return o, &cli.UsageError{Err: err}
	}
	o.CacheDir, o.ControlDir = filepath.Join(cfg.CacheBase, dir), filepath.Join(cfg.ControlBase, dir)
	if err := setUser(&o); err != nil {
		return o, err
	}
	if err := setNodes(c, cfg, &o); err != nil {
		return o, err
	}
	if err := checkNodeDirs(cfg); err != nil {
		return o, err
	}
	return o, setPolicy(cfg, &o)
}

// logLevel is what SCR_DEBUG means to the daemon's log.
func logLevel(debug int) slog.Level {
	if debug > 0 {
		return slog.LevelDebug
	}
	return slog.LevelInfo
}

// setUser finds out who is served.
func setUser(o *daemon.Options) error {
	u, err := user.Lookup(o.User)
	if err != nil {
		return cli.Usagef("user %q: %w", o.User, err)
	}
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		return fmt.Errorf("user %q: uid %q: %w", o.User, u.Uid, err)
	}
	o.UID = uint32(uid)
	return nil
}

// setNodes takes the nodes of the job from --nodes, else from SCR_NODELIST.
func setNodes(c *urfave.Context, cfg *config.Config, o *daemon.Options) error {
	if o.Node == "" {
		host, err := os.Hostname()
		if err != nil {
			return err
		}
		o.Node, _, _ = strings.Cut(host, ".")
	}
	list := cfg.NodeList
	if c.IsSet("nodes") {
		list = c.String("nodes")
	}
	if list == "" {
		if o.Listen == "" {
			o.Listen = "127.0.0.1:0"
		}
		o.Members = []peer.Member{{Name: peer.NodeID(o.Node), Addr: o.Listen}}
		return nil
	}
	names, err := hostlist.Expand(list)
	if err == nil {
		names, err = without(names, cfg.ExcludeNodes)
	}
	if err != nil {
		return &cli.UsageError{Err: err}
	}
	self := false
	for _, name := range names {
		host, addr, given := strings.Cut(name, "=")
		if !given {
			addr = net.JoinHostPort(host, defaultPort)
		}
		o.Members = append(o.Members, peer.Member{Name: peer.NodeID(host), Addr: addr})
		if host == o.Node {
			self = true
			if o.Listen == "" {
				o.Listen = addr
			}
		}
	}
	if !self {
		return cli.Hint(cli.Usagef("node %s is not among the nodes %s", o.Node, list), "name this node with --node")
	}
	return nil
}

// without takes the hosts of SCR_EXCLUDE_NODES out of the job.
func without(names []string, exclude string) ([]string, error) {
	out, err := hostlist.Expand(exclude)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(names, func(name string) bool {
		host, _, _ := strings.Cut(name, "=")
		return slices.Contains(out, host)
	}), nil
}

// setPolicy takes over the decisions that the settings make.
func setPolicy(cfg *config.Config, o *daemon.Options) error {
	ck := cfg.CheckpointFor(1)
	if len(cfg.Checkpoints) > 1 {
		return cli.Usagef("several CKPT descriptors are not carried out yet: keep one")
	}
	switch ck.Type {
	case scr.Single, scr.XOR:
	default:
		return cli.Hint(cli.Usagef("redundancy scheme %s is not carried out by the mount yet", ck.Type), "set SCR_COPY_TYPE to XOR or SINGLE")
	}
	o.FailureGroups = map[string]string{}
	for host, groups := range cfg.Groups {
		if g, ok := groups[ck.Group]; ok {
			o.FailureGroups[host] = g
		}
	}
	o.Sets = redset.Options{Scheme: ck.Type, Family: scr.F14, SetSize: ck.SetSize}
	o.Policy = lifecycle.Default()
	o.Policy.Quiet = cfg.Quiet
	o.Policy.FlushEvery = cfg.FlushEvery
	o.Policy.CacheSize = cfg.CacheSize
	o.Space = space.Limits{AmpleBytes: cfg.PassthroughFreeBytes, ReserveBytes: cfg.CacheReserveBytes}
	var err error
	o.Rules, err = routingTable(cfg)
	return err
}
