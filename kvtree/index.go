package kvtree

import (
	"hash/maphash"
	"math/bits"
)

// indexAbove is the number of elements up to which looking at each of them is
// quicker than an index; most trees of SCR have one element, few more than 12.
const indexAbove = 16

// seed keeps the names in a hostile file from being chosen to collide.
var seed = maphash.MakeSeed()

// index finds a key in a long list of elements: an open hash table with the
// places of the elements, 4 bytes each, which is a fifth of what a Go map of
// the same keys takes. Removed elements stay in it; dead counts them.
type index struct {
	slots []uint32 // place + 1 in the list, 0 for none; the length is a power of two
	dead  int
}

// newIndex makes the index of elements with distinct keys, none removed, with
// room for a third more at least.
func newIndex(elems []elem) *index {
	x := &index{slots: make([]uint32, 1<<bits.Len(uint(len(elems)+len(elems)/2)))}
	for i := range elems {
		x.add(elems, i)
	}
	return x
}

// newUniqueIndex is newIndex for keys that may repeat: it returns the place of
// the first element whose key stands before it already, or -1.
func newUniqueIndex(elems []elem) (*index, int) {
	x := &index{slots: make([]uint32, 1<<bits.Len(uint(len(elems)+len(elems)/3)))}
	for i := range elems {
		s, found := x.probe(elems, elems[i].key)
		if found >= 0 {
			return nil, i
		}
		x.slots[s] = uint32(i) + 1
	}
	return x, -1
}

// full says whether n elements are more than the table takes at good speed.
func (x *index) full(n int) bool { return n > len(x.slots)/4*3 }

func (x *index) find(elems []elem, key string) int {
	_, i := x.probe(elems, key)
	return i
}

// probe returns the place of the key, or -1 and the free slot it would take.
func (x *index) probe(elems []elem, key string) (slot, place int) {
	mask := len(x.slots) - 1
	s := int(maphash.String(seed, key)) & mask
	for ; x.slots[s] != 0; s = (s + 1) & mask {
		i := int(x.slots[s]) - 1
		if elems[i].key == key && elems[i].sub != nil {
			return s, i
		}
	}
	return s, -1
}

// add enters the element at place i, whose key is not there yet.
func (x *index) add(elems []elem, i int) {
	mask := len(x.slots) - 1
	s := int(maphash.String(seed, elems[i].key)) & mask
	for x.slots[s] != 0 {
		s = (s + 1) & mask
	}
	x.slots[s] = uint32(i) + 1
}
