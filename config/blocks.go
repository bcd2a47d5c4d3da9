package config

import (
	"fmt"
	"math"
	"path"
	"slices"
	"strings"

	"github.com/scrfs/scrfs/hostlist"
	"github.com/scrfs/scrfs/scr"
)

// attached is one setting that may stand on a block's line.
type attached struct {
	form     form
	field    any    // pointer to fill, nil if it has no effect
	noEffect string // why
}

// fillBlocks reads the lines with attached settings. As in SCR, lines of one
// name in the user file hide all lines of that name in the system file.
func (l *loader) fillBlocks() {
	c := l.config
	for _, ln := range l.strongest("GROUPS") {
		l.readGroups(ln)
	}
	for _, ln := range l.strongest("STORE") {
		l.readStore(ln)
	}
	c.ControlDirs = l.readNodeDirs("CNTLDIR")
	c.CacheDirs = l.readNodeDirs("CACHEDIR")
	if !slices.ContainsFunc(c.Stores, func(s Store) bool { return s.Path == c.CacheBase }) && c.CacheBase != "" {
		c.Stores = append(c.Stores, Store{
			Path: c.CacheBase, Group: groupNode, Count: c.CacheSize, Mkdir: true, Enabled: true,
			Source: c.sources["SCR_CACHE_BASE"].Source,
		})
	}
	lines := l.strongest("CKPT")
	if c.copyType != copyTypeFile {
		if len(lines) > 0 {
			l.warn(lines[0].source, "CKPT lines have no effect: SCR_COPY_TYPE is %s; set it to FILE", c.copyType)
		}
		if d := l.plainCheckpoint(); len(l.errs) == 0 {
			c.Checkpoints = []Checkpoint{d}
		}
		return
	}
	for _, ln := range lines {
		l.readCheckpoint(ln)
	}
}

const (
	copyTypeFile = "FILE" // SCR_COPY_TYPE: take the CKPT lines
	groupNode    = "NODE"
	groupWorld   = "WORLD"
)

func (l *loader) strongest(name string) []line {
	for layer := UserFile; layer < Default; layer++ {
		if lines := l.blocks[layer][name]; len(lines) > 0 {
			return lines
		}
	}
	return nil
}

// read takes the settings attached to a line. It says false if one is wrong.
func (l *loader) read(ln line, known map[string]attached) bool {
	ok := true
	seen := map[string]bool{}
	for _, e := range ln.settings[1:] {
		a, found := known[e.key]
		shown := ln.settings[0].key + "=" + ln.settings[0].value + " " + e.key + "=" + shorten(e.value)
		switch {
		case !found:
			l.errs.add(ln.source, shown, "want "+strings.Join(sortedKeys(known), ", ")+" after "+ln.settings[0].key)
			ok = false
			continue
		case seen[e.key]:
			l.errs.add(ln.source, shown, "it stands twice on the line")
			ok = false
			continue
		case a.noEffect != "":
			l.warn(ln.source, "%s of %s has no effect: %s", e.key, ln.settings[0].key, a.noEffect)
		}
		seen[e.key] = true
		if err := a.form.parse(e.value, a.field); err != nil {
			l.errs.add(ln.source, shown, err.Error())
			ok = false
		}
	}
	return ok
}

func sortedKeys(m map[string]attached) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

func (l *loader) readStore(ln line) {
	s := Store{Group: groupNode, Count: l.config.CacheSize, Mkdir: true, Enabled: true, Source: ln.source}
	ok := l.read(ln, map[string]attached{
		"GROUP":   {form: form{kind: upper}, field: &s.Group},
		"COUNT":   {form: counts(1, anyCount), field: &s.Count},
		"MKDIR":   {form: form{kind: onOff}, field: &s.Mkdir},
		"ENABLED": {form: form{kind: onOff}, field: &s.Enabled},
		"FLUSH":   {noEffect: "flush is always in the background"},
		"VIEW":    {noEffect: "scrfs sees for itself whether nodes share a directory"},
		"TYPE":    {noEffect: "the kind of a store makes no difference"},
	})
	ok = l.absolute(ln, &s.Path) && ok
	if slices.ContainsFunc(l.config.Stores, func(o Store) bool { return o.Path == s.Path }) {
		l.errs.add(ln.source, "STORE="+s.Path, "the store has a line already")
		ok = false
	}
	if ok {
		l.config.Stores = append(l.config.Stores, s)
	}
}

func (l *loader) absolute(ln line, field *string) bool {
	first := ln.settings[0]
	if err := (form{kind: directory}).parse(first.value, field); err != nil {
		l.errs.add(ln.source, first.key+"="+first.value, err.Error())
		return false
	}
	return true
}

func (l *loader) readNodeDirs(name string) []NodeDir {
	var dirs []NodeDir
	for _, ln := range l.strongest(name) {
		d := NodeDir{Source: ln.source}
		ok := l.read(ln, map[string]attached{"BYTES": {form: sizes(0, anySize), field: &d.Bytes}})
		if l.absolute(ln, &d.Path) && ok {
			dirs = append(dirs, d)
		}
	}
	return dirs
}

// readGroups takes GROUPS=hosts NAME=value ...; the hosts may be a host list.
func (l *loader) readGroups(ln line) {
	shown := "GROUPS=" + shorten(ln.settings[0].value)
	n, err := hostlist.Count(ln.settings[0].value)
	if l.groupHosts += n; err == nil && l.groupHosts > hostlist.MaxHosts {
		err = hostlist.ErrTooMany
	}
	if err != nil {
		l.errs.add(ln.source, shown, err.Error())
		return
	}
	hosts, err := hostlist.Expand(ln.settings[0].value)
	if err != nil {
		panic(fmt.Sprintf("BUG: host list %q has %d hosts, but %v", ln.settings[0].value, n, err))
	}
	if len(ln.settings) == 1 {
		l.errs.add(ln.source, shown, "want the groups of the host after it, as POWER=psu1")
		return
	}
	if l.config.Groups == nil {
		l.config.Groups = map[string]map[string]string{}
	}
	for _, e := range ln.settings[1:] {
		if e.key == groupNode || e.key == groupWorld {
			l.errs.add(ln.source, shown+" "+e.key+"="+e.value, "NODE and WORLD are groups already")
			return
		}
		for _, h := range hosts {
			if l.config.Groups[h] == nil {
				l.config.Groups[h] = map[string]string{}
			}
			if before, twice := l.config.Groups[h][e.key]; twice {
				l.errs.add(ln.source, shown+" "+e.key+"="+e.value, fmt.Sprintf("host %s is in %s=%s already", h, e.key, before))
				return
			}
			l.config.Groups[h][e.key] = e.value
		}
	}
}

// plainCheckpoint is the one descriptor there is without CKPT lines, and what
// their settings default to.
func (l *loader) plainCheckpoint() Checkpoint {
	c := l.config
	d := Checkpoint{
		Enabled: true, Interval: 1, Store: c.CacheBase, Group: c.group, SetSize: c.setSize, SetFailures: defaultFailures,
		Source: c.sources["SCR_COPY_TYPE"].Source,
	}
	if c.copyType == copyTypeFile {
		d.Type = scr.XOR
	} else if t, err := scr.ParseScheme(c.copyType); err == nil {
		d.Type = t
	}
	return d
}

func (l *loader) readCheckpoint(ln line) {
	d := l.plainCheckpoint()
	d.Source = ln.source
	typ := d.Type.String()
	ok := l.read(ln, map[string]attached{
		"ENABLED":      {form: form{kind: onOff}, field: &d.Enabled},
		"INTERVAL":     {form: counts(1, anyCount), field: &d.Interval},
		"STORE":        {form: form{kind: directory}, field: &d.Store},
		"TYPE":         {form: oneOf("SINGLE", "LOCAL", "PARTNER", "XOR", "RS"), field: &typ},
		"GROUP":        {form: form{kind: upper}, field: &d.Group},
		"SET_SIZE":     {form: counts(1, anyCount), field: &d.SetSize},
		"SET_FAILURES": {form: counts(1, anyCount), field: &d.SetFailures},
		"OUTPUT":       {form: form{kind: onOff}, field: &d.Output},
		"BYPASS":       {form: form{kind: onOff}, field: &d.Bypass},
		"HOP_DISTANCE": {form: counts(0, anyCount), noEffect: "the partner is the neighbour in the set, as in SCR since 2014"},
	})
	first := ln.settings[0]
	if err := counts(0, math.MaxInt32).parse(first.value, &d.ID); err != nil {
		l.errs.add(ln.source, "CKPT="+first.value, err.Error())
		ok = false
	}
	if i := slices.IndexFunc(l.config.Checkpoints, func(o Checkpoint) bool { return o.ID == d.ID }); i >= 0 && ok {
		l.errs.add(ln.source, "CKPT="+first.value, "the descriptor has a line already, at "+l.config.Checkpoints[i].Source.String())
		ok = false
	}
	if !ok {
		return
	}
	t, err := scr.ParseScheme(typ)
	if err != nil {
		panic(fmt.Sprintf("BUG: the form took TYPE=%s: %v", typ, err))
	}
	d.Type, d.Store = t, path.Clean(d.Store)
	l.config.Checkpoints = append(l.config.Checkpoints, d)
}

// defaultFailures is SCR's default of SET_FAILURES, which only RS has.
const defaultFailures = 2
