package main

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/scrfs/scrfs/internal/disk"
	"github.com/scrfs/scrfs/scavenger/rescuetest"
	"github.com/scrfs/scrfs/scr"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"scr-postrun": main})
}

// The scripts say what a user types and sees. Besides testscript's commands:
//
//	job DIR NODES ID...    a job left checkpoints run/ckpt.ID in its caches
//	same DIR NODES ID...   they are in the prefix directory, byte for byte
//	code N COMMAND...      the command ends with exit code N
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(e *testscript.Env) error {
			e.Setenv("USER_OF_JOB", "me")
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"job": job, "same": same, "code": code},
	})
}

func job(ts *testscript.TestScript, _ bool, args []string) {
	ts.Check(ts.Chdir(ts.Getenv("WORK")))
	root := ts.MkAbs(args[0])
	work, err := disk.Open(ts.Getenv("WORK"))
	ts.Check(err)
	ts.Check(disk.MkdirAll(work, args[0], 0o755))
	ranks, ids := numbers(ts, args[1:])
	j, err := rescuetest.New(root, ranks)
	ts.Check(err)
	for _, id := range ids {
		files, tree := rescuetest.Checkpoint(dirOf(id), uint64(id), ranks)
		ts.Check(j.Write(id, files, tree))
	}
	ts.Check(j.Close())
}

func same(ts *testscript.TestScript, _ bool, args []string) {
	prefix, err := disk.Open(ts.MkAbs(args[0]) + "/prefix")
	ts.Check(err)
	ranks, ids := numbers(ts, args[1:])
	for _, id := range ids {
		files, _ := rescuetest.Checkpoint(dirOf(id), uint64(id), ranks)
		for _, list := range files {
			for name, want := range list {
				got, err := disk.ReadFile(prefix, name)
				ts.Check(err)
				if !bytes.Equal(got, want) {
					ts.Fatalf("%s differs", name)
				}
			}
		}
	}
}

func dirOf(id scr.DatasetID) string { return fmt.Sprintf("run/ckpt.%d", id) }

func numbers(ts *testscript.TestScript, args []string) (ranks int, ids []scr.DatasetID) {
	ranks, err := strconv.Atoi(args[0])
	ts.Check(err)
	for _, a := range args[1:] {
		id, err := scr.ParseDatasetID(a)
		ts.Check(err)
		ids = append(ids, id)
	}
	return ranks, ids
}

// code runs a command through the shell, which tells its exit code.
func code(ts *testscript.TestScript, _ bool, args []string) {
	words := make([]string, len(args)-1)
	for i, a := range args[1:] {
		words[i] = "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
	}
	ts.Check(ts.Exec("sh", "-c", strings.Join(words, " ")+`; test $? = `+args[0]))
}
