package router

import "fmt"

// Verb is what a rule does with the paths it matches.
type Verb string

// The verbs of rule lines. Of dataset, output and bypass the first rule that
// matches decides; a bypass rule may take a file out of a claimed directory.
const (
	Dataset Verb = "dataset" // claim; the files are a checkpoint
	Output  Verb = "output"  // claim; the files are not a checkpoint
	Bypass  Verb = "bypass"  // leave on the prefix directory
	Commit  Verb = "commit"  // claim; writing or renaming to it ends the dataset
	Inplace Verb = "inplace" // claim; rewritten in place, keep the last version
)

// Rule is one line of the user's rules. Origin says where it stands, as
// "file:line", and is repeated in explanations.
type Rule struct {
	Verb    Verb
	Pattern string
	Origin  string
}

// Kind is what is being created, opened or renamed at a path.
type Kind int

// Kinds of paths. Special is a socket, FIFO or device.
const (
	File Kind = iota
	Dir
	Symlink
	Special
)

// Context is what the caller knows of a path beside its name. The zero value
// is right for a new path whose directories are all new.
type Context struct {
	// Siblings are the names already in the same directory, in any order.
	Siblings []string
	// Append: the file is opened with O_APPEND.
	Append bool
	// Truncate: the file is opened with O_TRUNC, so its old bytes are not needed.
	Truncate bool
	// ReadOnly: the file is opened for reading only.
	ReadOnly bool
	// Existing: the path is on the prefix directory and not of this job's
	// making. An existing file is claimed only when it is truncated or when an
	// inplace rule names it, for its bytes are not in the cache.
	Existing bool
	// Root is the claimed directory that holds the path, "" if there is none
	// or it is not known. A path below Root is a member of its dataset.
	Root string
	// Plain: the directories above are known to be outside any dataset, so
	// their names are not judged again. User rules still are.
	Plain bool
}

// Decision is the answer for one path.
type Decision struct {
	// Claim: the path lives in the cache. Otherwise it is bypassed, and every
	// other field but Rule is zero.
	Claim bool
	// Output: the dataset is no checkpoint: flushed, never CURRENT.
	Output bool
	// Root: the path is itself a claimed directory with none above it.
	Root bool
	// RootPath is the topmost claimed directory on the path, "" for a loose
	// file. A rule may claim a directory that was there before; it is then a
	// RootPath of what is made in it, but no Root.
	RootPath string
	// Commit: the path is a marker; when it is closed or renamed into place
	// its dataset ends.
	Commit bool
	// ByRule: a rule of the user's decided, and not the name alone.
	ByRule bool
	// Inplace: the file's only copy is rewritten; keep the last boundary's version.
	Inplace bool
	// Rule says in a few words why, with the origin of a user rule.
	Rule string
}

// Table is a compiled list of rules with the defaults behind them. The nil
// Table has the defaults alone.
type Table struct {
	rules []compiled
}

type compiled struct {
	Rule
	pattern pattern
}

// Compile checks the rules and makes a Table of them. Errors name the rule's
// origin and pattern; an unknown verb is an error too.
func Compile(rules []Rule) (*Table, error) {
	t := &Table{rules: make([]compiled, 0, len(rules))}
	for _, r := range rules {
		switch r.Verb {
		case Dataset, Output, Bypass, Commit, Inplace:
		default:
			return nil, fmt.Errorf("%s: %q is no rule: want dataset, output, bypass, commit or inplace", r.Origin, r.Verb)
		}
		p, err := compilePattern(r.Pattern)
		if err != nil {
			return nil, fmt.Errorf("%s: %s %s: %w", r.Origin, r.Verb, r.Pattern, err)
		}
		t.rules = append(t.rules, compiled{r, p})
	}
	return t, nil
}

// String is the rule as it stands in the file, with its place.
func (r Rule) String() string {
	text := string(r.Verb) + " " + r.Pattern
	if r.Origin != "" {
		text += " (" + r.Origin + ")"
	}
	return text
}
