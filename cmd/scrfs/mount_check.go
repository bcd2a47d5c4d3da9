package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/scrfs/scrfs/cmd/internal/cli"
	"github.com/scrfs/scrfs/config"
	"github.com/scrfs/scrfs/control"
	"github.com/scrfs/scrfs/daemon"
	"github.com/scrfs/scrfs/fusefs"
)

// leastCacheBytes is what a cache must have room for, or it is none.
const leastCacheBytes = 16 << 20

// networkTypes are file systems that no node-local cache lies on (statfs(2)).
var networkTypes = map[int64]string{
	0x6969: "NFS", 0xff534d42: "CIFS", 0xfe534d42: "SMB2", 0x0bd00bd0: "Lustre", 0x47504653: "GPFS", 0xaad7aaea: "PanFS", 0x19830326: "BeeGFS", 0x00c36400: "Ceph",
}

// checkMount finds what stands in the way before anything is changed.
func checkMount(o daemon.Options, force bool) error {
	if fusefs.StaleMount(o.Mountpoint) {
		// A daemon died there: nobody can use the mount any more.
		if err := syscall.Unmount(o.Mountpoint, syscall.MNT_DETACH); err != nil {
			return fmt.Errorf("clean up the dead mount on %s: %w", o.Mountpoint, err)
		}
	}
	if m, ok, err := findMount(o.Mountpoint); err != nil {
		return err
	} else if ok && m.Mountpoint == o.Mountpoint {
		return cli.Hint(fmt.Errorf("mount point %s: a scrfs mount %w", o.Mountpoint, cli.ErrTaken), "'scrfs unmount %s' ends it", o.Mountpoint)
	}
	if err := checkDir("prefix directory", o.Prefix, "make it on the parallel file system, or name another with --prefix"); err != nil {
		return err
	}
	if err := checkDir("mount point", o.Mountpoint, "make it, or name another with --mountpoint"); err != nil {
		return err
	}
	if err := syscall.Access(o.Prefix, 2 /* W_OK */); err != nil {
		return fmt.Errorf("prefix directory %s cannot be written: %w", o.Prefix, err)
	}
	if err := checkFUSE(); err != nil {
		return err
	}
	if err := checkCache(o); err != nil {
		return err
	}
	if err := control.Call(context.Background(), o.ControlDir, "ping", nil, nil); !errors.Is(err, control.ErrNoDaemon) {
		return cli.Hint(fmt.Errorf("control directory %s: node %s of job %s %w by another daemon", o.ControlDir, o.Node, o.JobID, cli.ErrTaken),
			"unmount it, or give this one its own --job-id, --cache-base and --control-base")
	}
	if o.Mountpoint == o.Prefix && !force {
		return checkInside(o.Prefix)
	}
	return nil
}

func checkDir(what, dir, hint string) error {
	st, err := os.Stat(dir)
	switch {
	case err != nil:
		return cli.Hint(fmt.Errorf("%s: %w", what, err), "%s", hint)
	case !st.IsDir():
		return cli.Hint(cli.Usagef("%s %s is not a directory", what, dir), "%s", hint)
	}
	return nil
}

func checkFUSE() error {
	f, err := os.OpenFile("/dev/fuse", os.O_RDWR, 0)
	if err != nil {
		return cli.Hint(fmt.Errorf("%w: %w", cli.ErrNoFUSE, err), "load the kernel module 'fuse' and see that /dev/fuse can be opened")
	}
	return f.Close()
}

func checkCache(o daemon.Options) error {
	base := o.CacheDir
	for {
		var st syscall.Statfs_t
		err := syscall.Statfs(base, &st)
		if errors.Is(err, syscall.ENOENT) && base != "/" {
			base = filepath.Dir(base)
			continue
		}
		if err != nil {
			return fmt.Errorf("cache directory %s: %w", o.CacheDir, err)
		}
		if name, network := networkTypes[int64(uint32(st.Type))]; network {
			return cli.Hint(cli.Usagef("cache directory %s lies on a network file system (%s)", o.CacheDir, name), "name node-local storage with --cache-base")
		}
		if free := int64(st.Bavail) * st.Bsize; free < leastCacheBytes {
			return cli.Hint(fmt.Errorf("cache directory %s has room for %d bytes, at least %d are needed: %w", o.CacheDir, free, leastCacheBytes, syscall.ENOSPC),
				"remove what fills it, or name another place with --cache-base")
		}
		return nil
	}
}

// checkNodeDirs looks whether this node has the directories that CACHEDIR and
// CNTLDIR lines ask for.
func checkNodeDirs(cfg *config.Config) error {
	for _, d := range append(slices.Clone(cfg.ControlDirs), cfg.CacheDirs...) {
		var st syscall.Statfs_t
		if err := syscall.Statfs(d.Path, &st); err != nil {
			return fmt.Errorf("%s asks for directory %s: %w", d.Source, d.Path, err)
		}
		if total := int64(st.Blocks) * st.Bsize; total < d.Bytes {
			return fmt.Errorf("%s asks for %d bytes in %s, it has %d: %w", d.Source, d.Bytes, d.Path, total, syscall.ENOSPC)
		}
	}
	return nil
}

// checkInside refuses to mount over a directory that processes work in: they
// would go on below the mount, past the cache.
func checkInside(prefix string) error {
	procs, err := filepath.Glob("/proc/[0-9]*/cwd")
	if err != nil {
		return err
	}
	real, err := filepath.EvalSymlinks(prefix)
	if err != nil {
		return err
	}
	var inside []string
	for _, link := range procs {
		wd, err := os.Readlink(link)
		if err != nil || wd != real && !strings.HasPrefix(wd, real+"/") {
			continue
		}
		if pid := strings.Split(link, "/")[2]; pid != strconv.Itoa(os.Getpid()) {
			inside = append(inside, pid)
		}
	}
	if len(inside) == 0 {
		return nil
	}
	return cli.Hint(fmt.Errorf("prefix directory %s: it %w as working directory by process %s, which would write past the mount",
		prefix, cli.ErrTaken, strings.Join(inside, ", ")), "change directory first (cd /), mount on another --mountpoint, or use --force")
}

// startError adds the next step to what went wrong while a daemon started.
func startError(err error, o daemon.Options) error {
	switch {
	case errors.Is(err, daemon.ErrPrefixTaken):
		return cli.Hint(fmt.Errorf("%w: %w", err, cli.ErrTaken), "wait for that job to end; two jobs must not share a prefix directory")
	case errors.Is(err, syscall.EADDRINUSE):
		return cli.Hint(fmt.Errorf("%w: %w", err, cli.ErrTaken), "choose another port with --listen or --nodes")
	case errors.Is(err, context.DeadlineExceeded):
		return cli.Hint(fmt.Errorf("%w: %w", err, control.ErrNoDaemon), "see that the other nodes of %s are mounted and reachable", o.JobID)
	}
	return err
}
