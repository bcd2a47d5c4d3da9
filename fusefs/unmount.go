package fusefs

import (
	"errors"
	"fmt"
	"os/exec"
	"strings"

	"golang.org/x/sys/unix"
)

// unmount unmounts with flags, through fusermount3 if we may not ourselves.
func (m *Mount) unmount(flags int) error {
	err := unix.Unmount(m.mountpoint, flags)
	if errors.Is(err, unix.EPERM) {
		err = fusermount(m.mountpoint, flags)
	}
	if err != nil {
		return fmt.Errorf("unmount %s: %w", m.mountpoint, err)
	}
	return nil
}

func fusermount(mountpoint string, flags int) error {
	args := []string{"-u", "--", mountpoint}
	if flags&unix.MNT_DETACH != 0 {
		args = append([]string{"-z"}, args...)
	}
	out, err := exec.Command("fusermount3", args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("fusermount3: %s: %w", strings.TrimSpace(string(out)), err)
	}
	return nil
}

// StaleMount tells whether a mount whose daemon is dead lies on mountpoint:
// every access to it gives ENOTCONN.
func StaleMount(mountpoint string) bool {
	// stat(2) might be answered from what the kernel remembers.
	var s unix.Statfs_t
	return errors.Is(unix.Statfs(mountpoint, &s), unix.ENOTCONN)
}

// CleanStaleMount takes such a mount away. It is not an error if there is
// none.
func CleanStaleMount(mountpoint string) error {
	for StaleMount(mountpoint) {
		err := unix.Unmount(mountpoint, unix.MNT_DETACH)
		if errors.Is(err, unix.EPERM) {
			err = fusermount(mountpoint, unix.MNT_DETACH)
		}
		if err != nil {
			return fmt.Errorf("clean dead mount on %s: %w", mountpoint, err)
		}
	}
	return nil
}
