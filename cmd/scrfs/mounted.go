package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	urfave "github.com/urfave/cli/v2"

	"github.com/scrfs/scrfs/cmd/internal/cli"
	"github.com/scrfs/scrfs/control"
	"github.com/scrfs/scrfs/daemon"
	"github.com/scrfs/scrfs/scr"
)

// mounted is a scrfs mount on this machine and how its daemon is reached.
type mounted struct {
	Mountpoint string
	ControlDir string
}

// findMount finds the scrfs mount that holds a path.
func findMount(path string) (mounted, bool, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return mounted{}, false, err
	}
	f, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return mounted{}, false, err
	}
	defer f.Close()
	var best mounted
	found := false
	for lines := bufio.NewScanner(f); lines.Scan(); {
		m, ok := parseMountinfo(lines.Text())
		if !ok || path != m.Mountpoint && !strings.HasPrefix(path, strings.TrimSuffix(m.Mountpoint, "/")+"/") {
			continue
		}
		if !found || len(m.Mountpoint) >= len(best.Mountpoint) {
			best, found = m, true
		}
	}
	return best, found, nil
}

// parseMountinfo reads one line of /proc/self/mountinfo (proc(5)); false if it
// is no mount of ours. Blanks in names are octal there.
func parseMountinfo(line string) (mounted, bool) {
	before, after, ok := strings.Cut(line, " - ")
	left, right := strings.Fields(before), strings.Fields(after)
	if !ok || len(left) < 5 || len(right) < 2 || right[0] != "fuse.scrfs" {
		return mounted{}, false
	}
	unescape := strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)
	dir, ok := strings.CutPrefix(unescape.Replace(right[1]), daemon.SourcePrefix)
	return mounted{Mountpoint: unescape.Replace(left[4]), ControlDir: dir}, ok
}

// mountAt is the mount a command is about: its argument, else the current
// directory.
func mountAt(c *urfave.Context) (mounted, error) {
	path := c.Args().First()
	if path == "" {
		path = "."
	}
	if c.NArg() > 1 {
		return mounted{}, cli.Usagef("one mount point is wanted, got %d arguments", c.NArg())
	}
	m, ok, err := findMount(path)
	if err == nil && !ok {
		err = cli.Hint(fmt.Errorf("%s: no scrfs mount: %w", path, scr.ErrNotFound), "'mount -t fuse.scrfs' lists those of this machine")
	}
	return m, err
}

// call sends a command to the daemon.
func (m mounted) call(ctx context.Context, command string, args, reply any) error {
	err := control.Call(ctx, m.ControlDir, command, args, reply)
	if errors.Is(err, control.ErrNoDaemon) {
		return cli.Hint(fmt.Errorf("mount %s: %w", m.Mountpoint, err), "the daemon has died: 'scrfs unmount --force %s' cleans up, scr-postrun rescues its cache", m.Mountpoint)
	}
	return err
}

func (m mounted) answers(ctx context.Context) bool { return m.call(ctx, "ping", nil, nil) == nil }
