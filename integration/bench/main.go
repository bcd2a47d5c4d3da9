package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"syscall"
)

// options are the command line.
type options struct {
	rounds int
	bytes  int64 // of one writer
	files  int   // of one round of the loads of small files
	base   string
	scrfs  string
	only   *regexp.Regexp
	many   int // files in the cache when memory is measured
	churn  int // creates and unlinks that memory must survive
	out    io.Writer
	log    io.Writer
}

func main() {
	o := options{out: os.Stdout, log: os.Stderr}
	flag.IntVar(&o.rounds, "rounds", 21, "rounds of each load")
	flag.Int64Var(&o.bytes, "bytes", 256<<20, "`bytes` that a writer writes in a round")
	flag.IntVar(&o.files, "files", 500, "files that a round of small files makes")
	flag.StringVar(&o.base, "base", "/dev/shm", "`directory` on the file system to measure on, with 3 GiB free")
	flag.StringVar(&o.scrfs, "scrfs", "", "the `program` to measure (default: built from this tree)")
	flag.IntVar(&o.many, "many", 10_000, "files in the cache when the daemon's memory is measured")
	flag.IntVar(&o.churn, "churn", 200_000, "creates and unlinks when the growth of the daemon is measured")
	only := flag.String("only", "", "run only the loads whose names match this regular `expression`")
	flag.Parse()
	var err error
	if o.only, err = regexp.Compile(*only); err != nil {
		fmt.Fprintln(os.Stderr, "bench: error:", err)
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := bench(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "bench: error:", err)
		os.Exit(1)
	}
}

// bench runs everything that o.only lets pass and prints it.
func bench(ctx context.Context, o options) (err error) {
	if os.Getuid() != 0 {
		return errors.New("the kernel gives passthrough to root only: run this as root")
	}
	dir, err := os.MkdirTemp(o.base, "scrfs-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if o.scrfs == "" {
		if o.scrfs, err = build(ctx, dir); err != nil {
			return err
		}
	}
	fmt.Fprintf(o.out, "%s\n\n", machine())
	for _, part := range []func(context.Context, options, string) error{compare, memory, fourMounts} {
		if err := part(ctx, o, dir); err != nil {
			return err
		}
	}
	return nil
}
