package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"time"
)

// load is one kind of work. Its cost is a time: of each byte, or of each file.
type load struct {
	name      string
	required  float64 // least ratio to the bare file system, or 0
	aim       float64
	perFile   bool // cost is the time for a file, and required is against bindfs
	run       func(ctx context.Context, dir string) (time.Duration, error)
	unitBytes int64 // what a round moves, for MB/s
}

// loads are all of them.
func loads(o options) []load {
	var all []load
	for _, writers := range []int{1, 4} {
		for _, block := range []int64{4 << 10, 64 << 10, 1 << 20, 4 << 20} {
			l := load{required: 0.90, aim: 0.95, unitBytes: o.bytes}
			if block == 4<<10 {
				l.required, l.aim = 0.85, 0.90
			}
			l.name = fmt.Sprintf("write, %s blocks, %s", blockName(block), writerName(writers))
			l.run = func(ctx context.Context, dir string) (time.Duration, error) {
				if err := empty(dir); err != nil {
					return 0, err
				}
				return fio(ctx, dir, "write", block, o.bytes/int64(writers), writers)
			}
			all = append(all, l)
		}
	}
	for _, block := range []int64{64 << 10, 1 << 20} {
		all = append(all, load{
			name: fmt.Sprintf("read, %s blocks", blockName(block)), required: 0.95, aim: 1, unitBytes: o.bytes,
			run: func(ctx context.Context, dir string) (time.Duration, error) {
				return fio(ctx, dir, "read", block, o.bytes, 1)
			},
		})
	}
	return append(all,
		load{name: "create, write 4 KiB, close", perFile: true, required: 1.3, run: func(_ context.Context, dir string) (time.Duration, error) {
			if err := empty(dir); err != nil {
				return 0, err
			}
			return create(dir, o.files)
		}},
		load{name: "stat", perFile: true, run: func(_ context.Context, dir string) (time.Duration, error) {
			if err := refill(dir, o.files); err != nil {
				return 0, err
			}
			return stat(dir, o.files)
		}},
		load{name: "unlink", perFile: true, run: func(_ context.Context, dir string) (time.Duration, error) {
			if err := refill(dir, o.files); err != nil {
				return 0, err
			}
			return unlink(dir, o.files)
		}},
	)
}

func blockName(bytes int64) string {
	if bytes >= 1<<20 {
		return fmt.Sprintf("%d MiB", bytes>>20)
	}
	return fmt.Sprintf("%d KiB", bytes>>10)
}

func writerName(n int) string {
	if n == 1 {
		return "one writer"
	}
	return fmt.Sprintf("%d writers", n)
}

// fio runs one job of fio, a file for each writer, and returns its run time.
// A job that reads makes its files the first time.
func fio(ctx context.Context, dir, mode string, block, bytes int64, writers int) (time.Duration, error) {
	args := []string{
		"--name=" + mode, "--directory=" + dir, "--rw=" + mode, fmt.Sprintf("--bs=%d", block), fmt.Sprintf("--size=%d", bytes),
		fmt.Sprintf("--numjobs=%d", writers), "--ioengine=psync", "--fallocate=none", "--invalidate=0", "--thread",
		"--group_reporting", "--output-format=json",
	}
	if mode == "write" {
		args = append(args, "--create_on_open=1")
	}
	out, err := exec.CommandContext(ctx, "fio", args...).Output()
	if err != nil {
		return 0, fmt.Errorf("fio in %s: %w: %s", dir, err, out)
	}
	type side struct {
		Bytes   int64   `json:"io_bytes"`
		Rate    float64 `json:"bw_bytes"`
		Runtime int64   `json:"runtime"` // ms
	}
	var answer struct {
		Jobs []struct {
			Read, Write side
			Error       int
		}
	}
	if err := json.Unmarshal(out, &answer); err != nil {
		return 0, fmt.Errorf("fio printed %q: %w", out, err)
	}
	if len(answer.Jobs) != 1 || answer.Jobs[0].Error != 0 {
		return 0, fmt.Errorf("fio in %s: %s", dir, out)
	}
	s := answer.Jobs[0].Write
	if mode == "read" {
		s = answer.Jobs[0].Read
	}
	if s.Bytes != bytes*int64(writers) || s.Runtime == 0 {
		return 0, fmt.Errorf("fio in %s moved %d bytes in %d ms, want %d: choose more -bytes", dir, s.Bytes, s.Runtime, bytes*int64(writers))
	}
	return time.Duration(s.Runtime) * time.Millisecond, nil
}

func fileName(dir string, i int) string { return filepath.Join(dir, fmt.Sprintf("rank_%d.dat", i)) }

var payload = make([]byte, 4096)

// create makes files, writes 4 KiB to each, and closes it. It keeps to the
// bare system calls: what Go's runtime does around them is not to be measured.
func create(dir string, n int) (time.Duration, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	names := make([]string, n)
	for i := range names {
		names[i] = fileName(dir, i)
	}
	begin := time.Now()
	for _, name := range names {
		fd, err := syscall.Open(name, syscall.O_CREAT|syscall.O_WRONLY|syscall.O_EXCL, 0o644)
		if err != nil {
			return 0, fmt.Errorf("create %s: %w", name, err)
		}
		if _, err := syscall.Write(fd, payload); err != nil {
			return 0, fmt.Errorf("write %s: %w", name, err)
		}
		if err := syscall.Close(fd); err != nil {
			return 0, fmt.Errorf("close %s: %w", name, err)
		}
	}
	return time.Since(begin), nil
}

func stat(dir string, n int) (time.Duration, error) {
	begin := time.Now()
	for i := range n {
		var st syscall.Stat_t
		if err := syscall.Lstat(fileName(dir, i), &st); err != nil {
			return 0, err
		}
		if st.Size != int64(len(payload)) {
			return 0, fmt.Errorf("%s has %d bytes", fileName(dir, i), st.Size)
		}
	}
	return time.Since(begin), nil
}

func unlink(dir string, n int) (time.Duration, error) {
	begin := time.Now()
	for i := range n {
		if err := syscall.Unlink(fileName(dir, i)); err != nil {
			return 0, err
		}
	}
	return time.Since(begin), nil
}

// refill makes the files of create anew.
func refill(dir string, n int) error {
	if err := empty(dir); err != nil {
		return err
	}
	_, err := create(dir, n)
	return err
}

// empty removes what earlier rounds left.
func empty(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	var errs []error
	for _, e := range entries {
		errs = append(errs, os.Remove(filepath.Join(dir, e.Name())))
	}
	return errors.Join(errs...)
}
