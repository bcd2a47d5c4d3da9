package lifecycle

// short makes room in the caches: what is published goes. If nothing is on its
// way out, the oldest dataset that has ended goes as soon as it is on the prefix
// directory, whatever the policy says of flushing and keeping it.
func (m *Machine) short() {
	var oldest *Dataset
	leaving := false
	for _, d := range m.ordered() {
		if d.Phase == PhasePublished {
			d.Leave = true
		}
		leaving = leaving || d.Leave
		if oldest == nil && (d.Complete() || d.Phase == PhaseProtecting) {
			oldest = d
		}
	}
	if oldest != nil && !leaving {
		oldest.Leave, oldest.WantFlush = true, true
	}
}

// spilled notes what the caches had no room for. Redundancy could not bring it
// back, and the room is needed: such a dataset is flushed at once and goes.
func (d *Dataset) spilled(e Event) {
	d.Spilled, d.SpilledBytes = e.Spilled, e.SpilledBytes
	if d.Spilled > 0 {
		d.WantFlush, d.Leave = true, true
	}
}
