package cluster

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// mountNode makes the mounts of a node in the new mount name space that this
// process is alone in. ownPIDs is false for the login node.
func mountNode(config initConfig, ownPIDs bool) error {
	if err := mount("none", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		return err
	}
	if err := dropFUSE(config.PFS); err != nil {
		return err
	}
	if ownPIDs {
		if err := mount("proc", "/proc", "proc", 0, ""); err != nil {
			return err
		}
	}
	bytes := config.LocalBytes
	if bytes == 0 {
		bytes = 1 << 30
	}
	if err := mount(config.Name, config.Local, "tmpfs", 0, fmt.Sprintf("mode=0755,size=%d", bytes)); err != nil {
		return err
	}
	shm := filepath.Join(config.Local, ".shm")
	for _, d := range []string{shm, filepath.Join(config.Local, ".tmp")} {
		if err := os.Mkdir(d, 0o777); err != nil {
			return err
		}
		if err := os.Chmod(d, 0o1777); err != nil {
			return err
		}
	}
	if err := mount(shm, "/dev/shm", "", syscall.MS_BIND, ""); err != nil {
		return err
	}
	return mount(filepath.Join(config.Cluster, "hosts"), "/etc/hosts", "", syscall.MS_BIND, "")
}

func mount(source, target, fstype string, flags uintptr, data string) error {
	if err := syscall.Mount(source, target, fstype, flags, data); err != nil {
		return fmt.Errorf("mount %s: %w", target, err)
	}
	return nil
}

// dropFUSE lets go of the machine's FUSE mounts. A new mount name space starts
// as a copy, and a mount lives as long as one copy does: the daemons of
// the machine would never see their unmount while a node is up. A mount that
// pfs lies on or that lies below pfs stays.
func dropFUSE(pfs string) error {
	// The table is read whole first: lines are skipped if it shrinks meanwhile.
	table, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		return err
	}
	for _, point := range fuseMounts(string(table)) {
		if below(pfs, point) || below(point, pfs) {
			continue
		}
		// EINVAL: it was below another one that has gone.
		if err := syscall.Unmount(point, syscall.MNT_DETACH); err != nil && err != syscall.EINVAL {
			return fmt.Errorf("unmount %s: %w", point, err)
		}
	}
	return nil
}

// fuseMounts are the mount points of FUSE file systems in a mount table.
func fuseMounts(table string) []string {
	unescape := strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)
	var points []string
	for line := range strings.Lines(table) {
		f := strings.Fields(line)
		if len(f) < 3 {
			continue
		}
		if t := f[2]; t == "fuse" || t == "fuseblk" || strings.HasPrefix(t, "fuse.") {
			points = append(points, unescape.Replace(f[1]))
		}
	}
	return points
}

// below tells whether path is dir or lies below it; both are clean.
func below(path, dir string) bool {
	return path == dir || dir == "/" || strings.HasPrefix(path, dir+"/")
}
