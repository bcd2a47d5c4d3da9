package router

import (
	"errors"
	"path"
	"strings"
)

// pattern is a rule's pattern, cut at its slashes. Each element is a
// path.Match pattern; "**" stands for any number of elements, none included,
// but at the end for at least one.
type pattern struct {
	elems   []string
	dirOnly bool
}

var (
	errEmptyPattern = errors.New("the pattern is empty")
	errDotPattern   = errors.New("'.' and '..' have no place in a pattern")
	errEmptyElement = errors.New("two slashes in a row")
	errStars        = errors.New("'**' must stand alone between slashes")
)

// compilePattern reads a pattern. One without a slash matches the last
// element at any depth; one with a slash begins at the prefix directory. A
// slash at the end restricts it to directories.
func compilePattern(text string) (pattern, error) {
	body, dirOnly := strings.CutSuffix(text, "/")
	anchored := strings.Contains(body, "/")
	body = strings.TrimPrefix(body, "/")
	if body == "" {
		return pattern{}, errEmptyPattern
	}
	elems := strings.Split(body, "/")
	for _, e := range elems {
		switch {
		case e == "":
			return pattern{}, errEmptyElement
		case e == "." || e == "..":
			return pattern{}, errDotPattern
		case e != "**" && strings.Contains(e, "**"):
			return pattern{}, errStars
		}
		if _, err := path.Match(e, ""); err != nil {
			return pattern{}, err
		}
	}
	if !anchored {
		elems = append([]string{"**"}, elems...)
	}
	return pattern{elems, dirOnly}, nil
}

// match returns how many leading elements of the path the pattern matches,
// the fewest if several; 0 if it matches neither the path nor a directory
// above it.
func (p pattern) match(elems []string, isDir bool) int {
	for depth := 1; depth <= len(elems); depth++ {
		if p.dirOnly && depth == len(elems) && !isDir {
			continue
		}
		if matchElems(p.elems, elems[:depth]) {
			return depth
		}
	}
	return 0
}

// matchElems matches whole paths. A "**" at the end is only come to while an
// element is left for it. On a mismatch only the latest "**" takes
// one element more: what earlier ones could take instead, it can take too, so
// the work is at most the product of the two lengths.
func matchElems(pat, elems []string) bool {
	p, e := 0, 0
	starAt, takenTo := -1, 0
	for e < len(elems) {
		switch {
		case p < len(pat) && pat[p] == "**":
			starAt, takenTo = p, e
			p++
		case p < len(pat) && matchOne(pat[p], elems[e]):
			p, e = p+1, e+1
		case starAt >= 0:
			takenTo++
			p, e = starAt+1, takenTo
		default:
			return false
		}
	}
	return p == len(pat)
}

func matchOne(pat, elem string) bool {
	ok, err := path.Match(pat, elem)
	return ok && err == nil
}
