package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/scrfs/scrfs/cmd/internal/cli"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"scrfs": func() { os.Exit(cli.Main(app(), os.Args)) },
	})
}

// The scripts in testdata/script run the command as users do. golden copies a
// prefix directory as SCR left it after a scavenge; exits runs a command and
// holds its exit code.
func TestScripts(t *testing.T) {
	goldens, err := filepath.Abs("../../indexer/testdata/golden")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(e *testscript.Env) error {
			e.Defer(func() { unmountBelow(t, e.WorkDir) })
			return nil
		},
		Condition: func(cond string) (bool, error) {
			if cond != "mounts" {
				return false, fmt.Errorf("unknown condition %q", cond)
			}
			f, err := os.OpenFile("/dev/fuse", os.O_RDWR, 0)
			if err != nil {
				return false, nil
			}
			return os.Getuid() == 0, f.Close()
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"golden": func(ts *testscript.TestScript, _ bool, args []string) {
				for _, stage := range []string{"2-prefix-before", "3-prefix-scavenged"} {
					ts.Check(copyTree(filepath.Join(goldens, args[0], stage), ts.MkAbs(args[1])))
				}
			},
			"exits": func(ts *testscript.TestScript, _ bool, args []string) {
				err := ts.Exec(args[1], args[2:]...)
				code := "0"
				if err != nil {
					code = strings.TrimPrefix(err.Error(), "exit status ")
				}
				if code != args[0] {
					ts.Fatalf("exit code %s, want %s", code, args[0])
				}
			},
			"damage": func(ts *testscript.TestScript, _ bool, args []string) {
				name := ts.MkAbs(args[0])
				data, err := os.ReadFile(name)
				ts.Check(err)
				data[len(data)/2] ^= 0x40
				ts.Check(os.WriteFile(name, data, 0o644))
			},
		},
	})
}

// unmountBelow ends the mounts that a script which failed has left.
func unmountBelow(t *testing.T, dir string) {
	table, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Error(err)
	}
	for line := range strings.Lines(string(table)) {
		if m, ok := parseMountinfo(line); ok && strings.HasPrefix(m.Mountpoint, dir) {
			if err := syscall.Unmount(m.Mountpoint, syscall.MNT_DETACH); err != nil {
				t.Error(err)
			}
		}
	}
}

func copyTree(from, to string) error {
	if _, err := os.Stat(from); os.IsNotExist(err) {
		return nil
	}
	return filepath.WalkDir(from, func(name string, e os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, name)
		if err != nil {
			return err
		}
		target := filepath.Join(to, rel)
		if e.IsDir() {
			return os.MkdirAll(target, 0o755)
		}
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		if rel == "scr.current" {
			return os.Symlink(string(data), target)
		}
		if err := os.WriteFile(target, data, 0o644); err != nil {
			return fmt.Errorf("copy %s: %w", rel, err)
		}
		return nil
	})
}
