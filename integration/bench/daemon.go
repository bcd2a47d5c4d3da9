package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/scrfs/scrfs/daemon"
)

// mounted is one daemon with its mount.
type mounted struct {
	program, mountpoint string
	pid                 int
}

// mount starts a daemon whose everything is below dir. Nothing it does by
// itself disturbs the measurement: datasets stay open and are not flushed.
// nodes is empty for a job of one node, else the list of all; prefix and job
// are then shared: they lie beside dir.
func mount(ctx context.Context, o options, dir, node, nodes string) (mounted, error) {
	m := mounted{program: o.scrfs, mountpoint: filepath.Join(dir, "mnt")}
	prefix := filepath.Join(dir, "pfs")
	if nodes != "" {
		prefix = filepath.Join(filepath.Dir(dir), "pfs")
	}
	local := filepath.Join(dir, "local")
	for _, d := range []string{m.mountpoint, prefix, local} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			return m, err
		}
	}
	args := []string{
		"mount", "--prefix", prefix, "--mountpoint", m.mountpoint, "--node", node, "--job-id", "bench",
		"--cache-base", local, "--control-base", local,
		"--set", "SCRFS_QUIET=1h", "--set", "SCR_FLUSH=0",
	}
	if nodes != "" {
		args = append(args, "--nodes", nodes)
	}
	if err := run(ctx, o.scrfs, args...); err != nil {
		return m, err
	}
	st, err := m.status(ctx)
	if err != nil {
		return m, errors.Join(err, m.close())
	}
	if st.Road != "passthrough" {
		fmt.Fprintf(o.log, "bench: data of %s goes %s\n", m.mountpoint, st.Road)
	}
	m.pid = st.PID
	return m, nil
}

func (m mounted) status(ctx context.Context) (st daemon.Status, err error) {
	out, err := exec.CommandContext(ctx, m.program, "status", "--json", m.mountpoint).Output()
	if err != nil {
		return st, fmt.Errorf("scrfs status: %w", err)
	}
	return st, json.Unmarshal(out, &st)
}

// close unmounts; it is not bound to a context, so that an interrupt leaves
// nothing behind.
func (m mounted) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	return run(ctx, m.program, "unmount", "--force", m.mountpoint)
}

// residentBytes is the daemon's memory as the kernel counts it.
func (m mounted) residentBytes() (int64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", m.pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kib, err := strconv.ParseInt(strings.Fields(value)[0], 10, 64)
			return kib << 10, err
		}
	}
	return 0, fmt.Errorf("process %d has no VmRSS", m.pid)
}
