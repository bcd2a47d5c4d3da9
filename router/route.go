package router

import (
	"path"
	"strings"
)

// Route decides for one path, given relative to the prefix directory and
// slash-separated. It is defined for every string: a path that is absolute or
// climbs out is taken as if it began at the prefix directory.
func (t *Table) Route(name string, kind Kind, ctx Context) Decision {
	elems := elements(name)
	if len(elems) == 0 {
		return bypass("the prefix directory itself")
	}
	for _, e := range elems {
		if e == stateDir {
			return bypass("scrfs's own directory " + stateDir)
		}
	}
	if kind == Special {
		return bypass("socket, FIFO or device")
	}
	root := t.enclosing(elems, ctx)
	d, ruled := t.byRule(elems, kind)
	switch {
	case ruled && !d.Claim:
		return d
	case ctx.Existing && !writtenAnew(kind, ctx, d.Inplace):
		return bypass("was there before and is not written anew")
	case ruled:
	case root != "":
		d = Decision{Claim: true, Output: t.outputAt(root), Rule: "inside the claimed directory " + root}
	default:
		d = byDefault(elems[len(elems)-1], kind, ctx)
	}
	d.RootPath = root
	if d.Claim && root == "" && kind == Dir {
		d.Root, d.RootPath = true, strings.Join(elems, "/")
	}
	return d
}

// NeedsSiblings says whether Context.Siblings can make a difference for the
// path. Most names need none, and the caller is spared listing the directory.
func (t *Table) NeedsSiblings(name string, kind Kind) bool {
	elems := elements(name)
	if len(elems) == 0 {
		return false
	}
	last := elems[len(elems)-1]
	switch kind {
	case Dir:
		return last != stateDir && !neverDirs[last] && !datasetDir(last).yes
	case File, Symlink:
		return besideMarkers[finalName(last)]
	case Special:
	}
	return false
}

// writtenAnew says whether the job makes an existing path its own.
func writtenAnew(kind Kind, ctx Context, inplace bool) bool {
	return kind == File && !ctx.ReadOnly && (ctx.Truncate || inplace)
}

// enclosing returns the topmost claimed directory above the path, "" if none.
func (t *Table) enclosing(elems []string, ctx Context) string {
	if ctx.Root != "" {
		return ctx.Root
	}
	for depth := 1; depth < len(elems); depth++ {
		d, ruled := t.byRule(elems[:depth], Dir)
		if !ruled && !ctx.Plain {
			d = byDefault(elems[depth-1], Dir, Context{})
		}
		if d.Claim {
			return strings.Join(elems[:depth], "/")
		}
	}
	return ""
}

// outputAt says whether a rule makes the claimed directory output.
func (t *Table) outputAt(root string) bool {
	d, _ := t.byRule(elements(root), Dir)
	return d.Output
}

// byRule looks for rules that match the path or a directory above it. The
// first dataset, output or bypass rule decides; commit and inplace claim what
// none of these names, and mark what is claimed.
func (t *Table) byRule(elems []string, kind Kind) (d Decision, ruled bool) {
	if t == nil {
		return Decision{}, false
	}
	decided := false
	for _, r := range t.rules {
		depth := r.pattern.match(elems, kind == Dir)
		if depth == 0 {
			continue
		}
		switch r.Verb {
		case Bypass:
			if !decided {
				return bypass(r.String()), true
			}
		case Dataset, Output:
			d.Output = d.Output || r.Verb == Output && !decided
			decided = true
		case Commit:
			d.Commit = d.Commit || depth == len(elems)
		case Inplace:
			d.Inplace = true
		}
		if !d.Claim {
			d.Claim, d.Rule = true, r.String()
		}
	}
	d.ByRule = d.Claim
	return d, d.Claim
}

// stateDir is where SCR and scrfs keep their own files.
const stateDir = ".scr"

func bypass(why string) Decision { return Decision{Rule: why} }

// elements cleans a path and cuts it up; the prefix directory has none.
func elements(name string) []string {
	clean := path.Clean("/" + name)
	if clean == "/" {
		return nil
	}
	return strings.Split(clean[1:], "/")
}
