package lifecycle

// settle decides what follows from the state as it is: datasets end, the
// oldest complete one is flushed, the cache is kept to its size.
func (m *Machine) settle(now int64) []Action {
	var acts []Action
	for _, d := range m.ordered() {
		if m.mustDropSuspect(d, now) {
			acts = append(acts, m.drop(d, whyDropped)...)
		}
		if m.mustSeal(d, now) {
			d.enter(PhaseSealing)
			acts = append(acts, Action{Kind: DoSeal, Dataset: d.ID, Gen: d.Gen})
		}
	}
	if d := m.flushable(now); d != nil {
		d.Phase = PhaseFlushing // its tries are counted on
		acts = append(acts, Action{Kind: DoFlush, Dataset: d.ID, Gen: d.Gen})
	}
	return append(acts, m.evict()...)
}

func (m *Machine) mustSeal(d *Dataset, now int64) bool {
	return d.Phase == PhaseOpen && !d.writersOpen() && !d.Suspect && now >= d.RetryAt &&
		(d.Closing || d.Early || now-d.LastWrite >= int64(m.cfg.Quiet))
}

// suspectFactor is how many quiet times a suspect dataset is kept in sight for
// a commit of the processes that are left.
const suspectFactor = 10

func (m *Machine) mustDropSuspect(d *Dataset, now int64) bool {
	return d.Phase == PhaseOpen && d.Suspect && !d.writersOpen() && now-d.LastWrite >= suspectFactor*int64(m.cfg.Quiet)
}

// flushable is the oldest dataset that is to be flushed now, nil if there is
// none. One at a time, and never past an older one that is still on its way:
// publication is in order.
//
// A prefix directory that takes nothing, being full for instance, holds up the
// flush for ever. Then nothing that is to be flushed leaves the caches, whatever
// their size: they fill, and what no longer fits is not cached.
func (m *Machine) flushable(now int64) *Dataset {
	for _, d := range m.ordered() {
		switch d.Phase {
		case PhaseFlushing, PhasePublishing:
			return nil
		case PhaseSealing, PhaseProtecting:
			if d.WantFlush {
				return nil
			}
		case PhaseOpen:
			// One with a file that stays open, such as a log, holds up nobody.
			ends := !d.writersOpen() && !d.Suspect
			if d.WantFlush && (ends || now-d.LastWrite < suspectFactor*int64(m.cfg.Quiet)) {
				return nil
			}
		case PhaseCached:
			if !d.WantFlush {
				continue
			}
			if len(d.Missing) > 0 || d.RetryAt != 0 || m.unsure(d, now) {
				return nil
			}
			return d
		}
	}
	return nil
}

// evict keeps the cache to its size: the oldest checkpoints go, if they are on
// the prefix directory, or the policy never meant them to be flushed and a
// newer one is safe. Published output goes at once.
func (m *Machine) evict() []Action {
	var acts []Action
	kept, newerSafe := 0, false
	list := m.ordered()
	for i := len(list) - 1; i >= 0; i-- {
		d := list[i]
		if !d.Complete() {
			continue
		}
		if d.Checkpoint != 0 {
			kept++
		}
		over := kept > m.cfg.CacheSize || d.Checkpoint == 0 || d.Leave
		if over && (d.Phase == PhasePublished || d.Phase == PhaseCached && !d.WantFlush && newerSafe) {
			acts = append(acts, m.leave(d))
		}
		newerSafe = newerSafe || d.Checkpoint != 0 && d.Safe()
	}
	return acts
}

// result takes the answer to an action.
func (m *Machine) result(d *Dataset, e Event) []Action {
	ok := e.Err == ""
	switch {
	case e.Kind == Sealed && d.Phase == PhaseSealing:
		if !ok {
			// A late writer, or a node that did not answer: look again later.
			d.Phase = PhaseOpen
			d.failed(e, m.cfg.Quiet)
			return nil
		}
		if e.Empty {
			return m.drop(d, "all of it was removed")
		}
		if !d.Past {
			m.learn(d)
			m.learnShape(d)
		}
		d.Files, d.SizeBytes = e.Files, e.SizeBytes
		d.spilled(e)
		clear(d.Nodes)
		for _, n := range e.Nodes {
			d.Nodes[n] = struct{}{}
		}
		d.enter(PhaseProtecting)
		return []Action{{Kind: DoProtect, Dataset: d.ID, Gen: d.Gen}}
	case e.Kind == Protected && d.Phase == PhaseProtecting:
		if !ok {
			d.failed(e, m.cfg.RetryAfter)
			if d.Tries >= protectTries || e.Final {
				// Not protected: the prefix directory is the safe place.
				why := d.Err
				d.enter(PhaseCached)
				d.Err, d.WantFlush = why, true
			}
			return nil
		}
		d.Protected, d.Scheme = true, e.Scheme
		d.enter(PhaseCached)
	case e.Kind == Flushed && d.Phase == PhaseFlushing:
		if !ok {
			d.Phase = PhaseCached
			d.failed(e, m.cfg.RetryAfter)
			return nil
		}
		d.enter(PhasePublishing)
		return []Action{{Kind: DoPublish, Dataset: d.ID, Gen: d.Gen}}
	case e.Kind == Published && d.Phase == PhasePublishing:
		if !ok {
			d.failed(e, m.cfg.RetryAfter)
			return nil
		}
		d.Published = true
		d.enter(PhasePublished)
		if len(d.Missing) > 0 {
			clear(d.Missing)
			return []Action{m.leave(d)}
		}
	case e.Kind == Evicted && (d.Phase == PhaseEvicting || d.Phase == PhaseLost):
		if !ok {
			d.failed(e, m.cfg.RetryAfter)
			return nil
		}
		m.finish(d)
	case e.Kind == Rebuilt:
		return m.rebuilt(d, e)
	}
	return nil
}
