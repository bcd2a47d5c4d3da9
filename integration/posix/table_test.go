package posix

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// area is where a test runs.
type area string

const (
	plainArea    area = "plain"
	bypassedArea area = "bypassed"
	claimedArea  area = "claimed"
)

// place is the directory of one test in one area.
type place struct {
	area area
	dir  string
}

// at is a path in the directory.
func (p place) at(parts ...string) string {
	return filepath.Join(append([]string{p.dir}, parts...)...)
}

// cases are all tests. Those of one file stand together.
var cases = map[string]func(*testing.T, place){}

// notInDatasets are the tests that a dataset's directory does not pass, with
// the reason; docs/posix.md explains each.
var notInDatasets = map[string]string{
	"open/file without a name": "O_TMPFILE: every file of a dataset has a name",
	"link/names of one file":   "hard links: SCR has one name for each file of a dataset",
	"link/errors":              "hard links",
	"link/removed and renamed": "hard links",
}

func add(tests map[string]func(*testing.T, place)) {
	for name, f := range tests {
		if cases[name] != nil {
			panic("BUG: two tests are named " + name)
		}
		cases[name] = f
	}
}

func TestPOSIX(t *testing.T) {
	needMount(t)
	m := startMount(t, "SCRFS_QUIET=1h")
	for name := range notInDatasets {
		if cases[name] == nil {
			t.Errorf("%s is left out of datasets, but there is no such test", name)
		}
	}
	plain := scratch(t)
	for _, a := range []struct {
		area area
		dir  string
	}{
		{plainArea, plain},
		{bypassedArea, filepath.Join(m.dir, "results")},
		{claimedArea, filepath.Join(m.dir, "ckpt.1")},
	} {
		t.Run(string(a.area), func(t *testing.T) {
			if err := os.Mkdir(a.dir, 0o777); err != nil && !os.IsExist(err) {
				t.Fatal(err)
			}
			for name, test := range cases {
				t.Run(name, func(t *testing.T) {
					if why := notInDatasets[name]; why != "" && a.area == claimedArea {
						t.Skip(why)
					}
					dir := filepath.Join(a.dir, strings.ReplaceAll(name, "/", "_"))
					if err := os.Mkdir(dir, 0o777); err != nil {
						t.Fatal(err)
					}
					defer func() {
						if err := os.RemoveAll(dir); err != nil {
							t.Error(err)
						}
					}()
					test(t, place{a.area, dir})
				})
			}
		})
	}
	// The tests would prove nothing if the areas were not what they seem.
	if _, err := os.Stat(filepath.Join(m.prefix, "ckpt.1")); !os.IsNotExist(err) {
		t.Errorf("ckpt.1 is on the prefix directory: %v", err)
	}
	if _, err := os.Stat(filepath.Join(m.dir, "results")); err == nil {
		if _, err := os.Stat(filepath.Join(m.prefix, "results")); err != nil {
			t.Errorf("results is not on the prefix directory: %v", err)
		}
	}
}
