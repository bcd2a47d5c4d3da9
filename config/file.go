package config

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
)

// maxFileBytes and maxLineBytes bound a configuration file; real ones have a
// few hundred bytes.
const (
	maxFileBytes = 1 << 20
	maxLineBytes = 64 << 10
)

// entry is one KEY=value.
type entry struct{ key, value string }

// line is what one line of a file says: a setting with those attached to it,
// or a rule.
type line struct {
	source   Source
	settings []entry // the first is the line's own; empty for a rule
	verb     string  // of a rule, in lower case
	argument string
}

// SettingError is a setting that was not accepted.
type SettingError struct {
	Source Source
	Text   string // the setting as written, or the line
	Rule   string // what it broke
}

// Error names place, setting and rule.
func (e *SettingError) Error() string { return e.Source.String() + ": " + e.Text + ": " + e.Rule }

// errorList gathers the errors of a run, so that all are reported at once.
type errorList []error

func (l *errorList) add(s Source, what, rule string) {
	*l = append(*l, &SettingError{s, what, rule})
}

// parseFile reads a configuration file. Lines at fault are left out and added
// to errs; an error in reading is added too.
func parseFile(name string, r io.Reader, layer Layer, lookup func(string) (string, bool), errs *errorList) []line {
	var lines []line
	scanner := bufio.NewScanner(io.LimitReader(r, maxFileBytes+1))
	scanner.Buffer(nil, maxLineBytes)
	source := Source{Layer: layer, File: name}
	read := 0
	for scanner.Scan() {
		source.Line++
		if read += len(scanner.Bytes()) + 1; read > maxFileBytes {
			errs.add(source, "the file", fmt.Sprintf("want no more than %d bytes", maxFileBytes))
			return lines
		}
		raw := strings.TrimSuffix(scanner.Text(), "\r")
		l, err := parseLine(raw, lookup)
		switch {
		case err != nil:
			shown := withoutSecret(raw)
			if shown == hidden {
				err = errors.New("not KEY=value; the line is not shown, it may hold a password")
			}
			errs.add(source, shown, err.Error())
		case l.verb != "" || len(l.settings) > 0:
			l.source = source
			lines = append(lines, l)
		}
	}
	if err := scanner.Err(); err != nil {
		source.Line++
		*errs = append(*errs, fmt.Errorf("%s: read the file: %w", source, err))
	}
	return lines
}

// parseLine reads one line; a blank one gives the zero line.
func parseLine(raw string, lookup func(string) (string, bool)) (line, error) {
	if i := strings.IndexFunc(raw, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }); i >= 0 {
		return line{}, errors.New("control character in the line")
	}
	words, err := splitWords(raw)
	if err != nil || len(words) == 0 {
		return line{}, err
	}
	if verb := strings.ToLower(words[0]); ruleVerbs[verb] {
		if len(words) != 2 {
			return line{}, fmt.Errorf("want one word after %s", verb)
		}
		return line{verb: verb, argument: unquote(words[1])}, nil
	}
	var l line
	for _, w := range words {
		e, err := parseEntry(w, lookup)
		if err != nil {
			return line{}, err
		}
		l.settings = append(l.settings, e)
	}
	return l, nil
}

func parseEntry(w string, lookup func(string) (string, bool)) (entry, error) {
	key, value, ok := strings.Cut(w, "=")
	switch {
	case !ok:
		return entry{}, fmt.Errorf("want KEY=value without blanks, or one of the rules dataset, output, bypass, commit, inplace, quiet; got %q", shorten(w))
	case !isName(key):
		return entry{}, fmt.Errorf("%q is no name", shorten(key))
	}
	value, err := expand(unquote(value), lookup)
	if err != nil {
		return entry{}, err
	}
	if value == "" {
		return entry{}, fmt.Errorf("%s has no value; leave the line out for the default", key)
	}
	return entry{strings.ToUpper(key), value}, nil
}

// splitWords cuts a line at blanks that are not within double quotes; a '#'
// that begins a word ends the line.
func splitWords(s string) ([]string, error) {
	var words []string
	quoted, start := false, -1
	for i := range len(s) {
		blank := (s[i] == ' ' || s[i] == '\t') && !quoted
		switch {
		case blank && start >= 0:
			words = append(words, s[start:i])
			start = -1
		case blank:
		case s[i] == '#' && start < 0:
			return words, nil
		default:
			if s[i] == '"' {
				quoted = !quoted
			}
			if start < 0 {
				start = i
			}
		}
	}
	if quoted {
		return nil, errors.New("a quote is not closed")
	}
	if start >= 0 {
		words = append(words, s[start:])
	}
	return words, nil
}

func unquote(s string) string { return strings.ReplaceAll(s, `"`, "") }

// expand replaces $NAME and ${NAME}. A dollar before anything else stands for
// itself.
func expand(s string, lookup func(string) (string, bool)) (string, error) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '$' {
			b.WriteByte(s[i])
			continue
		}
		name, end, err := variable(s, i)
		if err != nil {
			return "", err
		}
		if name == "" {
			b.WriteByte('$')
			continue
		}
		value, ok := lookup(name)
		if !ok {
			return "", fmt.Errorf("$%s is not set", name)
		}
		b.WriteString(value)
		i = end - 1
	}
	return b.String(), nil
}

// variable reads the name after the dollar at s[i] and returns its end; the
// name is empty if none follows.
func variable(s string, i int) (name string, end int, err error) {
	if strings.HasPrefix(s[i+1:], "{") {
		name, _, closed := strings.Cut(s[i+2:], "}")
		if !closed || !isName(name) {
			return "", 0, fmt.Errorf("want ${NAME}, got %q", shorten(s[i:]))
		}
		return name, i + len("${}") + len(name), nil
	}
	end = i + 1
	for end < len(s) && isNameByte(s[end], end > i+1) {
		end++
	}
	return s[i+1 : end], end, nil
}

func isName(s string) bool {
	for i := range len(s) {
		if !isNameByte(s[i], i > 0) {
			return false
		}
	}
	return s != ""
}

func isNameByte(c byte, digitsToo bool) bool {
	return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || digitsToo && c >= '0' && c <= '9'
}

// hidden stands for what may hold a password.
const hidden = "(hidden)"

// withoutSecret is a line as messages may show it.
func withoutSecret(raw string) string {
	if strings.Contains(strings.ToUpper(raw), "_PASS") {
		return hidden
	}
	return shorten(strings.TrimSpace(raw))
}

func shorten(s string) string {
	const shown = 120
	if len(s) > shown {
		return s[:shown] + "..."
	}
	return s
}
