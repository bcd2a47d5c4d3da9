package config

import (
	"path"
	"strings"
)

// ruleVerbs are the first words of rule lines.
var ruleVerbs = map[string]bool{
	"dataset": true, "output": true, "bypass": true, "commit": true, "inplace": true,
	verbQuiet: true,
}

// verbQuiet is a setting in the shape of a rule.
const verbQuiet = "quiet"

// patternFault says what is wrong with a rule's pattern, "" if nothing. Each
// element between slashes is a pattern of path.Match, or "**" for any number
// of elements; one slash may stand before it and one after it.
func patternFault(pattern string) string {
	body := strings.TrimPrefix(strings.TrimSuffix(pattern, "/"), "/")
	if body == "" {
		return "the pattern is empty"
	}
	for e := range strings.SplitSeq(body, "/") {
		switch {
		case e == "":
			return "two slashes in a row"
		case e == "." || e == "..":
			return "'.' and '..' have no place in a pattern"
		case e != "**" && strings.Contains(e, "**"):
			return "'**' must stand alone between slashes"
		}
		if _, err := path.Match(e, ""); err != nil {
			return "want a pattern as ckpt.* or **/step_[0-9]*, with every bracket closed"
		}
	}
	return ""
}

// addRule takes a rule line into the Config, or quiet into the layer's values.
func (l *loader) addRule(ln line) {
	if ln.verb == verbQuiet {
		l.set(Setting{Value: ln.argument, Source: ln.source}, "SCRFS_QUIET", verbQuiet+" "+ln.argument)
		return
	}
	if fault := patternFault(ln.argument); fault != "" {
		l.errs.add(ln.source, ln.verb+" "+shorten(ln.argument), fault)
		return
	}
	l.config.Rules = append(l.config.Rules, Rule{ln.verb, ln.argument, ln.source})
}
