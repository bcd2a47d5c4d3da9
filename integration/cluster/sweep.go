package cluster

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// dirPrefix begins the names of the directories that New makes; the process id
// of the program follows.
const dirPrefix = "scrfs-cluster-"

// Left is what a program left that has ended.
type Left struct {
	PID int    // of a process, or 0
	Dir string // a directory, or empty
}

func (l Left) String() string {
	if l.PID != 0 {
		return fmt.Sprintf("process %d of a node", l.PID)
	}
	return "directory " + l.Dir
}

// Leftovers are the processes and directories of clusters whose program has
// ended. There should be none but the directories of a program that was
// killed.
func Leftovers() ([]Left, error) {
	var left []Left
	procs, err := os.ReadDir("/proc")
	if err != nil {
		return nil, err
	}
	for _, p := range procs {
		pid, err := strconv.Atoi(p.Name())
		if err != nil {
			continue
		}
		if owner, ok := ownerOf(pid); ok && !running(owner) {
			left = append(left, Left{PID: pid})
		}
	}
	dirs, err := filepath.Glob(filepath.Join(os.TempDir(), dirPrefix+"*"))
	if err != nil {
		return nil, err
	}
	for _, d := range dirs {
		text, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(d), dirPrefix), "-")
		if owner, err := strconv.Atoi(text); err == nil && !running(owner) {
			left = append(left, Left{Dir: d})
		}
	}
	return left, nil
}

// Sweep ends and removes Leftovers and returns them.
func Sweep() ([]Left, error) {
	left, err := Leftovers()
	if err != nil {
		return nil, err
	}
	var errs []error
	for _, l := range left {
		if l.PID != 0 {
			if err := syscall.Kill(l.PID, syscall.SIGKILL); err != nil && err != syscall.ESRCH {
				errs = append(errs, fmt.Errorf("kill %d: %w", l.PID, err))
			}
			continue
		}
		errs = append(errs, os.RemoveAll(l.Dir))
	}
	return left, errors.Join(errs...)
}

// ownerOf is the process id of the program that started the first process pid
// of a node; false if pid is none.
func ownerOf(pid int) (int, bool) {
	line, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cmdline"))
	if err != nil {
		return 0, false // it has ended meanwhile
	}
	args := strings.Split(string(line), "\x00")
	if _, ok := cloneFlags[args[0]]; !ok || len(args) < 2 {
		return 0, false
	}
	var config initConfig
	if json.Unmarshal([]byte(args[1]), &config) != nil {
		return 0, false
	}
	return config.Owner, true
}

// running tells whether a process exists, be it of another user.
func running(pid int) bool { return syscall.Kill(pid, 0) != syscall.ESRCH }
