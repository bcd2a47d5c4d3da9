package lifecycle

import (
	"cmp"
	"maps"
	"slices"

	"github.com/scrfs/scrfs/scr"
)

// Machine is the state of all datasets of a job.
type Machine struct {
	cfg        Config
	datasets   map[scr.DatasetID]*Dataset
	checkpoint scr.CheckpointID          // the last one given
	newest     scr.DatasetID             // the greatest id that a dataset began with
	families   map[string]*family        // by template
	apps       map[string]struct{}       // seen so far
	usual      usual                     // how checkpoints end
	done       map[scr.DatasetID]Dataset // published and evicted, or lost: the newest few, for status
}

// family is what was learned of the directories of one template.
type family struct {
	last    string // numbers of the last finished dataset
	moves   int    // how often the numbers moved from one dataset to the next
	notStep bool   // one dataset had several: the number is no step
}

// keepDone bounds the history kept for status.
const keepDone = 32

// New returns a machine without datasets.
func New(cfg Config) *Machine {
	return &Machine{
		cfg: cfg, datasets: map[scr.DatasetID]*Dataset{}, families: map[string]*family{},
		apps: map[string]struct{}{}, done: map[scr.DatasetID]Dataset{},
	}
}

// Dataset returns a copy of one dataset, false if the machine does not hold it.
func (m *Machine) Dataset(id scr.DatasetID) (Dataset, bool) {
	d, ok := m.datasets[id]
	if !ok {
		done, ok := m.done[id]
		return done.clone(), ok
	}
	return d.clone(), true
}

// Newest is the greatest id that a dataset began with. The next one must have
// a greater: the ids are the order in which datasets are published.
func (m *Machine) Newest() scr.DatasetID { return m.newest }

// Visible tells whether a dataset is on the prefix directory, or being made
// visible there: what changes it now has to change it there.
func (m *Machine) Visible(id scr.DatasetID) bool {
	d, ok := m.datasets[id]
	if !ok {
		return m.done[id].Published
	}
	return d.Published || d.Phase == PhasePublishing || d.Phase == PhaseEvicting
}

// Datasets returns copies of all datasets, by id; the finished ones of late
// are among them.
func (m *Machine) Datasets() []Dataset {
	var list []Dataset
	for _, d := range m.datasets {
		list = append(list, d.clone())
	}
	for _, d := range m.done {
		list = append(list, d)
	}
	slices.SortFunc(list, func(a, b Dataset) int { return cmp.Compare(a.ID, b.ID) })
	return list
}

// ordered returns the live datasets, oldest first.
func (m *Machine) ordered() []*Dataset {
	list := slices.Collect(maps.Values(m.datasets))
	slices.SortFunc(list, func(a, b *Dataset) int { return cmp.Compare(a.ID, b.ID) })
	return list
}

// Due tells whether a Tick at now would change anything.
func (m *Machine) Due(now int64) bool {
	if m.flushable(now) != nil {
		return true
	}
	for _, d := range m.datasets {
		if m.mustSeal(d, now) || d.RetryAt != 0 && now >= d.RetryAt || m.mustDropSuspect(d, now) {
			return true
		}
	}
	return false
}

// Step takes one event. It returns the dataset that a Make, MakeBelow or Open
// belongs to (0: none, the name is to be left to the prefix directory) and what
// is to be done.
func (m *Machine) Step(e Event) (scr.DatasetID, []Action) {
	var id scr.DatasetID
	var acts []Action
	switch e.Kind {
	case Make:
		id, acts = m.make(e)
	case MakeBelow:
		id, acts = m.makeBelow(e)
	case Open:
		id, acts = m.open(e)
	case App:
		acts = m.app(e)
	case Killed:
		acts = m.killed(e)
	case NodeDown:
		acts = m.nodeDown(e)
	case Tick:
		acts = m.retry(e.Now)
	case Want:
		m.want(e)
	case Short:
		m.short()
	default:
		if d := m.datasets[e.Dataset]; d != nil {
			acts = m.about(d, e)
		}
	}
	return id, append(acts, m.settle(e.Now)...)
}

// about handles the events of one dataset.
func (m *Machine) about(d *Dataset, e Event) []Action {
	switch e.Kind {
	case Close:
		d.addWriter(e.Node, -1)
		d.LastWrite = e.Now
		m.fileEnded(d, e.Template)
	case Change:
		m.change(d, e)
	case Hint:
		m.hint(d)
	case Commit:
		d.Closing, d.Suspect = true, false
	case Invalid:
		if !m.Visible(d.ID) && d.Phase != PhaseLost {
			return m.drop(d, "marked invalid")
		}
	default:
		if d.Gen == e.Gen {
			return m.result(d, e)
		}
	}
	return nil
}

func (m *Machine) want(e Event) {
	for _, d := range m.datasets {
		if e.Dataset == 0 || d.ID == e.Dataset {
			d.WantFlush = true
			d.Closing = d.Closing || d.Phase == PhaseOpen && !d.Suspect && e.Dataset != 0
		}
	}
}

func (m *Machine) drop(d *Dataset, why string) []Action {
	d.enter(PhaseLost)
	d.Err = why
	return []Action{{Kind: DoDrop, Dataset: d.ID, Gen: d.Gen}}
}

// finish moves a dataset to the history.
func (m *Machine) finish(d *Dataset) {
	delete(m.datasets, d.ID)
	m.done[d.ID] = d.clone()
	if len(m.done) > keepDone {
		delete(m.done, slices.Min(slices.Collect(maps.Keys(m.done))))
	}
}
