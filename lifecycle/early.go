package lifecycle

import "maps"

// A dataset may be taken for complete before the quiet time has passed: the
// program says so by a sign it gives last, as a rule. Such an end is early: the
// dataset is protected, but until the quiet time has passed it is not flushed,
// and what is written by then joins it. So a sign that was none costs work and
// never splits a dataset.

// hint takes such a sign: the last file of the usual ones was closed, the
// directory was synced, or an older dataset was removed. It counts once for a
// dataset: a program that goes on after it may do so after each file.
func (m *Machine) hint(d *Dataset) {
	if d.Phase == PhaseOpen && !d.Suspect && d.Gen == 0 {
		d.Early = true
	}
}

// hintNewest is hint for the newest checkpoint that is being written, after d.
func (m *Machine) hintNewest(d *Dataset) {
	list := m.ordered()
	for i := len(list) - 1; i >= 0 && list[i].ID > d.ID; i-- {
		if list[i].Phase == PhaseOpen && list[i].Checkpoint != 0 {
			m.hint(list[i])
			return
		}
	}
}

// unsure tells whether a dataset ended early and the quiet time has not passed.
func (m *Machine) unsure(d *Dataset, now int64) bool {
	return d.Early && d.Phase != PhaseOpen && now-d.LastWrite < int64(m.cfg.Quiet)
}

// Ended tells whether a dataset has ended for good: no new name joins it.
func (m *Machine) Ended(d Dataset, now int64) bool {
	return d.Complete() && !m.unsure(&d, now) || d.Finished()
}

// shape is how a checkpoint comes to its end: how many files of each template
// were closed or renamed into place, and which template was the last.
type shape struct {
	Ends map[string]int
	Last string
}

func (s shape) equal(o shape) bool { return s.Last == o.Last && maps.Equal(s.Ends, o.Ends) }

// usual is the shape of the latest checkpoints and how many in a row had it.
type usual struct {
	Shape shape
	Seen  int
}

const (
	// usualAfter is how many checkpoints in a row must have had one shape
	// before its last file is a sign.
	usualAfter = 2
	// maxTemplates bounds a shape; a program whose names are random has none.
	maxTemplates = 64
)

// note counts one end of a file that was written.
func (s *shape) note(template string) {
	if template == "" || len(s.Ends) > maxTemplates {
		return
	}
	if s.Ends == nil {
		s.Ends = map[string]int{}
	}
	s.Ends[template]++
	s.Last = template
}

// fileEnded counts a file that was closed or renamed into place, and takes the
// last one of the usual shape for a sign.
func (m *Machine) fileEnded(d *Dataset, template string) {
	d.Shape.note(template)
	if m.usual.Seen >= usualAfter && len(d.Shape.Ends) <= maxTemplates && d.Shape.equal(m.usual.Shape) {
		m.hint(d)
	}
}

// learnShape remembers how a checkpoint came to its end. One that was written
// to again after its end tells that its shape was not whole.
func (m *Machine) learnShape(d *Dataset) {
	switch {
	case d.Checkpoint == 0:
	case d.Gen > 0:
		m.usual = usual{}
	case m.usual.Seen > 0 && d.Shape.equal(m.usual.Shape):
		m.usual.Seen++
	default:
		m.usual = usual{Shape: shape{maps.Clone(d.Shape.Ends), d.Shape.Last}, Seen: 1}
	}
}
