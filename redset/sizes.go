package redset

import "github.com/scrfs/scrfs/scr"

// cut says into which sets of a level its ranks go, by position in the level:
// cut(n)[p] is the number of the set of position p. Set numbers need not be
// dense.
func cut(count int, o Options) []int {
	switch {
	case o.Scheme == scr.Partner:
		return make([]int, count) // SCR makes one ring of the whole level
	case o.Family == scr.F11:
		return cutMaximum(count, o.SetSize, o.HopDistance)
	default:
		return cutMinimum(count, o.SetSize)
	}
}

// cutMinimum makes neighbouring positions into sets of at least setSize, as
// even as possible, the larger ones first; one set if there are fewer.
func cutMinimum(count, setSize int) []int {
	size := count
	if groups := count / setSize; groups > 0 {
		size = setSize + (count-groups*setSize)/groups
	}
	larger := count % size // so many sets have size+1
	numbers := make([]int, count)
	for p := range numbers {
		if inLarger := larger * (size + 1); p < inLarger {
			numbers[p] = p / (size + 1)
		} else {
			numbers[p] = larger + (p-inLarger)/size
		}
	}
	return numbers
}

// cutMaximum makes sets of at most setSize whose members are hop positions
// apart.
func cutMaximum(count, setSize, hop int) []int {
	numbers := make([]int, count)
	for p := range numbers {
		numbers[p] = p/hop/setSize*hop + p%hop
	}
	return numbers
}
