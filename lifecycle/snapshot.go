package lifecycle

import (
	"bytes"
	"encoding/gob"
	"fmt"

	"github.com/scrfs/scrfs/scr"
)

// snapshot is the whole machine, for a node that joins late or a new leader.
type snapshot struct {
	Datasets   map[scr.DatasetID]*Dataset
	Checkpoint scr.CheckpointID
	Newest     scr.DatasetID
	Families   map[string]familyState
	Apps       map[string]struct{}
	Usual      usual
	Done       map[scr.DatasetID]Dataset
}

type familyState struct {
	Last    string
	Moves   int
	NotStep bool
}

// Snapshot returns the machine's state in a form only Restore reads.
func (m *Machine) Snapshot() ([]byte, error) {
	s := snapshot{Datasets: m.datasets, Checkpoint: m.checkpoint, Newest: m.newest, Apps: m.apps, Usual: m.usual, Done: m.done, Families: map[string]familyState{}}
	for name, f := range m.families {
		s.Families[name] = familyState{f.last, f.moves, f.notStep}
	}
	var b bytes.Buffer
	if err := gob.NewEncoder(&b).Encode(s); err != nil {
		return nil, fmt.Errorf("lifecycle snapshot: %w", err)
	}
	return b.Bytes(), nil
}

// Restore builds the machine that Snapshot describes.
func Restore(cfg Config, b []byte) (*Machine, error) {
	var s snapshot
	if err := gob.NewDecoder(bytes.NewReader(b)).Decode(&s); err != nil {
		return nil, fmt.Errorf("lifecycle snapshot: %w", err)
	}
	m := New(cfg)
	m.checkpoint, m.newest, m.usual = s.Checkpoint, s.Newest, s.Usual
	for name, f := range s.Families {
		m.families[name] = &family{f.Last, f.Moves, f.NotStep}
	}
	for id, d := range s.Datasets {
		d.fill()
		m.datasets[id] = d
	}
	for id, d := range s.Done {
		m.done[id] = d
	}
	for app := range s.Apps {
		m.apps[app] = struct{}{}
	}
	return m, nil
}

// fill makes the maps that a snapshot leaves out when they are empty.
func (d *Dataset) fill() {
	if d.Writers == nil {
		d.Writers = map[string]int{}
	}
	if d.Nodes == nil {
		d.Nodes = map[string]struct{}{}
	}
	if d.Missing == nil {
		d.Missing = map[string]struct{}{}
	}
}
