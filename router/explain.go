package router

import (
	"fmt"
	"strings"
)

// Explain says in a few lines of text what Route decides for a path and why,
// as `scrfs route` prints it: the answer first, then the reason, then the
// reason for the directory that claims it, then what the user may do. Lines
// end in a newline; only the first is not indented.
func (t *Table) Explain(name string, kind Kind, ctx Context) string {
	d := t.Route(name, kind, ctx)
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n", name, answer(d))
	fmt.Fprintf(&b, "  because: %s\n", d.Rule)
	if d.RootPath != "" && !d.Root {
		root := t.Route(d.RootPath, Dir, Context{Plain: true})
		if root.Claim && root.Rule != d.Rule {
			fmt.Fprintf(&b, "  and %s: %s\n", d.RootPath, root.Rule)
		}
	}
	if step, ok := Step(lastElement(name)); ok && d.Claim {
		fmt.Fprintf(&b, "  step: %d, if the number that moves from one dataset to the next is that one\n", step)
	}
	if n := t.ruleCount(); n > 0 {
		fmt.Fprintf(&b, "  rules: %d asked first, in their order\n", n)
	}
	if d.Claim {
		fmt.Fprintf(&b, "  to change it: a line 'bypass %s' in the configuration file\n", name)
	} else if !strings.HasPrefix(d.Rule, "scrfs's own") && kind != Special {
		fmt.Fprintf(&b, "  to change it: a line 'dataset %s' in the configuration file\n", name)
	}
	return b.String()
}

func (t *Table) ruleCount() int {
	if t == nil {
		return 0
	}
	return len(t.rules)
}

func answer(d Decision) string {
	if !d.Claim {
		return "bypass, goes to the prefix directory untouched"
	}
	text := "cached, a loose file of the dataset being written"
	switch {
	case d.Root:
		text = "cached, a dataset directory"
	case d.RootPath != "":
		text = "cached, in the dataset directory " + d.RootPath
	}
	if d.Output {
		text += ", output and no checkpoint"
	}
	if d.Commit {
		text += ", ends its dataset"
	}
	if d.Inplace {
		text += ", rewritten in place"
	}
	return text
}

func lastElement(name string) string {
	elems := elements(name)
	if len(elems) == 0 {
		return ""
	}
	return elems[len(elems)-1]
}
