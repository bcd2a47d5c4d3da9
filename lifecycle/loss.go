package lifecycle

import (
	"maps"
	"slices"
)

// nodeDown takes the loss of a node: what is protected is rebuilt, what is on
// the prefix directory is read from there, the rest is lost.
func (m *Machine) nodeDown(e Event) []Action {
	var acts []Action
	for _, d := range m.ordered() {
		_, wrote := d.Writers[e.Node]
		delete(d.Writers, e.Node)
		_, has := d.Nodes[e.Node]
		_, known := d.Missing[e.Node]
		switch {
		case known: // lost before, and not rebuilt yet
		case !has && wrote:
			m.suspect(d, e.Now) // it wrote files of other nodes
		case !has || d.Phase != PhaseOpen && slices.Contains(e.Kept, d.ID):
		case d.Phase == PhaseEvicting || d.Phase == PhaseLost:
		case d.Phase == PhasePublished:
			acts = append(acts, m.leave(d))
		case d.Phase == PhasePublishing:
			// Every byte is on the prefix directory already: there it is read
			// from, as soon as it is visible.
			d.Missing[e.Node] = struct{}{}
		default:
			acts = append(acts, m.lose(d, e.Node)...)
		}
	}
	return acts
}

// leave takes a published dataset out of the caches.
func (m *Machine) leave(d *Dataset) Action {
	d.enter(PhaseEvicting)
	return Action{Kind: DoEvict, Dataset: d.ID, Gen: d.Gen}
}

func (m *Machine) lose(d *Dataset, node string) []Action {
	if !d.Protected || len(d.Missing) > 0 {
		return m.drop(d, "node "+node+" was lost before it was protected")
	}
	d.Missing[node] = struct{}{}
	d.Gen++ // an answer about the flush that was under way is void
	d.enter(PhaseCached)
	return []Action{{Kind: DoRebuild, Dataset: d.ID, Gen: d.Gen, Node: node}}
}

func (m *Machine) rebuilt(d *Dataset, e Event) []Action {
	if _, missing := d.Missing[e.Node]; !missing || d.Phase != PhaseCached {
		return nil
	}
	switch {
	case e.Err == "":
		delete(d.Missing, e.Node)
		delete(d.Nodes, e.Node)
		for _, n := range e.Nodes {
			d.Nodes[n] = struct{}{}
		}
		d.enter(PhaseCached)
		// Two of a set may lie on one node now: the set does not bear the loss
		// of that node, so the prefix directory is where it becomes safe.
		d.Protected = false
		d.WantFlush = true
	case e.Final:
		return m.drop(d, "files of node "+e.Node+" cannot be rebuilt: "+e.Err)
	default:
		d.failed(e, m.cfg.RetryAfter)
	}
	return nil
}

// retry tries again what failed and is due.
func (m *Machine) retry(now int64) []Action {
	var acts []Action
	for _, d := range m.ordered() {
		if d.RetryAt == 0 || now < d.RetryAt {
			continue
		}
		d.RetryAt = 0
		acts = append(acts, m.pending(d)...)
	}
	return acts
}

// Pending returns the actions under way: what a new leader has to do again.
// Those that wait to be tried again come with a Tick.
func (m *Machine) Pending() []Action {
	var acts []Action
	for _, d := range m.ordered() {
		if d.RetryAt == 0 {
			acts = append(acts, m.pending(d)...)
		}
	}
	return acts
}

func (m *Machine) pending(d *Dataset) []Action {
	a := Action{Dataset: d.ID, Gen: d.Gen}
	switch d.Phase {
	case PhaseSealing:
		a.Kind = DoSeal
	case PhaseProtecting:
		a.Kind = DoProtect
	case PhaseFlushing:
		a.Kind = DoFlush
	case PhasePublishing:
		a.Kind = DoPublish
	case PhaseEvicting:
		a.Kind = DoEvict
	case PhaseLost:
		a.Kind = DoDrop
	case PhaseCached:
		if len(d.Missing) == 0 {
			return nil
		}
		a.Kind, a.Node = DoRebuild, slices.Min(slices.Collect(maps.Keys(d.Missing)))
	default:
		return nil
	}
	return []Action{a}
}
