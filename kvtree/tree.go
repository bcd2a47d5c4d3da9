package kvtree

import (
	"fmt"
	"slices"
	"strings"
)

// Tree is a hash: a list of elements, each a key and a tree. The zero value is
// an empty tree ready to use. A nil *Tree reads as an empty one; changing it
// panics.
//
// A change of a tree is seen by everybody who holds it: Get and Sub return the
// trees themselves, no copies.
type Tree struct {
	elems []elem
	index *index // of elems; nil while there are at most indexAbove
}

// elem is one element. In a tree with an index an element that was removed
// stays in its place, with a nil sub, until the index is made again.
type elem struct {
	key string
	sub *Tree
}

// New returns an empty tree.
func New() *Tree { return &Tree{} }

// Len is the number of keys of t itself, not of the trees below.
func (t *Tree) Len() int {
	if t == nil {
		return 0
	}
	if t.index != nil {
		return len(t.elems) - t.index.dead
	}
	return len(t.elems)
}

// Has says whether t itself has the key.
func (t *Tree) Has(key string) bool { return t.find(key) >= 0 }

// Get follows the path and returns the tree there, nil if any key of it is
// absent. The empty path is t.
func (t *Tree) Get(path ...string) *Tree {
	for _, key := range path {
		i := t.find(key)
		if i < 0 {
			return nil
		}
		t = t.elems[i].sub
	}
	return t
}

// Sub follows the path as Get does, and makes each tree that is absent.
func (t *Tree) Sub(path ...string) *Tree {
	for _, key := range path {
		i := t.find(key)
		if i < 0 {
			t = t.add(key, &Tree{})
			continue
		}
		t = t.elems[i].sub
	}
	return t
}

// Set gives the key the tree sub, in place of the one it had. A key that is
// new comes last. sub is taken as it is, not copied, and returned; nil stands
// for an empty tree.
//
// A key with a NUL byte cannot be stored and panics: names that come from
// outside are checked where they come in.
func (t *Tree) Set(key string, sub *Tree) *Tree {
	if sub == nil {
		sub = &Tree{}
	}
	if i := t.find(key); i >= 0 {
		t.elems[i].sub = sub
		return sub
	}
	return t.add(key, sub)
}

// Unset removes the last key of the path, with all that is below it, from the
// tree the other keys lead to. The trees on the way stay, even when empty.
// What is absent is left absent.
func (t *Tree) Unset(path ...string) {
	if len(path) == 0 {
		return
	}
	last := len(path) - 1
	t.Get(path[:last]...).remove(path[last])
}

// Extract removes the key and returns its tree, nil if it was absent.
func (t *Tree) Extract(key string) *Tree {
	sub := t.Get(key)
	t.remove(key)
	return sub
}

// find returns the place of the key in elems, or -1.
func (t *Tree) find(key string) int {
	if t == nil {
		return -1
	}
	if t.index != nil {
		return t.index.find(t.elems, key)
	}
	for i := range t.elems {
		if t.elems[i].key == key {
			return i
		}
	}
	return -1
}

// add appends a key that is not there yet.
func (t *Tree) add(key string, sub *Tree) *Tree {
	if strings.IndexByte(key, 0) >= 0 {
		panic(fmt.Sprintf("BUG: kvtree: key %q holds a NUL byte", key))
	}
	if t.index != nil && t.index.full(len(t.elems)+1) {
		t.elems = live(t.elems, t.index.dead)
		t.index = nil
	}
	t.elems = append(t.elems, elem{key, sub})
	if t.index != nil {
		t.index.add(t.elems, len(t.elems)-1)
	} else if len(t.elems) > indexAbove {
		t.index = newIndex(t.elems)
	}
	return sub
}

// remove takes the key out. It leaves what a running All walks over as it is,
// but for the mark on the removed element, so that a loop may remove keys.
func (t *Tree) remove(key string) {
	i := t.find(key)
	if i < 0 {
		return
	}
	if t.index == nil {
		t.elems = slices.Concat(t.elems[:i], t.elems[i+1:])
		return
	}
	t.elems[i].sub = nil
	t.index.dead++
	if t.index.dead > len(t.elems)/2 {
		t.elems = live(t.elems, t.index.dead)
		t.index = nil
		if len(t.elems) > indexAbove {
			t.index = newIndex(t.elems)
		}
	}
}

// live returns a new list of the elements that were not removed.
func live(elems []elem, dead int) []elem {
	out := make([]elem, 0, len(elems)-dead+1)
	for _, e := range elems {
		if e.sub != nil {
			out = append(out, e)
		}
	}
	return out
}
