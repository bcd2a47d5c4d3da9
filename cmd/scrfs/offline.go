package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	urfave "github.com/urfave/cli/v2"
	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
	"golang.org/x/sys/unix"

	"github.com/scrfs/scrfs/cmd/internal/cli"
	"github.com/scrfs/scrfs/indexer"
	"github.com/scrfs/scrfs/internal/disk"
)

// What the commands share that work on a prefix directory without a mount.

// prefixFlag names the prefix directory as SCR does.
func prefixFlag() urfave.Flag {
	return &urfave.StringFlag{
		Name: "prefix", Aliases: []string{"p"}, EnvVars: []string{"SCR_PREFIX"}, DefaultText: "the current directory",
		Usage: "prefix directory `DIR`",
	}
}

// offlineFlags are for commands that read or rebuild files.
func offlineFlags() []urfave.Flag {
	return []urfave.Flag{
		&urfave.BoolFlag{Name: "no-crc", Usage: "believe names and sizes, read no checksums"},
		&urfave.IntFlag{Name: "jobs", Aliases: []string{"j"}, DefaultText: "number of processors", Usage: "files and sets to work on at the same time"},
		&urfave.BoolFlag{Name: "json", Usage: "print JSON"},
	}
}

// openPrefix opens a prefix directory; "" is the current one. The indexer must
// not be used after the returned function was called, which ends the display.
func openPrefix(c *urfave.Context, dir string) (*indexer.Indexer, string, func(), error) {
	if dir == "" {
		dir = "."
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, "", nil, err
	}
	prefix, err := disk.Open(abs)
	if err != nil {
		return nil, "", nil, fmt.Errorf("prefix directory: %w", err)
	}
	jobs := c.Int("jobs")
	if jobs < 0 {
		return nil, "", nil, cli.Usagef("--jobs %d: want a number from 1", jobs)
	}
	show, done := progress(c.App.ErrWriter)
	return indexer.New(prefix, abs, indexer.Options{NoCRC: c.Bool("no-crc"), Workers: jobs, Progress: show}), abs, done, nil
}

// progress shows on a terminal how far long work has come; elsewhere nothing.
func progress(w io.Writer) (show func(indexer.Progress), done func()) {
	f, ok := w.(*os.File)
	if !ok {
		return nil, func() {}
	}
	if _, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS); err != nil {
		return nil, func() {}
	}
	var bars *mpb.Progress
	var bar *mpb.Bar
	step, begin := "", time.Now()
	show = func(p indexer.Progress) {
		if time.Since(begin) < time.Second { // what is soon over needs no bar
			return
		}
		if bars == nil {
			bars = mpb.New(mpb.WithOutput(w), mpb.WithWidth(50))
		}
		if p.Step != step {
			if bar != nil {
				bar.Abort(false)
			}
			step = p.Step
			bar = bars.AddBar(p.TotalBytes, mpb.PrependDecorators(decor.Name(step+" ")),
				mpb.AppendDecorators(decor.CountersKibiByte("% .1f / % .1f"), decor.AverageSpeed(decor.SizeB1024(0), " % .0f")))
		}
		bar.SetTotal(max(p.TotalBytes, p.DoneBytes+1), false)
		bar.SetCurrent(p.DoneBytes)
	}
	return show, func() {
		if bars != nil {
			bar.Abort(true)
			bars.Wait()
		}
	}
}

func writeJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(v)
}
