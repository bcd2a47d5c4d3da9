package integration

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// module is the path that imports of this project begin with.
const module = "github.com/scrfs/scrfs"

// pkg is what the tests of the layers know of one directory with Go files.
type pkg struct {
	dir   string // relative to the module, with slashes
	name  string
	prose string // the package's comment
	files []file
	uses  []use // imports
	calls []use // functions of other packages that are named: os.Getenv
}

type file struct {
	name, text string
	lines      int
	generated  bool
}

// use is one import or one name of another package, and where.
type use struct {
	path string
	at   string // file:line
	test bool   // in a _test.go file
}

func (p pkg) base() string { return path.Base(p.dir) }

// packages are all of the module's.
func packages(t *testing.T) []pkg {
	t.Helper()
	byDir := map[string]*pkg{}
	err := filepath.WalkDir("..", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		base := d.Name()
		if d.IsDir() {
			if name != ".." && (base == "testdata" || strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_")) {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(base, ".go") {
			return nil
		}
		dir, err := filepath.Rel("..", filepath.Dir(name))
		if err != nil {
			return err
		}
		dir = filepath.ToSlash(dir)
		if byDir[dir] == nil {
			byDir[dir] = &pkg{dir: dir}
		}
		return byDir[dir].read(name)
	})
	if err != nil {
		t.Fatal(err)
	}
	var all []pkg
	for _, p := range byDir {
		all = append(all, *p)
	}
	slices.SortFunc(all, func(a, b pkg) int { return strings.Compare(a.dir, b.dir) })
	if len(all) < 2 {
		t.Fatalf("found %d packages: not the module's directory?", len(all))
	}
	return all
}

// read adds a file to the package.
func (p *pkg) read(name string) error {
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	set := token.NewFileSet()
	parsed, err := parser.ParseFile(set, name, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	test := strings.HasSuffix(name, "_test.go")
	p.files = append(p.files, file{
		name: name, text: string(text), lines: strings.Count(string(text), "\n"),
		generated: ast.IsGenerated(parsed),
	})
	if !test {
		p.name = parsed.Name.Name
		if parsed.Doc != nil {
			p.prose += parsed.Doc.Text()
		}
	} else if p.name == "" {
		p.name = strings.TrimSuffix(parsed.Name.Name, "_test")
	}
	here := func(n ast.Node, what string) use { return use{what, set.Position(n.Pos()).String(), test} }
	called := map[string]string{} // name in this file -> import path
	for _, i := range parsed.Imports {
		target, err := strconv.Unquote(i.Path.Value)
		if err != nil {
			return err
		}
		p.uses = append(p.uses, here(i, target))
		if i.Name != nil {
			called[i.Name.Name] = target
		} else {
			called[path.Base(target)] = target
		}
	}
	ast.Inspect(parsed, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if id, ok := s.X.(*ast.Ident); ok && called[id.Name] != "" {
				p.calls = append(p.calls, here(s, path.Base(called[id.Name])+"."+s.Sel.Name))
			}
		}
		return true
	})
	return nil
}

// used are those of the imports (paths, or beginnings that end in /) and names
// that the package has outside of its tests.
func (p pkg) used(imports []string, calls map[string]any) []use {
	var found []use
	for _, u := range p.uses {
		if !u.test && in(u.path, imports) {
			found = append(found, u)
		}
	}
	for _, u := range p.calls {
		if _, ok := calls[u.path]; ok && !u.test {
			found = append(found, u)
		}
	}
	return found
}

// firstLine is for messages.
func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}
