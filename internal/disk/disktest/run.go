package disktest

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"

	"github.com/scrfs/scrfs/internal/disk"
)

// Run checks the FS that open returns, a new and empty one for each promise.
func Run(t *testing.T, open func(t *testing.T) disk.FS) {
	for _, p := range []struct {
		name  string
		check func(world)
	}{
		{"FileReadsBackWhatWasWritten", readsBack},
		{"FileOffsets", offsets},
		{"AppendGoesToTheEnd", appends},
		{"AccessModesHold", accessModes},
		{"ClosedFileIsClosed", closed},
		{"UnlinkedFileStaysReadable", unlinked},
		{"OpenFlags", openFlags},
		{"DirectoriesAreNoFiles", directoriesAreNoFiles},
		{"NamesWithBlanks", oddNames},
		{"NamesDoNotEscape", escapes},
		{"LinksDoNotEscape", linksEscape},
		{"LinksAreFollowed", linksFollowed},
		{"HardLinksShareOneFile", hardLinks},
		{"RenameReplaces", renames},
		{"RenameNoReplaceKeeps", noReplace},
		{"ExchangeSwaps", exchanges},
		{"ReadDirIsSorted", readDir},
		{"Attributes", attributes},
		{"SubIsARoot", sub},
		{"LockExcludes", locks},
		{"LockSurvivesReplace", lockReplaced},
		{"UsageIsSane", usage},
		{"ErrorsNameThePath", errorsNamePath},
		{"Helpers", helpers},
	} {
		t.Run(p.name, func(t *testing.T) { p.check(world{open(t), t}) })
	}
}

// world is a tree and the test that looks at it.
type world struct {
	disk.FS
	t *testing.T
}

func (w world) ok(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatalf("got error %v, want none", err)
	}
}

func (w world) fails(err, want error) {
	w.t.Helper()
	if !errors.Is(err, want) {
		w.t.Errorf("got error %v, want %v", err, want)
	}
}

// put makes a file, or a directory if the name ends in a slash.
func (w world) put(name, content string) {
	w.t.Helper()
	if dir, isDir := strings.CutSuffix(name, "/"); isDir {
		w.ok(w.Mkdir(dir, 0o755))
		return
	}
	f := w.open(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC)
	_, err := f.Write([]byte(content))
	w.ok(err)
	w.ok(f.Close())
}

func (w world) open(name string, flag int) disk.File {
	w.t.Helper()
	f, err := w.OpenFile(name, flag, 0o644)
	w.ok(err)
	w.t.Cleanup(func() { _ = f.Close() }) // most tests close it themselves
	return f
}

func (w world) has(name, content string) {
	w.t.Helper()
	b, err := disk.ReadFile(w, name)
	if err != nil || string(b) != content {
		w.t.Errorf("%s: got %q, %v, want %q", name, b, err, content)
	}
}

func (w world) absent(names ...string) {
	w.t.Helper()
	for _, n := range names {
		_, err := w.Lstat(n)
		w.fails(err, fs.ErrNotExist)
	}
}

func (w world) names(dir string) string {
	w.t.Helper()
	list, err := w.ReadDir(dir)
	w.ok(err)
	var b strings.Builder
	for _, e := range list {
		b.WriteString(fs.FormatDirEntry(e) + " ")
	}
	return b.String()
}

func equal[T comparable](w world, what string, got, want T) {
	w.t.Helper()
	if got != want {
		w.t.Errorf("%s: got %v, want %v", what, got, want)
	}
}
