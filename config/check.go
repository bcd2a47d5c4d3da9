package config

import (
	"fmt"
	"net"
	"slices"
	"strings"

	"github.com/scrfs/scrfs/hostlist"
	"github.com/scrfs/scrfs/scr"
)

// check holds the values against each other. Each is of its form by now.
func (l *loader) check() {
	c := l.config
	for i, d := range c.Checkpoints {
		l.checkCheckpoint(d)
		for _, before := range c.Checkpoints[:i] {
			if before.Enabled && d.Enabled && before.Interval == d.Interval && before.Output == d.Output {
				l.warn(d.Source, "CKPT=%d has no effect: CKPT=%d has the same INTERVAL=%d and comes first", d.ID, before.ID, d.Interval)
				break
			}
		}
	}
	if !slices.ContainsFunc(c.Checkpoints, func(d Checkpoint) bool { return d.Enabled && d.Interval == 1 && !d.Output }) {
		l.errs.add(c.sources["SCR_COPY_TYPE"].Source, "SCR_COPY_TYPE=FILE",
			"want a line CKPT=n INTERVAL=1 that is enabled and not for output, or some checkpoints have no scheme")
	}
	for _, s := range c.Stores {
		l.checkGroup(s.Source, "STORE="+s.Path, s.Group)
	}
	l.checkPlaces()
	for _, name := range []string{"SCR_NODELIST", "SCR_EXCLUDE_NODES"} {
		s := c.sources[name]
		if _, err := hostlist.Expand(s.Value); err != nil {
			l.errs.add(s.Source, name+"="+shorten(s.Value), err.Error())
		}
	}
	if c.Listen != "" {
		if _, _, err := net.SplitHostPort(c.Listen); err != nil {
			l.errs.add(c.sources["SCRFS_LISTEN"].Source, "SCRFS_LISTEN="+c.Listen, "want host:port, :port or host:0")
		}
	}
}

func (l *loader) checkCheckpoint(d Checkpoint) {
	if !d.Enabled {
		return
	}
	c := l.config
	name := fmt.Sprintf("CKPT=%d", d.ID)
	source := func(parameter string) Source {
		if c.copyType == copyTypeFile {
			return d.Source
		}
		return c.sources[parameter].Source
	}
	if c.copyType != copyTypeFile {
		name = "SCR_COPY_TYPE=" + c.copyType
	}
	if d.Type != scr.Single && d.SetSize < 2 {
		l.errs.add(source("SCR_SET_SIZE"), fmt.Sprintf("%s SET_SIZE=%d", name, d.SetSize), fmt.Sprintf("%s needs sets of at least 2", d.Type))
	}
	if d.Type == scr.RS && d.SetFailures >= d.SetSize {
		l.errs.add(source("SCR_SET_SIZE"), fmt.Sprintf("%s SET_FAILURES=%d", name, d.SetFailures), fmt.Sprintf("want less than SET_SIZE=%d", d.SetSize))
	}
	l.checkGroup(source("SCR_GROUP"), name, d.Group)
	i := slices.IndexFunc(c.Stores, func(s Store) bool { return s.Path == d.Store })
	switch {
	case i < 0:
		l.errs.add(d.Source, name+" STORE="+d.Store, "want a line STORE="+d.Store+", or the directory of SCR_CACHE_BASE")
	case !c.Stores[i].Enabled:
		l.errs.add(d.Source, name+" STORE="+d.Store, "the store is not enabled, at "+c.Stores[i].Source.String())
	}
}

// checkGroup wants a group to be NODE, WORLD or on a GROUPS line.
func (l *loader) checkGroup(s Source, what, group string) {
	if group == groupNode || group == groupWorld {
		return
	}
	for _, groups := range l.config.Groups {
		if _, ok := groups[group]; ok {
			return
		}
	}
	l.errs.add(s, what+" GROUP="+group, "want NODE, WORLD, or a name that a GROUPS line has")
}

// checkPlaces keeps cache and control directory off the prefix directory: the
// mount over it would hide them.
func (l *loader) checkPlaces() {
	c := l.config
	if !strings.HasPrefix(c.Prefix, "/") {
		return // relative to a directory that cmd knows
	}
	prefix := strings.TrimRight(c.Prefix, "/") + "/"
	below := func(dir string) bool { return strings.HasPrefix(dir+"/", prefix) }
	if below(c.ControlBase) {
		l.errs.add(c.sources["SCR_CNTL_BASE"].Source, "SCR_CNTL_BASE="+c.ControlBase, "want a node-local directory, not one below SCR_PREFIX="+c.Prefix)
	}
	for _, s := range c.Stores {
		if s.Enabled && below(s.Path) {
			l.errs.add(s.Source, "cache in "+s.Path, "want a node-local directory, not one below SCR_PREFIX="+c.Prefix)
		}
	}
}
