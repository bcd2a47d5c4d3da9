package main

import (
	"context"
	"errors"
	"net"
	"path/filepath"
	"strings"
)

// addresses gives each name an address on this machine that is free now.
func addresses(names []string) (string, error) {
	var list []string
	for _, name := range names {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return "", err
		}
		defer l.Close() // all are held until each has another one
		list = append(list, name+"="+l.Addr().String())
	}
	return strings.Join(list, ","), nil
}

// mountTogether starts the daemons of a job at the same time, as its prolog
// does: each waits for the others. What was mounted is returned also with an
// error.
func mountTogether(ctx context.Context, o options, dir string, names []string, nodes string) ([]mounted, error) {
	type answer struct {
		m   mounted
		err error
	}
	answers := make(chan answer)
	for _, name := range names {
		go func() {
			m, err := mount(ctx, o, filepath.Join(dir, name), name, nodes)
			answers <- answer{m, err}
		}()
	}
	var mounts []mounted
	var errs []error
	for range names {
		a := <-answers
		if a.err == nil {
			mounts = append(mounts, a.m)
		}
		errs = append(errs, a.err)
	}
	return mounts, errors.Join(errs...)
}
