package integration

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// layers says where each package stands: its imports are of lower layers, and
// none is of its own. A package that is not here fails the test.
var layers = map[string]int{
	"kvtree": 0, "internal/disk": 0,
	"scr": 1, "hostlist": 1,
	"router": 2, "lifecycle": 2, "catalog": 2, "redset": 2, "xor": 2, "config": 2, "space": 2,
	"cachestore": 3, "prefixfs": 3, "ring": 3, "flush": 3, "indexer": 3, "peer": 3, "control": 3, "resource": 3, "spill": 3,
	"fusefs": 4, "scavenger": 4,
	"daemon": 5,
	// What the commands share is below them.
	"cmd/internal/cli": 6,
	"cmd/scrfs":        7, "cmd/scr-postrun": 7,
	"integration": 8,
}

// testOnly are packages for tests: the layer tells what they may import, and
// only _test.go files and packages below integration import them.
var testOnly = map[string]int{
	"internal/disk/disktest": 1,
	"scavenger/rescuetest":   4,
	"integration/cluster":    0,
	"integration/lammps":     0,
	"integration/slice":      8,
	"integration/demo":       8,
	"integration/apps":       8,
	"integration/bench":      8,
	"integration/patterns":   8,
	"integration/posix":      8,
	"integration/space":      8,
	"integration/tools":      8,
}

// places says which packages may use what others may not. A package is named
// as in layers; "cmd/" is every command. Tests may use all of it.
var places = []struct {
	what    string         // for the message
	imports []string       // import paths, or beginnings of some if they end in /
	calls   map[string]any // functions of packages, as "os.Getenv"
	only    []string
}{
	{
		what: "go-fuse", imports: []string{"github.com/hanwen/go-fuse/"},
		only: []string{"fusefs"},
	},
	{
		what: "the command line library", imports: []string{"github.com/urfave/cli/"},
		only: []string{"cmd/"},
	},
	{
		what: "flags and environment", imports: []string{"flag"},
		calls: names("os.Getenv os.LookupEnv os.Environ os.ExpandEnv os.Setenv os.Unsetenv syscall.Getenv unix.Getenv"),
		only:  []string{"cmd/", "integration/"},
	},
	{
		what: "files", calls: names("os.Open os.OpenFile os.Create os.ReadFile os.WriteFile os.ReadDir os.Mkdir os.MkdirAll " +
			"os.MkdirTemp os.CreateTemp os.Remove os.RemoveAll os.Rename os.Link os.Symlink os.Readlink os.Stat os.Lstat " +
			"os.Chmod os.Chown os.Lchown os.Chtimes os.Truncate os.OpenRoot os.DirFS"),
		// resource reads the kernel's process table, and control makes its
		// socket: neither holds data, nor fails as a disk does.
		only: []string{"cmd/", "internal/disk", "prefixfs", "fusefs", "resource", "control", "integration/"},
	},
	{
		// A package of tests that is part of the program would make the
		// program a test.
		what: "the testing package", imports: []string{"testing", "testing/", "pgregory.net/rapid", "go.uber.org/goleak", "github.com/google/go-cmp/", "github.com/rogpeppe/go-internal/"},
		only: []string{"internal/disk/disktest"},
	},
}

// pure are the deciders: they take values and readers and are told the time.
var pure = []string{"kvtree", "scr", "hostlist", "router", "lifecycle", "catalog", "redset", "xor", "config", "space"}

// impure is what they may not use. Error numbers, addresses as text and the
// processor's abilities are values like others.
var impure = struct {
	imports []string
	calls   map[string]any
}{
	imports: []string{"log", "log/", "math/rand", "math/rand/", "crypto/rand", "net/http", "os/", "golang.org/x/sys/unix"},
	calls: names("time.Now time.Since time.Until time.Sleep time.After time.AfterFunc time.Tick time.NewTimer time.NewTicker " +
		"net.Dial net.Listen net.Interfaces net.LookupHost net.LookupAddr syscall.Open syscall.Stat syscall.Kill"),
}

func names(list string) map[string]any {
	set := map[string]any{}
	for _, n := range strings.Fields(list) {
		set[n] = nil
	}
	return set
}

func TestImportsGoOnlyDownwards(t *testing.T) {
	for _, p := range packages(t) {
		for _, complaint := range misplaced(p) {
			t.Error(complaint)
		}
	}
}

// misplaced are the imports of a package that break the layers.
func misplaced(p pkg) (complaints []string) {
	complain := func(format string, args ...any) { complaints = append(complaints, fmt.Sprintf(format, args...)) }
	layer, shipped := layers[p.dir]
	if !shipped {
		var ok bool
		if layer, ok = testOnly[p.dir]; !ok {
			complain("package %s has no layer: add it to the table, or better, find its place in another package", p.dir)
			return complaints
		}
	}
	for _, u := range p.uses {
		target, own := strings.CutPrefix(u.path, module+"/")
		if !own || u.test {
			continue
		}
		if _, ok := testOnly[target]; ok {
			if !strings.HasPrefix(p.dir, "integration/") {
				complain("%s: %s imports %s, which is for tests", u.at, p.dir, target)
			}
			continue
		}
		if below, ok := layers[target]; !ok || below >= layer {
			complain("%s: %s (layer %d) imports %s (layer %d): imports go down only", u.at, p.dir, layer, target, below)
		}
	}
	return complaints
}

func TestEachThingIsUsedInItsPlace(t *testing.T) {
	for _, p := range packages(t) {
		for _, place := range places {
			if in(p.dir, place.only) {
				continue
			}
			for _, u := range p.used(place.imports, place.calls) {
				t.Errorf("%s: %s uses %s; %s belong to %s only", u.at, p.dir, u.path, place.what, strings.Join(place.only, ", "))
			}
		}
		if in(p.dir, pure) {
			for _, u := range p.used(impure.imports, impure.calls) {
				t.Errorf("%s: %s uses %s, and is to be pure", u.at, p.dir, u.path)
			}
		}
	}
}

// in tells whether dir is in the list, in which a name that ends in / is all
// directories below.
func in(dir string, list []string) bool {
	for _, l := range list {
		if dir == l || strings.HasSuffix(l, "/") && strings.HasPrefix(dir, l) {
			return true
		}
	}
	return false
}

func TestPackagesBeginWithProse(t *testing.T) {
	for _, p := range packages(t) {
		if p.dir != "integration" && p.name == "main" {
			if !strings.HasPrefix(p.prose, "Command "+p.base()+" ") {
				t.Errorf("%s: the prose of a command begins %q, got %q", p.dir, "Command "+p.base(), firstLine(p.prose))
			}
			continue
		}
		if !strings.HasPrefix(p.prose, "Package "+p.name+" ") {
			t.Errorf("%s: the prose of a package begins %q, got %q", p.dir, "Package "+p.name, firstLine(p.prose))
		}
	}
}

// maxLines is where a file is more than one idea.
const maxLines = 400

func TestFilesAreOneIdea(t *testing.T) {
	for _, p := range packages(t) {
		for _, f := range p.files {
			if f.lines > maxLines && !f.generated {
				t.Errorf("%s has %d lines, at most %d are good to read", f.name, f.lines, maxLines)
			}
		}
	}
}

func TestNoUnfinishedWork(t *testing.T) {
	marks := []string{"TO" + "DO", "FIX" + "ME", "XX" + "X"}
	for _, p := range packages(t) {
		for _, f := range p.files {
			for i, line := range strings.Split(f.text, "\n") {
				for _, m := range marks {
					if _, comment, ok := strings.Cut(line, "//"); ok && strings.Contains(comment, m) {
						t.Errorf("%s:%d: %s", f.name, i+1, strings.TrimSpace(line))
					}
				}
			}
		}
	}
}

// A package whose tests run in bubbles (testing/synctest) may sleep there: the
// time is the bubble's, and nobody waits.
func TestTestsDoNotSleep(t *testing.T) {
	for _, p := range packages(t) {
		if slices.ContainsFunc(p.uses, func(u use) bool { return u.test && u.path == "testing/synctest" }) {
			continue
		}
		for _, u := range p.calls {
			if u.test && u.path == "time.Sleep" {
				t.Errorf("%s: a test sleeps; wait for the condition instead", u.at)
			}
		}
	}
}

// The rules above find what they forbid.
func TestTheLayerTestCanFail(t *testing.T) {
	bad := map[string]pkg{
		"unknown":   {dir: "util"},
		"upwards":   {dir: "xor", uses: []use{{path: module + "/daemon"}}},
		"sideways":  {dir: "xor", uses: []use{{path: module + "/redset"}}},
		"test only": {dir: "daemon", uses: []use{{path: module + "/integration/cluster"}}},
		"no place":  {dir: "daemon", uses: []use{{path: module + "/util"}}},
	}
	for name, p := range bad {
		if len(misplaced(p)) == 0 {
			t.Errorf("%s: no complaint", name)
		}
	}
	good := pkg{dir: "xor", uses: []use{{path: module + "/scr"}, {path: "io"}, {path: module + "/integration/cluster", test: true}}}
	if got := misplaced(good); len(got) != 0 {
		t.Errorf("complaints about nothing: %q", got)
	}
	source := "package p\nimport (\"os\"; aka \"os\"; \"github.com/hanwen/go-fuse/v2/fuse\")\nvar a = os.Getenv(\"A\")\nvar b = aka.Getenv\nvar c fuse.Status\n"
	dir := t.TempDir()
	if err := os.WriteFile(dir+"/p.go", []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	p := pkg{dir: "xor"}
	if err := p.read(dir + "/p.go"); err != nil {
		t.Fatal(err)
	}
	if got := p.used(nil, places[2].calls); len(got) != 2 {
		t.Errorf("found %d calls of os.Getenv, want 2", len(got))
	}
	if got := p.used(places[0].imports, nil); len(got) != 1 {
		t.Errorf("found %d imports of go-fuse, want 1", len(got))
	}
}
