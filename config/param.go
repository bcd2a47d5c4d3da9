package config

import (
	"fmt"
	"slices"
	"strings"
)

// Param is one name that may be set.
type Param struct {
	Name    string
	Meaning string
	// Default is the value if nothing is set; "" is none.
	Default string
	// NoEffect says why the parameter does nothing here; "" if it is obeyed.
	NoEffect string

	form   form
	where  where
	secret bool
	field  func(*Config) any
}

// Form says in words what values the parameter takes.
func (p Param) Form() string { return p.form.words() }

// where restricts the layers a parameter is taken from.
type where int

const (
	anywhere    where = iota
	notUserFile       // set by those who run the machine; SCR ignores it in the user file
	notFiles          // it names a file, so no file can set it
)

// Params returns every parameter, SCR's in the order of its documentation and
// then scrfs's own.
func Params() []Param { return slices.Clone(params) }

// Known returns the parameter of a name, in upper case.
func Known(name string) (Param, bool) {
	i, ok := paramIndex[name]
	if !ok {
		return Param{}, false
	}
	return params[i], true
}

var paramIndex = func() map[string]int {
	index := make(map[string]int, len(params))
	for i, p := range params {
		index[p.Name] = i
	}
	return index
}()

// unknown is the rule that an unknown name broke, with a guess at what was meant.
func unknown(name string) string {
	best, distance := "", 3
	for _, p := range params {
		if d := editDistance(name, p.Name, distance); d < distance {
			best, distance = p.Name, d
		}
	}
	for _, b := range blockNames {
		if d := editDistance(name, b, distance); d < distance {
			best, distance = b, d
		}
	}
	if best != "" {
		return fmt.Sprintf("no parameter of SCR or scrfs; did you mean %s?", best)
	}
	return "no parameter of SCR or scrfs; docs/configuration.md lists all"
}

// editDistance counts the characters to insert, delete or replace; it returns
// limit as soon as the lengths alone say so.
func editDistance(a, b string, limit int) int {
	if len(a)-len(b) >= limit || len(b)-len(a) >= limit {
		return limit
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

// blockNames are the names of lines with attached settings.
var blockNames = []string{"CKPT", "STORE", "GROUPS", "CACHEDIR", "CNTLDIR"}

// isOurs says whether a name of the environment is meant for us. The names
// SCRFS_INTERNAL_* are how scrfs's processes speak to each other.
func isOurs(name string) bool {
	return (strings.HasPrefix(name, "SCR_") || strings.HasPrefix(name, "SCRFS_")) &&
		!strings.HasPrefix(name, "SCRFS_INTERNAL_")
}
