package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// system is one of the file systems that are compared.
type system struct {
	name  string
	dir   string // where its loads work
	every int    // it takes part in each so-many-th round
	close func() error
}

// systems makes them all below dir, which is on the file system to measure on.
// What is not installed is left out, and said.
func systems(ctx context.Context, o options, dir string) (all []system, err error) {
	defer func() {
		if err != nil {
			err = errors.Join(err, closeAll(all))
		}
	}()
	bare := filepath.Join(dir, "bare")
	all = append(all, system{"bare", bare, 1, func() error { return nil }})
	d, err := mount(ctx, o, filepath.Join(dir, "scrfs"), "a", "")
	if err != nil {
		return all, err
	}
	all = append(all, system{"scrfs", filepath.Join(d.mountpoint, "ckpt.1"), 1, d.close})
	for _, other := range []struct {
		name string
		args func(below, mnt string) []string
	}{
		{"bindfs", func(below, mnt string) []string { return []string{below, mnt} }},
		{"fuse-overlayfs", func(below, mnt string) []string {
			layers := fmt.Sprintf("lowerdir=%s/lower,upperdir=%s/upper,workdir=%s/work", below, below, below)
			return []string{"-o", layers, mnt}
		}},
	} {
		if _, err := exec.LookPath(other.name); err != nil {
			fmt.Fprintf(o.log, "bench: %v: left out\n", err)
			continue
		}
		below, mnt := filepath.Join(dir, other.name), filepath.Join(dir, other.name+".mnt")
		for _, d := range []string{below, mnt, below + "/lower", below + "/upper", below + "/work"} {
			if err := os.MkdirAll(d, 0o755); err != nil {
				return all, err
			}
		}
		if err := run(ctx, other.name, other.args(below, mnt)...); err != nil {
			return all, err
		}
		all = append(all, system{other.name, filepath.Join(mnt, "ckpt.1"), 4, func() error { return detach(mnt) }})
	}
	for _, s := range all {
		if err := os.MkdirAll(s.dir, 0o755); err != nil {
			return all, err
		}
	}
	return all, nil
}

func closeAll(all []system) error {
	var errs []error
	for _, s := range all {
		errs = append(errs, s.close())
	}
	return errors.Join(errs...)
}

func detach(mnt string) error {
	if err := syscall.Unmount(mnt, syscall.MNT_DETACH); err != nil {
		return fmt.Errorf("unmount %s: %w", mnt, err)
	}
	return nil
}

// run runs a helper program to its end.
func run(ctx context.Context, name string, args ...string) error {
	out, err := exec.CommandContext(ctx, name, args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, strings.TrimSpace(string(out)))
	}
	return nil
}

// build builds scrfs from the tree this program was started in.
func build(ctx context.Context, dir string) (string, error) {
	bin := filepath.Join(dir, "scrfs-program")
	return bin, run(ctx, "go", "build", "-trimpath", "-o", bin, "github.com/scrfs/scrfs/cmd/scrfs")
}

// machine is a line on where the figures are from.
func machine() string {
	var u syscall.Utsname
	if err := syscall.Uname(&u); err != nil {
		return "unknown machine"
	}
	release := make([]byte, 0, len(u.Release))
	for _, c := range u.Release {
		if c == 0 {
			break
		}
		release = append(release, byte(c))
	}
	load, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "Linux " + string(release)
	}
	return fmt.Sprintf("%s, Linux %s, load at the beginning %s", processor(), release, strings.Fields(string(load))[0])
}

// processor is the number of cores and their name.
func processor() string {
	text, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return "unknown processor"
	}
	cores, name := 0, ""
	for line := range strings.Lines(string(text)) {
		if k, v, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(k) == "model name" {
			cores, name = cores+1, strings.TrimSpace(v)
		}
	}
	return fmt.Sprintf("%d cores of %s", cores, name)
}
