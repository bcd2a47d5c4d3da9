package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"
)

// figure is what the rounds of one load gave for one system.
type figure struct {
	cost   []float64 // seconds
	ratio  []float64 // the bare file system's cost in the same round, by this one's
	bindfs []float64 // this one's cost by that of bindfs in the same round
}

// compare runs each load on each system and prints a table.
func compare(ctx context.Context, o options, dir string) (err error) {
	var chosen []load
	for _, l := range loads(o) {
		if o.only.MatchString(l.name) {
			chosen = append(chosen, l)
		}
	}
	if len(chosen) == 0 {
		return nil
	}
	all, err := systems(ctx, o, dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeAll(all)) }()
	fmt.Fprint(o.out, "| load | required |")
	for _, s := range all {
		fmt.Fprintf(o.out, " %s |", s.name)
	}
	fmt.Fprint(o.out, "\n|---|---|")
	for range all {
		fmt.Fprint(o.out, "---|")
	}
	fmt.Fprintln(o.out)
	for _, l := range chosen {
		figures, err := measure(ctx, l, all, o.rounds)
		if err != nil {
			return fmt.Errorf("%s: %w", l.name, err)
		}
		fmt.Fprintln(o.out, row(l, all, figures, o.files))
	}
	fmt.Fprintln(o.out)
	return nil
}

// measure runs a load in turn. The first round is not counted: it makes
// directories, memory and files.
func measure(ctx context.Context, l load, all []system, rounds int) (map[string]*figure, error) {
	figures := map[string]*figure{}
	for _, s := range all {
		figures[s.name] = &figure{}
	}
	for round := range rounds + 1 {
		took := map[string]float64{}
		for k := range all {
			s := all[(round+k)%len(all)]
			if round%s.every != 0 && round != rounds {
				continue
			}
			t, err := l.run(ctx, s.dir)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", s.name, err)
			}
			took[s.name] = max(t, time.Microsecond).Seconds()
		}
		if round == 0 {
			continue
		}
		for name, t := range took {
			f := figures[name]
			f.cost = append(f.cost, t)
			f.ratio = append(f.ratio, took["bare"]/t)
			if b := took["bindfs"]; b > 0 {
				f.bindfs = append(f.bindfs, t/b)
			}
		}
	}
	// The files of one load are not in the way of the next.
	for _, s := range all {
		if err := empty(s.dir); err != nil {
			return nil, fmt.Errorf("%s: %w", filepath.Base(s.dir), err)
		}
	}
	return figures, nil
}

// row is a line of the table.
func row(l load, all []system, figures map[string]*figure, files int) string {
	want := ""
	switch {
	case l.perFile && l.required > 0:
		want = fmt.Sprintf("%.1f of bindfs", l.required)
	case l.required > 0:
		want = fmt.Sprintf("%.2f (aim %.2f)", l.required, l.aim)
	}
	line := fmt.Sprintf("| %s | %s |", l.name, want)
	for _, s := range all {
		f := figures[s.name]
		cost := median(f.cost)
		switch {
		case l.perFile:
			line += fmt.Sprintf(" %.1f us", cost/float64(files)*1e6)
			if s.name == "scrfs" && len(f.bindfs) > 0 {
				line += fmt.Sprintf(" (%.2f of bindfs)", median(f.bindfs))
			}
		case s.name == "bare":
			line += fmt.Sprintf(" %.0f MB/s", float64(l.unitBytes)/cost/1e6)
		default:
			line += fmt.Sprintf(" %.2f (%.0f MB/s)", median(f.ratio), float64(l.unitBytes)/cost/1e6)
		}
		line += " |"
	}
	return line
}

// median sorts v.
func median(v []float64) float64 {
	if len(v) == 0 {
		return 0
	}
	slices.Sort(v)
	return v[len(v)/2]
}
