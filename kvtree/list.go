package kvtree

import (
	"fmt"
	"iter"
	"slices"
)

// All walks over the keys of t in stored order. The loop may change t: a key
// that it removes before it came to it is left out, one that it adds is not
// met.
func (t *Tree) All() iter.Seq2[string, *Tree] {
	return func(yield func(string, *Tree) bool) {
		if t == nil {
			return
		}
		for i, elems := 0, t.elems; i < len(elems); i++ {
			if sub := elems[i].sub; sub != nil && !yield(elems[i].key, sub) {
				return
			}
		}
	}
}

// Keys lists the keys of t in stored order.
func (t *Tree) Keys() []string {
	keys := make([]string, 0, t.Len())
	for key := range t.All() {
		keys = append(keys, key)
	}
	return keys
}

// SortedKeys lists the keys of t in ascending order of their bytes, "10"
// before "2".
func (t *Tree) SortedKeys() []string {
	keys := t.Keys()
	slices.Sort(keys)
	return keys
}

// IntKeys lists the keys of t as numbers, ascending. A key that is no decimal
// number of 64 bits is ErrValue.
func (t *Tree) IntKeys() ([]int64, error) {
	keys := make([]int64, 0, t.Len())
	for key := range t.All() {
		n, ok := parseInt(key)
		if !ok {
			return nil, fmt.Errorf("key %q: no number: %w", key, ErrValue)
		}
		keys = append(keys, n)
	}
	slices.Sort(keys)
	return keys, nil
}
