package lifecycle

import "github.com/scrfs/scrfs/scr"

// make finds the dataset of a new name: the one that is open now, or a new one.
func (m *Machine) make(e Event) (scr.DatasetID, []Action) {
	d := m.join(e)
	if d == nil {
		d = m.begin(e)
	}
	m.reopen(d)
	m.note(d, e)
	if e.IsDir {
		d.Roots = append(d.Roots, Root{Path: e.Path, Template: e.Template, Numbers: e.Numbers, Node: e.Node})
	} else {
		d.Loose = true
	}
	d.written(e)
	return d.ID, nil
}

// written counts a file that is open for writing from now on.
func (d *Dataset) written(e Event) {
	if e.Writes {
		d.addWriter(e.Node, 1)
		d.Nodes[e.Node] = struct{}{}
	}
}

// join returns the open dataset a new name belongs to, nil if it begins one.
func (m *Machine) join(e Event) *Dataset {
	var found *Dataset
	for _, d := range m.ordered() {
		joins := d.Phase == PhaseOpen || m.unsure(d, e.Now) && d.reopens()
		if !joins || (d.Checkpoint == 0) != e.Output || d.Suspect && d.App != e.App {
			continue // what another application left half done is not joined
		}
		if d.Past {
			continue
		}
		if d.Closing || e.IsDir && m.nextStep(d, e) {
			// The next of its family begins: this one gets no new names.
			d.Closing = true
			continue
		}
		found = d
	}
	return found
}

// nextStep tells whether the new directory is the next step after d: its
// number was learned to move from one dataset to the next, and d has the same
// directory with another number. One that was never seen to move may as well
// count ranks or layers; then the two are merged, which is safe.
func (m *Machine) nextStep(d *Dataset, e Event) bool {
	f := m.families[e.Template]
	if f == nil || f.notStep || f.moves == 0 {
		return false
	}
	same := false
	for _, r := range d.Roots {
		if r.Template == e.Template {
			if r.Numbers == e.Numbers {
				return false
			}
			same = true
		}
	}
	return same
}

func (m *Machine) begin(e Event) *Dataset {
	d := &Dataset{
		ID: e.Fresh, Phase: PhaseOpen, App: e.App,
		Writers: map[string]int{}, Nodes: map[string]struct{}{}, Missing: map[string]struct{}{},
	}
	if e.Output {
		d.WantFlush = true
	} else {
		m.checkpoint++
		d.Checkpoint = m.checkpoint
		d.WantFlush = m.cfg.FlushEvery > 0 && int64(m.checkpoint)%int64(m.cfg.FlushEvery) == 0
	}
	m.datasets[d.ID] = d
	m.newest = max(m.newest, d.ID)
	return d
}

// makeBelow handles a new name below a directory of a dataset. Until that is
// published it is reopened; afterwards the name begins, or joins, another.
func (m *Machine) makeBelow(e Event) (scr.DatasetID, []Action) {
	d := m.datasets[e.Dataset]
	if d == nil || !d.reopens() {
		e.IsDir = false // the directory is another's: no root
		if before, ok := m.Dataset(e.Dataset); ok {
			e.Output = before.Checkpoint == 0
		}
		return m.make(e)
	}
	m.reopen(d)
	m.note(d, e)
	d.written(e)
	return d.ID, nil
}

func (m *Machine) note(d *Dataset, e Event) {
	d.LastWrite, d.Early, d.Past = e.Now, false, false
	if d.App == "" {
		d.App = e.App
	}
}

// reopens tells whether a write goes to this dataset. From the moment it is
// made visible on the prefix directory it does not.
func (d *Dataset) reopens() bool {
	switch d.Phase {
	case PhaseOpen, PhaseSealing, PhaseProtecting, PhaseCached, PhaseFlushing:
		return len(d.Missing) == 0
	}
	return false
}

// reopen is for what is written to a dataset. One that had ended early shows
// that the sign was none.
func (m *Machine) reopen(d *Dataset) {
	if d.Early && d.Phase != PhaseOpen {
		m.usual = usual{}
	}
	d.reopen()
}

// reopen voids protection and flush of what is written again.
func (d *Dataset) reopen() {
	if d.Phase == PhaseOpen {
		return
	}
	d.Gen++
	d.Protected, d.Scheme, d.Closing, d.Early, d.Past = false, "", false, false, false
	d.enter(PhaseOpen)
}

// learn looks at a dataset that has ended for numbers that move.
func (m *Machine) learn(d *Dataset) {
	seen := map[string]string{}
	for _, r := range d.Roots {
		f := m.families[r.Template]
		if f == nil {
			f = &family{}
			m.families[r.Template] = f
		}
		if before, ok := seen[r.Template]; ok && before != r.Numbers {
			f.notStep = true
		}
		seen[r.Template] = r.Numbers
	}
	for template, numbers := range seen {
		f := m.families[template]
		if f.last != "" && f.last != numbers {
			f.moves++
		}
		f.last = numbers
	}
}
