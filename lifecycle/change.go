package lifecycle

import "github.com/scrfs/scrfs/scr"

// change takes a rename, a removal or new attributes of files. Of a dataset
// that had ended they void protection and flush; but none of them is writing,
// so what comes next belongs to the next dataset: that is how programs rotate
// (X to X.bak, then X anew) and purge.
func (m *Machine) change(d *Dataset, e Event) {
	if d.Phase != PhaseOpen && d.reopens() {
		if e.Removes {
			m.hintNewest(d)
		}
		ended := !m.unsure(d, e.Now)
		d.reopen()
		d.Past = ended
	}
	d.LastWrite = e.Now
	if e.Template != "" && d.Phase == PhaseOpen && !d.Past {
		m.fileEnded(d, e.Template)
	}
}

// open handles a file that is opened again for writing: its dataset is
// reopened. Of a published dataset the file on the prefix directory is meant: 0.
//
// A loose file that is truncated after its dataset has ended has nothing of it
// left; it belongs to the dataset that is written now, or begins one (a marker
// that names the newest checkpoint, two files written in turn). Below a
// directory of a dataset that holds only once that is published: until then
// it may be a late piece.
func (m *Machine) open(e Event) (scr.DatasetID, []Action) {
	d := m.datasets[e.Dataset]
	switch {
	case d == nil:
		return 0, nil
	case e.Truncates && d.over(m, e.Now) && (!e.Below || d.Phase == PhasePublished):
		m.change(d, Event{Now: e.Now})
		e.Writes, e.IsDir, e.Output = true, false, d.Checkpoint == 0
		return m.make(e)
	case !d.reopens():
		return 0, nil
	}
	m.reopen(d)
	m.note(d, e)
	d.addWriter(e.Node, 1)
	return d.ID, nil
}

// over tells whether a dataset has ended for good, with all its files there.
func (d *Dataset) over(m *Machine, now int64) bool {
	switch d.Phase {
	case PhaseProtecting, PhaseCached, PhaseFlushing, PhasePublished:
		return len(d.Missing) == 0 && !m.unsure(d, now)
	}
	return false
}
