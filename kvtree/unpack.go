package kvtree

import (
	"fmt"
	"strings"
)

// slabElems is how many elements share one piece of memory, unless a single
// tree has more. A tree that outlives the rest of its file keeps that much.
const slabElems = 1024

// unpacker builds the trees of a packed hash that the scanner has passed. All
// keys are parts of one string, elements and trees lie in few large pieces.
type unpacker struct {
	b     string
	at    int
	left  int // elements that no memory was taken for yet
	elems []elem
	trees []Tree
}

// tree reads the hash at u.at into t.
func (u *unpacker) tree(t *Tree) error {
	b := u.b[u.at : u.at+4]
	count := int(b[0])<<24 | int(b[1])<<16 | int(b[2])<<8 | int(b[3])
	start := u.at
	u.at += 4
	if count == 0 {
		return nil
	}
	t.elems = u.take(count)
	for i := range t.elems {
		e := &t.elems[i]
		n := strings.IndexByte(u.b[u.at:], 0)
		e.key = u.b[u.at : u.at+n]
		u.at += n + 1
		if err := u.tree(e.sub); err != nil {
			return err
		}
	}
	var twice int
	if count > indexAbove {
		t.index, twice = newUniqueIndex(t.elems)
	} else {
		twice = repeated(t.elems)
	}
	if twice >= 0 {
		return fmt.Errorf("byte %d: key %.80q stands twice: %w", start, t.elems[twice].key, ErrFormat)
	}
	return nil
}

// take returns n elements, each with an empty tree. Appending to them later
// moves them and does not run into their neighbours.
func (u *unpacker) take(n int) []elem {
	if n > len(u.elems) {
		size := max(n, min(slabElems, u.left))
		u.elems, u.trees = make([]elem, size), make([]Tree, size)
	}
	elems := u.elems[:n:n]
	for i := range elems {
		elems[i].sub = &u.trees[i]
	}
	u.elems, u.trees = u.elems[n:], u.trees[n:]
	u.left -= n
	return elems
}

// repeated returns the place of the first key that stands before it already,
// or -1. For short lists.
func repeated(elems []elem) int {
	for i := range elems {
		for j := range i {
			if elems[j].key == elems[i].key {
				return i
			}
		}
	}
	return -1
}
