package catalog

import (
	"errors"
	"syscall"
)

// answersKept is how many answers are remembered for each node: more than the
// requests a node can have under way at once.
const answersKept = 1024

// answer is the outcome of one request, small enough to keep many.
type answer struct {
	ino   Ino
	errno syscall.Errno
}

func (a answer) error() error {
	if a.errno == 0 {
		return nil
	}
	return a.errno
}

// answers remembers one node's latest requests.
type answers struct {
	by    map[uint64]answer
	order []uint64 // oldest first
}

func (s *State) answered(o Op) (answer, bool) {
	if o.Request == 0 || s.answers[o.Node] == nil {
		return answer{}, false
	}
	a, ok := s.answers[o.Node].by[o.Request]
	return a, ok
}

func (s *State) remember(o Op, res Result, err error) {
	if o.Request == 0 {
		return
	}
	a := answer{}
	if res.Inode != nil {
		a.ino = res.Inode.Ino
	}
	errors.As(err, &a.errno)
	s.keep(o, a)
}

func (s *State) keep(o Op, a answer) {
	m := s.answers[o.Node]
	if m == nil {
		m = &answers{by: map[uint64]answer{}}
		s.answers[o.Node] = m
	}
	m.by[o.Request] = a
	m.order = append(m.order, o.Request)
	if len(m.order) > answersKept {
		delete(m.by, m.order[0])
		m.order = m.order[1:]
	}
}

// Answered tells whether this request was answered before.
func (s *State) Answered(o Op) bool {
	_, ok := s.answered(o)
	return ok
}
