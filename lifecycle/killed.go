package lifecycle

// whyDropped is what users read of a dataset whose writer was killed.
const whyDropped = "a process that wrote it was killed"

// killed makes datasets suspect that have not ended when a process that wrote
// them is killed. The loss of a rank ends its application, so all that the
// application writes is suspect, whichever rank was killed: the others may be
// waiting for it.
//
// If another application has opened something meanwhile, it was perhaps
// started to go on from what is whole: then they vanish at once.
func (m *Machine) killed(e Event) []Action {
	var acts []Action
	for _, d := range m.ordered() {
		if d.ID != e.Dataset && (e.App == "" || d.App != e.App) {
			continue
		}
		m.suspect(d, e.Now)
		if d.Suspect && d.Newer && d.Phase == PhaseOpen {
			acts = append(acts, m.drop(d, whyDropped)...)
		}
	}
	return acts
}

// suspect notes that a writer died before the dataset had ended. An early end
// is none as long as the quiet time has not passed.
func (m *Machine) suspect(d *Dataset, now int64) {
	switch {
	case d.Past:
		return // it was whole, and nobody has written to it since
	case d.Phase == PhaseOpen:
	case d.Phase == PhaseSealing || m.unsure(d, now) && d.reopens():
		m.reopen(d) // the answer under way is void
	default:
		return
	}
	d.Suspect = true
}

// app lets datasets whose writers were killed vanish before a new application
// can see them.
func (m *Machine) app(e Event) []Action {
	if _, seen := m.apps[e.App]; seen {
		return nil
	}
	m.apps[e.App] = struct{}{}
	var acts []Action
	for _, d := range m.ordered() {
		switch {
		case d.App == e.App:
		case d.Suspect && d.Phase == PhaseOpen:
			acts = append(acts, m.drop(d, whyDropped)...)
		default:
			d.Newer = true
		}
	}
	return acts
}

// AppSeen tells whether the application has opened something before.
func (m *Machine) AppSeen(app string) bool {
	_, ok := m.apps[app]
	return ok
}

// Vanishing tells whether something that another application left half done is
// still on its way out of sight.
func (m *Machine) Vanishing(app string) bool {
	for _, d := range m.datasets {
		if d.Suspect && d.Phase == PhaseLost && d.App != app {
			return true
		}
	}
	return false
}

// HasSuspect tells whether a writer of some dataset that has not ended was
// killed.
func (m *Machine) HasSuspect() bool {
	for _, d := range m.datasets {
		if d.Suspect && d.Phase == PhaseOpen {
			return true
		}
	}
	return false
}
