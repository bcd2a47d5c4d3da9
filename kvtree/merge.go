package kvtree

// Clone returns a copy of t and of all below it, in the same order.
func (t *Tree) Clone() *Tree {
	c := &Tree{}
	if t.Len() == 0 {
		return c
	}
	c.elems = make([]elem, 0, t.Len())
	for key, sub := range t.All() {
		c.elems = append(c.elems, elem{key, sub.Clone()})
	}
	if len(c.elems) > indexAbove {
		c.index = newIndex(c.elems)
	}
	return c
}

// Merge copies every key of src, and all below it, into t. Keys that are in
// both are merged in turn, those of t alone stay, those of src alone come
// after them. Nothing of src is shared afterwards.
func (t *Tree) Merge(src *Tree) {
	if t == src {
		return
	}
	for key, sub := range src.All() {
		if i := t.find(key); i >= 0 {
			t.elems[i].sub.Merge(sub)
			continue
		}
		t.add(key, sub.Clone())
	}
}

// Equal says whether a and b have the same keys with equal trees, in whatever
// order: the order of elements has no meaning in SCR's files, and SCR itself
// turns it around when it copies.
func Equal(a, b *Tree) bool {
	if a == b {
		return true
	}
	if a.Len() != b.Len() {
		return false
	}
	for key, sub := range a.All() {
		i := b.find(key)
		if i < 0 || !Equal(sub, b.elems[i].sub) {
			return false
		}
	}
	return true
}
