package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/scrfs/scrfs/scr"
)

func TestCodeOfAnErrorIsThatOfItsCause(t *testing.T) {
	for _, c := range []struct {
		err  error
		want Code
	}{
		{nil, OK},
		{errors.New("something"), Failed},
		{Usagef("--x: what"), Usage},
		{fmt.Errorf("a: %w", Usagef("b: %w", scr.ErrCorrupt)), Usage},
		{fmt.Errorf("dataset 3: %w", scr.ErrNotFound), NotFound},
		{fmt.Errorf("dataset 3: %w", scr.ErrUnrecoverable), Unrecoverable},
		{errors.Join(scr.ErrCorrupt, scr.ErrUnrecoverable), Unrecoverable},
		{fmt.Errorf("x: %w", scr.ErrEscape), Damaged},
		{fmt.Errorf("x: %w", scr.ErrAmbiguous), Usage},
		{&fs.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC}, NoRoom},
		{&fs.PathError{Op: "open", Path: "x", Err: syscall.EACCES}, NotPermitted},
		{&fs.PathError{Op: "open", Path: "x", Err: syscall.ENOENT}, NotFound},
		{Hint(fmt.Errorf("x: %w", ErrTaken), "wait"), Taken},
	} {
		if got := CodeOf(c.err); got != c.want {
			t.Errorf("%v: got %d, want %d", c.err, got, c.want)
		}
	}
}

func TestReportShowsEachLineAndTheHint(t *testing.T) {
	var b strings.Builder
	Report(&b, "scrfs", Hint(errors.New("one\ntwo"), "try %d", 3))
	if got, want := b.String(), "scrfs: error: one\nscrfs: error: two\nscrfs: hint: try 3\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// The table for users has every code, and no other.
func TestExitCodesAreDocumented(t *testing.T) {
	doc, err := os.ReadFile("../../../docs/exit-codes.md")
	if err != nil {
		t.Fatal(err)
	}
	var listed []Code
	for _, m := range regexp.MustCompile(`(?m)^\| (\d+) \|`).FindAllStringSubmatch(string(doc), -1) {
		n, err := strconv.Atoi(m[1])
		if err != nil {
			t.Fatal(err)
		}
		listed = append(listed, Code(n))
	}
	for want := OK; want <= NoDaemon; want++ {
		if int(want) >= len(listed) || listed[want] != want {
			t.Fatalf("the table has %v, want 0 to %d in order", listed, NoDaemon)
		}
	}
	if len(listed) != int(NoDaemon)+1 {
		t.Errorf("the table has %d codes, there are %d", len(listed), NoDaemon+1)
	}
}
