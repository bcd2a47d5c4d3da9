package router

import (
	"path"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestContextDecides(t *testing.T) {
	tests := []struct {
		promise string
		name    string
		kind    Kind
		ctx     Context
		want    bool
	}{
		{"an old checkpoint that is read", "ckpt.1.pt", File, Context{Existing: true, ReadOnly: true}, false},
		{"an old checkpoint that is changed", "ckpt.1.pt", File, Context{Existing: true}, false},
		{"an old checkpoint that is replaced", "ckpt.1.pt", File, Context{Existing: true, Truncate: true}, true},
		{"an old tracker file that is read", "latest_checkpointed_iteration.txt", File, Context{Existing: true, ReadOnly: true}, false},
		{"an old tracker file that is replaced", "latest_checkpointed_iteration.txt", File, Context{Existing: true, Truncate: true}, true},
		{"an old directory", "ckpt.1", Dir, Context{Existing: true}, false},
		{"a stream by its flag", "restart.7", File, Context{Append: true}, false},
		{"appending inside a dataset", "chk00010.temp/Level_0/Cell_D_00000", File, Context{Append: true}, true},
		{"a log inside a dataset", "ckpt.1/train.log", File, Context{}, true},
		{"a socket inside a dataset", "ckpt.1/sock", Special, Context{}, false},
		{"a socket", "ckpt.sock", Special, Context{}, false},
		{"a link to the newest", "last.ckpt", Symlink, Context{}, true},
		{"a link called latest", "latest", Symlink, Context{Siblings: []string{"step_4"}}, true},
		{"a file in an old directory of that name", "restart/input.dat", File, Context{Plain: true}, false},
		{"a directory in an old directory of that name", "restart/step_1", Dir, Context{Plain: true}, true},
		{"a member of a known dataset", "odd/name.dat", File, Context{Root: "odd"}, true},
		{"the prefix directory", ".", Dir, Context{}, false},
		{"scrfs's own directory", "ckpt.1/.scr/summary.scr", File, Context{Root: "ckpt.1"}, false},
	}
	for _, test := range tests {
		if got := (*Table)(nil).Route(test.name, test.kind, test.ctx); got.Claim != test.want {
			t.Errorf("%s: Route(%s, %+v) = %+v", test.promise, test.name, test.ctx, got)
		}
	}
}

func TestRulesComeFirstInTheirOrder(t *testing.T) {
	table := compile(t,
		"bypass ckpt.*/scratch",
		"dataset save/**",
		"output plt*/",
		"bypass *.h5",
		"dataset *.h5",
		"commit DONE",
		"commit ckpt.*/end",
		"inplace WAVECAR",
		"dataset /top",
		"inplace traj.dat",
		"output traj.dat",
		"dataset old.save/",
		"dataset *.keep",
		"bypass *.keep",
		"inplace *.not",
		"bypass *.not",
	)
	tests := []struct {
		name string
		kind Kind
		ctx  Context
		want Decision
	}{
		{"ckpt.1/a", File, Context{}, Decision{Claim: true, RootPath: "ckpt.1"}},
		{"ckpt.1/scratch", File, Context{}, Decision{}},
		{"ckpt.1/scratch/deep/file", File, Context{Root: "ckpt.1"}, Decision{}},
		{"run/ckpt.1/scratch", File, Context{}, Decision{Claim: true, RootPath: "run/ckpt.1"}},
		{"save", Dir, Context{}, Decision{}},
		{"save/x", File, Context{}, Decision{Claim: true}},
		{"save/x", Dir, Context{}, Decision{Claim: true, Root: true, RootPath: "save/x"}},
		{"save/x/y/z", File, Context{}, Decision{Claim: true, RootPath: "save/x"}},
		{"plt10", Dir, Context{}, Decision{Claim: true, Output: true, Root: true, RootPath: "plt10"}},
		{"plt10/Header", File, Context{}, Decision{Claim: true, Output: true, RootPath: "plt10"}},
		{"plt10/Header", File, Context{Root: "plt10"}, Decision{Claim: true, Output: true, RootPath: "plt10"}},
		{"plt10", File, Context{}, Decision{}},
		{"ck.1.h5", File, Context{}, Decision{}},
		{"ckpt.1/x.h5", File, Context{}, Decision{}},
		{"DONE", File, Context{}, Decision{Claim: true, Commit: true}},
		{"a/b/DONE", File, Context{}, Decision{Claim: true, Commit: true}},
		{"ckpt.1/end", File, Context{}, Decision{Claim: true, Commit: true, RootPath: "ckpt.1"}},
		{"ckpt.1/end/below", File, Context{}, Decision{Claim: true, RootPath: "ckpt.1"}},
		{"WAVECAR", File, Context{Existing: true}, Decision{Claim: true, Inplace: true}},
		{"WAVECAR", File, Context{Existing: true, ReadOnly: true}, Decision{}},
		{"top", Dir, Context{}, Decision{Claim: true, Root: true, RootPath: "top"}},
		{"sub/top", Dir, Context{}, Decision{}},
		{"traj.dat", File, Context{}, Decision{Claim: true, Inplace: true, Output: true}},
		{"x.keep", File, Context{}, Decision{Claim: true}},
		{"x.not", File, Context{}, Decision{}},
		{"old.save", Dir, Context{Existing: true}, Decision{}},
		{"old.save/new", File, Context{Plain: true}, Decision{Claim: true, RootPath: "old.save"}},
	}
	for _, test := range tests {
		got := table.Route(test.name, test.kind, test.ctx)
		if got.Rule == "" {
			t.Errorf("Route(%s): no reason given", test.name)
		}
		got.Rule, got.ByRule = "", false
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("Route(%s, kind %d, %+v): -want +got\n%s", test.name, test.kind, test.ctx, diff)
		}
	}
}

func TestPatternsMatchAsShellsDo(t *testing.T) {
	tests := []struct {
		pattern, path string
		want          bool
	}{
		{"*.pt", "a.pt", true},
		{"*.pt", "x/y/a.pt", true},
		{"*.pt", "a.pt/inside", true},
		{"*.pt", "a.ptx", false},
		{"/*.pt", "x/a.pt", false},
		{"x/*.pt", "x/a.pt", true},
		{"x/*.pt", "y/x/a.pt", false},
		{"x/*", "x/a/b", true},
		{"**/x/*.pt", "y/x/a.pt", true},
		{"**/x/*.pt", "x/a.pt", true},
		{"a/**/b", "a/b", true},
		{"a/**/b", "a/1/2/b", true},
		{"a/**/b", "a/1/2/c", false},
		{"a/**", "a", false},
		{"a/**", "a/b/c", true},
		{"**", "a", true},
		{"**/**/c", "a/b/c", true},
		{"a/**/b/**/c", "a/b/b/x/c", true},
		{"ckpt[0-9]", "ckpt7", true},
		{"ckpt[^0-9]", "ckpt7", false},
		{"s?ep", "step", true},
		{`a\*`, "a*", true},
		{`a\*`, "ab", false},
	}
	for _, test := range tests {
		p, err := compilePattern(test.pattern)
		if err != nil {
			t.Fatalf("%s: %v", test.pattern, err)
		}
		if got := p.match(elements(test.path), false) > 0; got != test.want {
			t.Errorf("%s against %s: got %v, want %v", test.pattern, test.path, got, test.want)
		}
	}
}

func TestCompileNamesTheRuleAtFault(t *testing.T) {
	for _, rule := range []string{"dataset ckpt[", "dataset a//b", "dataset a**", "dataset ../x", "dataset /", "dataset ", "frobnicate *", `bypass \`} {
		verb, pattern, _ := strings.Cut(rule, " ")
		_, err := Compile([]Rule{{Verb(verb), pattern, "scr.conf:7"}})
		if err == nil || !strings.Contains(err.Error(), "scr.conf:7") {
			t.Errorf("%s: error %v", rule, err)
		}
	}
}

func TestExplainGivesAnswerAndReason(t *testing.T) {
	table := compile(t, "bypass *.h5")
	tests := []struct {
		name string
		want []string
	}{
		{"run/ckpt.0010/r0", []string{"cached, in the dataset directory run/ckpt.0010", "and run/ckpt.0010: directory name has the word ckpt", "bypass run/ckpt.0010/r0"}},
		{"pp.50.0.restart", []string{"loose file", "ends in .restart", "step: 50"}},
		{"x.h5", []string{"bypass", "bypass *.h5 (test:1)", "1 asked first"}},
		{".scr/index.scr", []string{"scrfs's own directory"}},
	}
	for _, test := range tests {
		got := table.Explain(test.name, File, Context{})
		for _, want := range test.want {
			if !strings.Contains(got, want) {
				t.Errorf("Explain(%s) lacks %q:\n%s", test.name, want, got)
			}
		}
	}
}

// Whatever the rules: .scr and special files are never claimed, a bypassed
// path has no other property, and what lies below a Root is in it.
func TestRouteHoldsItsInvariants(t *testing.T) {
	element := rapid.SampledFrom([]string{"a", "ckpt.1", "step_2", "x.h5", "log.out", ".scr", "..", "0.1", "latest", "restart"})
	name := rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(element, 0, 5).Draw(t, "elements"), "/")
	})
	rule := rapid.Custom(func(t *rapid.T) Rule {
		verb := rapid.SampledFrom([]Verb{Dataset, Output, Bypass, Commit, Inplace}).Draw(t, "verb")
		pattern := rapid.SampledFrom([]string{"*", "a", "a/", "/a/**", "**/step_*", "*.h5", ".scr", "ckpt.?/*"}).Draw(t, "pattern")
		return Rule{verb, pattern, "test"}
	})
	rapid.Check(t, func(t *rapid.T) {
		table, err := Compile(rapid.SliceOfN(rule, 0, 4).Draw(t, "rules"))
		if err != nil {
			t.Fatal(err)
		}
		p := name.Draw(t, "path")
		kind := Kind(rapid.IntRange(0, 3).Draw(t, "kind"))
		ctx := Context{Existing: rapid.Bool().Draw(t, "existing"), Append: rapid.Bool().Draw(t, "append"), Plain: rapid.Bool().Draw(t, "plain")}
		d := table.Route(p, kind, ctx)
		clean := path.Clean("/" + p)[1:]
		if d.Claim && (kind == Special || strings.Contains("/"+clean+"/", "/.scr/") || clean == "") {
			t.Fatalf("claims %s: %+v", p, d)
		}
		if !d.Claim && d != (Decision{Rule: d.Rule}) {
			t.Fatalf("bypass with properties: %+v", d)
		}
		if d.RootPath != "" && d.RootPath != clean && !strings.HasPrefix(clean, d.RootPath+"/") {
			t.Fatalf("%s is not below its root %s", clean, d.RootPath)
		}
		if d.Root && (kind != Dir || d.RootPath != clean) {
			t.Fatalf("not a root: %+v", d)
		}
		if d.Root {
			if below := table.Route(p+"/member", File, Context{Root: d.RootPath}); below.Claim && below.RootPath != d.RootPath {
				t.Fatalf("member of %s has root %s", d.RootPath, below.RootPath)
			}
		}
		if d.Rule == "" {
			t.Fatal("no reason")
		}
	})
}

// A caller that gives siblings only where NeedsSiblings asks for them gets the
// answer of one that always gives them.
func TestSiblingsAreAskedForWhereTheyMatter(t *testing.T) {
	names := []string{"latest", "latest.tmp", "checkpoint", "step_1", "step_2", "foo_1", "foo_2", "foo_3", "best", ".scr", ".git", "a.log", "x.pt", "commit_success.txt"}
	name := rapid.SampledFrom(names)
	rapid.Check(t, func(t *rapid.T) {
		ctx := Context{Siblings: rapid.SliceOfDistinct(name, rapid.ID).Draw(t, "siblings")}
		n, kind := name.Draw(t, "name"), Kind(rapid.IntRange(0, 3).Draw(t, "kind"))
		var table *Table
		if table.NeedsSiblings(n, kind) {
			return
		}
		if with, without := table.Route(n, kind, ctx), table.Route(n, kind, Context{}); with != without {
			t.Fatalf("%s: %+v with siblings %v, %+v without", n, with, ctx.Siblings, without)
		}
	})
	if (*Table)(nil).NeedsSiblings("run/ckpt.1/rank_0.dat", File) {
		t.Error("an ordinary file needs its siblings")
	}
}

func BenchmarkRoute(b *testing.B) {
	table, err := Compile([]Rule{{Bypass, "*.png", "b:1"}, {Dataset, "**/save/", "b:2"}, {Inplace, "WAVECAR", "b:3"}})
	if err != nil {
		b.Fatal(err)
	}
	for _, name := range []string{"run/ckpt.0010/rank_0.dat", "pp.50.0.restart", "results/table.dat"} {
		b.Run(path.Base(name), func(b *testing.B) {
			for b.Loop() {
				table.Route(name, File, Context{})
			}
		})
	}
}

func FuzzRoute(f *testing.F) {
	f.Add("run/ckpt.10/x", "ckpt.*")
	f.Add("../..//0.1e5", "**/[a-z]?/**")
	f.Add("a\xff/9999999999999999999999", "/a/")
	f.Fuzz(func(t *testing.T, name, pattern string) {
		table, err := Compile([]Rule{{Dataset, pattern, "fuzz"}})
		if err != nil {
			return
		}
		for kind := File; kind <= Special; kind++ {
			ctx := Context{Siblings: strings.Split(name, "/")}
			if d := table.Route(name, kind, ctx); d.Rule == "" {
				t.Fatal("no reason")
			}
			if table.Explain(name, kind, ctx) == "" {
				t.Fatal("no explanation")
			}
		}
	})
}

func compile(t *testing.T, lines ...string) *Table {
	t.Helper()
	var rules []Rule
	for _, line := range lines {
		verb, pattern, _ := strings.Cut(line, " ")
		rules = append(rules, Rule{Verb(verb), pattern, "test:1"})
	}
	table, err := Compile(rules)
	if err != nil {
		t.Fatal(err)
	}
	return table
}
