package kvtree

import (
	"fmt"
	"strconv"
)

// SetKV makes sure that key has the value, beside the values it has already,
// and returns the tree of the value.
func (t *Tree) SetKV(key, value string) *Tree { return t.Sub(key, value) }

// GetKV returns the tree of the value of key, nil if there is none.
func (t *Tree) GetKV(key, value string) *Tree { return t.Get(key, value) }

// UnsetKV removes the value of key, and the key as well when that was its last.
// A key without the value stays as it is.
func (t *Tree) UnsetKV(key, value string) {
	sub := t.Get(key)
	if !sub.Has(value) {
		return
	}
	sub.remove(value)
	if sub.Len() == 0 {
		t.remove(key)
	}
}

// PutString makes the field key with exactly this value, in place of all that
// was there.
func (t *Tree) PutString(key, value string) {
	// One piece of memory for the field: hashes of a million files are built
	// of such fields.
	f := &struct {
		field, value Tree
		elem         [1]elem
	}{}
	f.field.elems = f.elem[:0]
	f.field.add(value, &f.value)
	t.Set(key, &f.field)
}

// PutInt makes the field key with this value in decimal.
func (t *Tree) PutInt(key string, v int64) { t.PutString(key, strconv.FormatInt(v, 10)) }

// PutFlag makes the key with an empty tree, in place of all that was there.
func (t *Tree) PutFlag(key string) { t.Set(key, nil) }

// Value returns the value of the field key. It is false if the key is absent
// or has no value, or more than one.
func (t *Tree) Value(key string) (string, bool) {
	sub := t.Get(key)
	if sub.Len() != 1 {
		return "", false
	}
	for v := range sub.All() {
		return v, true
	}
	panic("BUG: kvtree: a tree of one key lists none")
}

// Int returns the value of the field key, a decimal number. It is ErrMissing
// if the key is absent, ErrValue if it has not exactly one value or one that
// is no number of 64 bits.
func (t *Tree) Int(key string) (int64, error) {
	if !t.Has(key) {
		return 0, fmt.Errorf("%s: %w", key, ErrMissing)
	}
	v, ok := t.Value(key)
	if !ok {
		return 0, fmt.Errorf("%s: %d values where one is expected: %w", key, t.Get(key).Len(), ErrValue)
	}
	n, ok := parseInt(v)
	if !ok {
		return 0, fmt.Errorf("%s = %q: no number: %w", key, v, ErrValue)
	}
	return n, nil
}

// parseInt reads what C prints for %d and %lu: digits, with a minus maybe.
func parseInt(s string) (int64, bool) {
	if s == "" || s[0] == '+' {
		return 0, false
	}
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil
}
