// Command demo shows scrfs at work on four emulated nodes, one line a step. It
// runs the same steps as the test of package slice; `make demo` calls it.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/scrfs/scrfs/integration/cluster"
	"github.com/scrfs/scrfs/integration/slice"
)

func main() {
	cluster.Init()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := demo(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "demo: error:", err)
		os.Exit(1)
	}
}

func demo(ctx context.Context) (err error) {
	bin, err := os.MkdirTemp("", "scrfs-demo-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(bin)) }()
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", bin, "./cmd/...").CombinedOutput(); err != nil {
		return fmt.Errorf("build: %w\n%s", err, out)
	}
	c, err := cluster.New("", cluster.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	if err := c.Up(4); err != nil {
		return err
	}
	inputs, err := filepath.Abs("integration/testdata/lammps")
	if err != nil {
		return err
	}
	step := 0
	s := slice.Slice{Cluster: c, Bin: bin, Inputs: inputs, Say: func(text string) {
		step++
		fmt.Printf("%2d  %s\n", step, text)
	}}
	if err := s.Run(ctx); err != nil {
		fmt.Fprint(os.Stderr, s.Logs())
		return err
	}
	fmt.Println("all of it held")
	return nil
}
