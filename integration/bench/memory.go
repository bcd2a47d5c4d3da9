package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// memory prints what the daemon holds with many files in its cache, and
// whether it grows when files come and go.
func memory(ctx context.Context, o options, dir string) (err error) {
	if !o.only.MatchString("memory") {
		return nil
	}
	m, err := mount(ctx, o, filepath.Join(dir, "memory"), "a", "")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.close()) }()
	work := filepath.Join(m.mountpoint, "ckpt.1")
	if err := os.Mkdir(work, 0o755); err != nil {
		return err
	}
	before, err := m.residentBytes()
	if err != nil {
		return err
	}
	took, err := create(work, o.many)
	if err != nil {
		return err
	}
	full, err := m.residentBytes()
	if err != nil {
		return err
	}
	fmt.Fprintf(o.out, "Daemon: %s resident after the mount, %s with %d cached files in one directory (%.0f us each).\n",
		mebibytes(before), mebibytes(full), o.many, float64(took.Microseconds())/float64(o.many))
	if err := empty(work); err != nil {
		return err
	}
	fmt.Fprintf(o.out, "Creates and unlinks, 500 at a time:")
	const batch = 500
	for done := 0; done < o.churn; done += batch {
		if done%(max(o.churn/8, batch)/batch*batch) == 0 {
			if err := printResident(o, m, done); err != nil {
				return err
			}
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if _, err := create(work, batch); err != nil {
			return err
		}
		if _, err := unlink(work, batch); err != nil {
			return err
		}
	}
	if err := printResident(o, m, o.churn); err != nil {
		return err
	}
	fmt.Fprint(o.out, ".\n\n")
	return nil
}

func printResident(o options, m mounted, done int) error {
	bytes, err := m.residentBytes()
	if err != nil {
		return err
	}
	fmt.Fprintf(o.out, " %s after %d;", mebibytes(bytes), done)
	return nil
}

func mebibytes(n int64) string { return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20)) }

// fourMounts prints how many files four mounts of one job on this machine make
// in a second, each in a directory of its own and all in the same one.
func fourMounts(ctx context.Context, o options, dir string) (err error) {
	if !o.only.MatchString("four mounts") {
		return nil
	}
	names := []string{"a", "b", "c", "d"}
	nodes, err := addresses(names)
	if err != nil {
		return err
	}
	mounts, err := mountTogether(ctx, o, filepath.Join(dir, "four"), names, nodes)
	defer func() {
		for _, m := range mounts {
			err = errors.Join(err, m.close())
		}
	}()
	if err != nil {
		return err
	}
	for _, shared := range []bool{false, true} {
		total, took, err := createTogether(mounts, o.files, shared)
		if err != nil {
			return err
		}
		where := "each mount in a directory of its own"
		if shared {
			where = "all in one directory"
		}
		fmt.Fprintf(o.out, "Four mounts on this machine, %s: %.0f creates per second together.\n", where, float64(total)/took.Seconds())
	}
	return nil
}

// createTogether makes files through all mounts at the same time.
func createTogether(mounts []mounted, files int, shared bool) (int, time.Duration, error) {
	dirs := make([]string, len(mounts))
	for i, m := range mounts {
		dirs[i] = filepath.Join(m.mountpoint, fmt.Sprintf("ckpt.%d", 10+i))
		if shared {
			dirs[i] = filepath.Join(m.mountpoint, "ckpt.20", fmt.Sprint("rank", i))
		}
		if err := os.MkdirAll(dirs[i], 0o755); err != nil {
			return 0, 0, err
		}
	}
	errs := make(chan error)
	begin := time.Now()
	for _, d := range dirs {
		go func() {
			_, err := create(d, files)
			errs <- err
		}()
	}
	var all []error
	for range dirs {
		all = append(all, <-errs)
	}
	return files * len(dirs), time.Since(begin), errors.Join(all...)
}
