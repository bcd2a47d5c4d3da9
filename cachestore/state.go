package cachestore

import (
	"fmt"
	"slices"

	"github.com/scrfs/scrfs/scr"
)

// markKey is a key at the top of our filemap, which SCR skips: the number of the
// mark in the journal that was written before it. The filemap has taken in what
// the journal says before that mark.
const markKey = "MARK"

// dirTag is the tag that says where the dataset goes below the prefix directory.
const dirTag = scr.TagDatasetDir

// state is what the filemap and the journal say together. It does no I/O; the
// same transitions serve a running store and the replay of its journal.
type state struct {
	cacheDir string
	filemap  *scr.Filemap
	sets     map[scr.DatasetID]*names
	mark     int64  // number of the last mark
	version  uint64 // counts changes of the filemap
}

// names are the files of one dataset that have an entry, by their path.
type names struct {
	pending map[string]bool     // in the journal
	sealed  map[string]scr.Rank // in the filemap
	touched map[string]bool     // sealed, and opened for writing since
}

// newState takes over a filemap. A key that is not of this cache, or a file
// that two ranks have, is an error.
func newState(cacheDir string, m *scr.Filemap) (*state, error) {
	s := &state{cacheDir: cacheDir, filemap: m, sets: map[scr.DatasetID]*names{}}
	for _, id := range m.Datasets() {
		for _, r := range m.RanksOf(id) {
			if err := s.index(id, r); err != nil {
				return nil, fmt.Errorf("filemap: dataset %d: rank %d: %w", id, r, err)
			}
		}
	}
	return s, nil
}

// index enters the names of a rank that is in the filemap.
func (s *state) index(id scr.DatasetID, r scr.Rank) error {
	n := s.set(id)
	for key, record := range s.filemap.EachFile(id, r) {
		of, rel, err := splitKey(s.cacheDir, key)
		if err == nil && of != id {
			err = fmt.Errorf("file %q is of dataset %d: %w", key, of, scr.ErrInvalid)
		}
		if other, ok := n.sealed[rel]; err == nil && ok && other != r {
			err = fmt.Errorf("file %q is of rank %d as well: %w", key, other, scr.ErrInvalid)
		}
		if err != nil {
			return err
		}
		n.sealed[rel] = r
		delete(n.pending, rel)
		delete(n.touched, rel)
		if complete, ok := record.Get("META").Value("COMPLETE"); ok && complete != "1" {
			n.touched[rel] = true
		}
	}
	return nil
}

func (s *state) set(id scr.DatasetID) *names {
	n := s.sets[id]
	if n == nil {
		n = &names{pending: map[string]bool{}, sealed: map[string]scr.Rank{}, touched: map[string]bool{}}
		s.sets[id] = n
	}
	return n
}

func (s *state) key(id scr.DatasetID, rel string) string {
	return s.cacheDir + "/" + cacheName(id, rel)
}

// replay carries out the lines of a journal, of which those before the mark
// written are in the filemap already. They tell only which names are entered:
// a later line may speak of them.
func (s *state) replay(list []entry, written int64) {
	taken := written == 0
	for _, e := range list {
		if e.kind == kindMark {
			s.mark = max(s.mark, e.number)
		}
		if !taken && s.mark >= written {
			s.takeSealed()
			taken = true
		}
		if taken {
			s.apply(e)
		} else {
			s.applyNames(e)
		}
	}
	if !taken {
		s.takeSealed()
	}
	s.mark = max(s.mark, written)
}

// takeSealed ends the entries of what the filemap has.
func (s *state) takeSealed() {
	for _, n := range s.sets {
		for p := range n.sealed {
			delete(n.pending, p)
		}
	}
}

// applyNames is apply for the entries of the journal alone.
func (s *state) applyNames(e entry) {
	n := s.set(e.dataset)
	switch e.kind {
	case kindEnter:
		n.pending[e.path] = true
	case kindDrop:
		delete(n.pending, e.path)
	case kindMove:
		for _, p := range belowIn(n.pending, e.path) {
			n.pending[moved(e.path, e.to, p)] = true
		}
	case kindMoved:
		for _, p := range belowIn(n.pending, e.path) {
			delete(n.pending, p)
		}
	case kindForget:
		clear(n.pending)
	}
}

// apply carries out one line of the journal.
func (s *state) apply(e entry) {
	switch e.kind {
	case kindMark:
		s.mark = max(s.mark, e.number)
	case kindEnter:
		s.enter(e.dataset, e.path)
	case kindDrop:
		s.drop(e.dataset, e.path)
	case kindMove:
		for _, p := range belowIn(s.set(e.dataset).pending, e.path) {
			s.enter(e.dataset, moved(e.path, e.to, p))
		}
	case kindMoved:
		for _, p := range s.set(e.dataset).below(e.path) {
			s.drop(e.dataset, p)
		}
	case kindTouch:
		s.touch(e.dataset, e.path)
	case kindCRC:
		s.setCRC(e.dataset, e.path, scr.CRC(e.number))
	case kindForget:
		s.forget(e.dataset)
	}
}

// below lists the entries at or under a path, in order.
func (n *names) below(dir string) []string {
	return append(belowIn(n.pending, dir), belowIn(n.sealed, dir)...)
}

// belowIn lists the names at or under a path, sorted. A file has nothing under
// it, so renaming files one by one does not search.
func belowIn[V any](set map[string]V, dir string) []string {
	if _, file := set[dir]; file {
		return []string{dir}
	}
	var list []string
	for p := range set {
		if under(dir, p) {
			list = append(list, p)
		}
	}
	slices.Sort(list)
	return list
}

func (n *names) has(p string) bool {
	_, sealed := n.sealed[p]
	return sealed || n.pending[p]
}

func (s *state) enter(id scr.DatasetID, p string) {
	s.leaveFilemap(id, p)
	s.set(id).pending[p] = true
}

func (s *state) drop(id scr.DatasetID, p string) {
	s.leaveFilemap(id, p)
	delete(s.set(id).pending, p)
}

// leaveFilemap takes a file out of its rank. The number of files that the rank
// must have stays, so the rank is incomplete; but a rank can be without its
// redundancy file.
func (s *state) leaveFilemap(id scr.DatasetID, p string) {
	n := s.set(id)
	r, ok := n.sealed[p]
	if !ok {
		return
	}
	s.filemap.RemoveFile(id, r, s.key(id, p))
	if expected, err := s.filemap.ExpectedFiles(id, r); err == nil && isRedundancy(p) {
		s.filemap.SetExpectedFiles(id, r, max(expected-1, 0))
	}
	delete(n.sealed, p)
	delete(n.touched, p)
	s.version++
}

// touch marks a sealed file as one that may have changed.
func (s *state) touch(id scr.DatasetID, p string) {
	n := s.set(id)
	r, ok := n.sealed[p]
	if !ok {
		return
	}
	n.touched[p] = true
	if meta, err := s.filemap.Meta(id, r, s.key(id, p)); err == nil {
		meta.Complete, meta.HasCRC = false, false
		s.filemap.SetMeta(id, r, s.key(id, p), meta)
	}
	s.version++
}

func (s *state) setCRC(id scr.DatasetID, p string, crc scr.CRC) {
	n := s.set(id)
	r, ok := n.sealed[p]
	if !ok || n.touched[p] {
		return
	}
	if meta, err := s.filemap.Meta(id, r, s.key(id, p)); err == nil {
		meta.CRC, meta.HasCRC = crc, true
		s.filemap.SetMeta(id, r, s.key(id, p), meta)
	}
	s.version++
}

// dropRank takes a rank out of the filemap. Its files have no entry then.
func (s *state) dropRank(id scr.DatasetID, r scr.Rank) {
	n := s.set(id)
	for key := range s.filemap.EachFile(id, r) {
		if _, p, err := splitKey(s.cacheDir, key); err == nil {
			delete(n.sealed, p)
			delete(n.touched, p)
		}
	}
	s.filemap.RemoveRankOf(id, r)
	s.version++
}

// forget drops all entries of a dataset.
func (s *state) forget(id scr.DatasetID) {
	if s.sets[id] == nil {
		return
	}
	for _, r := range s.filemap.RanksOf(id) {
		s.dropRank(id, r)
	}
	delete(s.sets, id)
}

func (s *state) copyFilemap() *scr.Filemap {
	m, err := scr.FilemapFromTree(s.filemap.Tree().Clone())
	if err != nil {
		panic("BUG: copy of a filemap is none: " + err.Error())
	}
	return m
}

func (s *state) datasets() []scr.DatasetID {
	list := s.filemap.Datasets()
	for id, n := range s.sets {
		if len(n.pending) > 0 {
			list = append(list, id)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

func (s *state) pending(id scr.DatasetID) []string {
	var list []string
	if n := s.sets[id]; n != nil {
		for p := range n.pending {
			list = append(list, p)
		}
	}
	slices.Sort(list)
	return list
}

// beingWritten tells whether a dataset has user files that are not sealed. A
// redundancy file that was begun does no harm to the files it is made from.
func (s *state) beingWritten(id scr.DatasetID) bool {
	n := s.sets[id]
	if n == nil {
		return false
	}
	for p := range n.pending {
		if !isRedundancy(p) {
			return true
		}
	}
	return len(n.touched) > 0
}
