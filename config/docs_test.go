package config

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	docFile    = "../docs/configuration.md"
	tableBegin = "<!-- parameters: a test holds this table against config/table.go -->\n"
	tableEnd   = "<!-- end of parameters -->\n"
)

// docs/configuration.md has one row for each parameter, with what the code has.
func TestDocumentationHasEveryParameter(t *testing.T) {
	doc := readDoc(t)
	_, rest, ok := strings.Cut(doc, tableBegin)
	table, _, ok2 := strings.Cut(rest, tableEnd)
	if !ok || !ok2 {
		t.Fatalf("%s has no lines %q and %q", docFile, tableBegin, tableEnd)
	}
	want := parameterTable()
	if diff := cmp.Diff(want, table); diff != "" {
		t.Errorf("-code +document\n%s", diff)
	}
}

// The tables of lines and of rules have a row for each name, and no other.
func TestDocumentationHasEveryLine(t *testing.T) {
	var rows []string
	for line := range strings.Lines(readDoc(t)) {
		cells := strings.Split(line, "|")
		if len(cells) < 3 {
			continue
		}
		name := strings.Trim(cells[1], " `")
		name, _, _ = strings.Cut(name, "=")
		name, _, _ = strings.Cut(name, " ")
		if slices.Contains(blockNames, name) || ruleVerbs[name] {
			rows = append(rows, name)
		}
	}
	want := slices.Clone(blockNames)
	for verb := range ruleVerbs {
		want = append(want, verb)
	}
	slices.Sort(rows)
	slices.Sort(want)
	if diff := cmp.Diff(want, rows); diff != "" {
		t.Errorf("-code +document\n%s", diff)
	}
}

// A file that uses every setting the tables of lines show is accepted.
func TestDocumentedExampleIsAccepted(t *testing.T) {
	_, rest, ok := strings.Cut(readDoc(t), "```\n# example\n")
	example, _, ok2 := strings.Cut(rest, "```\n")
	if !ok || !ok2 {
		t.Fatal("no example in the document")
	}
	in := user(example)
	c, warnings, err := Load(in)
	if err != nil || len(warnings) > 0 {
		t.Fatalf("warnings %v, error %v", warnings, err)
	}
	if len(c.Checkpoints) < 2 || len(c.Stores) < 2 || len(c.Rules) == 0 || len(c.Groups) == 0 {
		t.Errorf("the example shows too little: %+v", c)
	}
}

func parameterTable() string {
	var b strings.Builder
	b.WriteString("| name | default | value | meaning | here |\n|---|---|---|---|---|\n")
	for _, p := range Params() {
		effect := "obeyed"
		if p.NoEffect != "" {
			effect = "no effect: " + p.NoEffect
		}
		b.WriteString("| " + strings.Join([]string{p.Name, p.Default, p.Form(), p.Meaning, effect}, " | ") + " |\n")
	}
	return b.String()
}

func readDoc(t *testing.T) string {
	t.Helper()
	doc, err := os.ReadFile(docFile)
	if err != nil {
		t.Fatal(err)
	}
	return string(doc)
}
