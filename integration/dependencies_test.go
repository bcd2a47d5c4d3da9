package integration

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestEveryDependencyHasItsReason compares the modules that are imported, and
// those of go.mod, with docs/dependencies.md.
func TestEveryDependencyHasItsReason(t *testing.T) {
	required := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^\t?(?:require )?(\S+\.\S+/\S+) v`).FindAllStringSubmatch(read(t, "../go.mod"), -1) {
		required[m[1]] = true
	}
	imported := map[string]string{} // module -> where
	for _, p := range packages(t) {
		for _, u := range p.uses {
			first, _, _ := strings.Cut(u.path, "/")
			if !strings.Contains(first, ".") || strings.HasPrefix(u.path, module+"/") {
				continue
			}
			imported[moduleOf(u.path, required)] = u.at
		}
	}
	if len(imported) == 0 {
		t.Fatal("found no dependency: is go.mod read?")
	}
	listed := map[string]bool{}
	for _, m := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\|").FindAllStringSubmatch(read(t, "../docs/dependencies.md"), -1) {
		listed[m[1]] = true
		if !required[m[1]] {
			t.Errorf("docs/dependencies.md lists %s, which is not in go.mod", m[1])
		}
	}
	for m, at := range imported {
		if !listed[m] {
			t.Errorf("%s: module %q has no line in docs/dependencies.md", at, m)
		}
	}
}

// moduleOf is the module that has the package, or the package itself if no
// module of go.mod does.
func moduleOf(pkg string, required map[string]bool) string {
	for m := pkg; m != ""; {
		if required[m] {
			return m
		}
		i := strings.LastIndexByte(m, '/')
		if i < 0 {
			break
		}
		m = m[:i]
	}
	return pkg
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
