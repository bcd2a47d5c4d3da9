package config

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// Input is everything that Load looks at.
type Input struct {
	// Flags holds what was given on the command line, by the parameter's name.
	Flags map[string]string
	// Rules are rule lines given on the command line, as "dataset ckpt.*".
	Rules []string
	// Environment holds all variables. Names that do not begin with SCR_ or
	// SCRFS_ are used only for $NAME in files; an empty value is no value.
	Environment map[string]string
	// User and System are the files; a nil Reader is a file that is not there.
	User, System File
	// Defaults stand in for the built-in ones: what the machine and the
	// resource manager say of SCR_PREFIX, SCR_JOB_ID and the like.
	Defaults map[string]string
}

// File is an open configuration file with its name for messages.
type File struct {
	Name   string
	Reader io.Reader
}

// Load makes the Config. On an error the Config is nil and the error joins a
// *SettingError for each setting at fault. There is one Warning for each
// setting that does not do what it seems to; they are for the user to read.
func Load(in Input) (*Config, []Warning, error) {
	l := loader{config: &Config{sources: map[string]Setting{}}}
	lookup := func(name string) (string, bool) {
		v, ok := in.Environment[name]
		return v, ok
	}
	for _, name := range slices.Sorted(maps.Keys(in.Flags)) {
		l.given(name, in.Flags[name], Source{Layer: Flag})
	}
	for _, name := range slices.Sorted(maps.Keys(in.Environment)) {
		if isOurs(name) {
			l.given(name, in.Environment[name], Source{Layer: Environment})
		}
	}
	for _, text := range in.Rules {
		l.ruleText(text)
	}
	for _, f := range []struct {
		File
		layer Layer
	}{{in.User, UserFile}, {in.System, SystemFile}} {
		if f.Reader != nil {
			l.addFile(parseFile(f.Name, f.Reader, f.layer, lookup, &l.errs))
		}
	}
	l.fill(in.Defaults)
	l.fillBlocks()
	if len(l.errs) == 0 {
		l.check()
	}
	if len(l.errs) > 0 {
		return nil, l.warnings, errors.Join(l.errs...)
	}
	return l.config, l.warnings, nil
}

// loader is a Load under way.
type loader struct {
	config   *Config
	values   [Default]map[string]Setting // by layer
	blocks   [Default]map[string][]line  // by layer and name
	warnings []Warning
	errs     errorList
	// groupHosts counts the hosts of all GROUPS lines, to bound the memory.
	groupHosts int
}

// given takes a value of the command line or the environment.
func (l *loader) given(name, value string, s Source) {
	if value != "" {
		l.set(Setting{Value: value, Source: s}, name, name+"="+value)
	}
}

func (l *loader) ruleText(text string) {
	s := Source{Layer: Flag}
	ln, err := parseLine(text, func(string) (string, bool) { return "", false })
	switch {
	case err != nil:
		l.errs.add(s, shorten(text), err.Error())
	case ln.verb == "":
		l.errs.add(s, shorten(text), "want a rule: dataset, output, bypass, commit, inplace or quiet, and one word")
	default:
		ln.source = s
		l.addRule(ln)
	}
}

func (l *loader) addFile(lines []line) {
	for _, ln := range lines {
		switch {
		case ln.verb != "":
			l.addRule(ln)
		case slices.Contains(blockNames, ln.settings[0].key):
			l.addBlock(ln)
		default:
			l.addSetting(ln)
		}
	}
}

func (l *loader) addSetting(ln line) {
	first := ln.settings[0]
	shown := withoutSecret(first.key + "=" + first.value)
	if _, ok := Known(first.key); ok && len(ln.settings) > 1 {
		l.errs.add(ln.source, shown+" "+ln.settings[1].key+"=...", "only "+strings.Join(blockNames, ", ")+" take further settings on their line")
		return
	}
	l.set(Setting{Value: first.value, Source: ln.source}, first.key, shown)
}

func (l *loader) addBlock(ln line) {
	layer := ln.source.Layer
	if l.blocks[layer] == nil {
		l.blocks[layer] = map[string][]line{}
	}
	name := ln.settings[0].key
	l.blocks[layer][name] = append(l.blocks[layer][name], ln)
}

// set notes a value in its layer, if the name is known and may stand there.
// Its form is checked even if a stronger layer hides it.
func (l *loader) set(s Setting, name, shown string) {
	p, ok := Known(name)
	shown = withoutSecret(shown)
	switch {
	case slices.Contains(blockNames, name):
		l.errs.add(s.Source, shown, "such lines stand in a configuration file")
		return
	case !ok:
		l.errs.add(s.Source, shown, unknown(name))
		return
	case p.where == notFiles && s.Source.Layer >= UserFile:
		l.errs.add(s.Source, shown, "it names a file, so it is not taken from one")
		return
	case p.where == notUserFile && s.Source.Layer == UserFile:
		l.warn(s.Source, "%s is not taken from the user file, as in SCR; it is set by those who run the machine", name)
		return
	}
	if err := p.form.parse(s.Value, nil); err != nil {
		l.errs.add(s.Source, shown, err.Error())
		return
	}
	layer := s.Source.Layer
	if l.values[layer] == nil {
		l.values[layer] = map[string]Setting{}
	}
	if before, twice := l.values[layer][name]; twice {
		l.errs.add(s.Source, shown, fmt.Sprintf("it was set before, at %s", before.Source))
		return
	}
	s.Param = p
	l.values[layer][name] = s
}

func (l *loader) warn(s Source, format string, args ...any) {
	l.warnings = append(l.warnings, Warning{s, fmt.Sprintf(format, args...)})
}

// fill takes for each parameter the value of its strongest layer.
func (l *loader) fill(defaults map[string]string) {
	for _, name := range slices.Sorted(maps.Keys(defaults)) {
		if _, ok := Known(name); !ok {
			panic(fmt.Sprintf("BUG: a default for %s, which is no parameter", name))
		}
	}
	for _, p := range params {
		s := Setting{Param: p, Value: p.Default, Source: Source{Layer: Default}}
		if v := defaults[p.Name]; v != "" {
			s.Value = v
		}
		for layer := Flag; layer < Default; layer++ {
			if found, ok := l.values[layer][p.Name]; ok {
				s = found
				break
			}
		}
		l.config.sources[p.Name] = s
		if p.NoEffect != "" {
			if s.Source.Layer != Default {
				l.warn(s.Source, "%s has no effect: %s", p.Name, p.NoEffect)
			}
			continue
		}
		if s.Value == "" {
			continue
		}
		if err := p.form.parse(s.Value, p.field(l.config)); err != nil {
			l.errs.add(s.Source, p.Name+"="+shorten(s.Value), err.Error())
		}
	}
}
