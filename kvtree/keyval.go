package kvtree

import (
	"bufio"
	"io"
)

// WriteKeyval writes t as WriteText does, but a field, that is a key with a
// single key below it and nothing below that, on one line: KEY = VALUE. This
// is for people; ParseText does not read it.
func WriteKeyval(w io.Writer, t *Tree) error {
	bw := bufio.NewWriter(w)
	writeKeyval(bw, t, 1)
	return bw.Flush()
}

func writeKeyval(w *bufio.Writer, t *Tree, depth int) {
	for key, sub := range t.All() {
		indent(w, depth)
		w.WriteString(key)
		if value, ok := sub.fieldValue(); ok {
			w.WriteString(" = ")
			w.WriteString(value)
			w.WriteByte('\n')
			continue
		}
		w.WriteByte('\n')
		writeKeyval(w, sub, depth+1)
	}
}

// fieldValue returns the only key of t, if there is nothing below it.
func (t *Tree) fieldValue() (string, bool) {
	if t.Len() != 1 {
		return "", false
	}
	for value, below := range t.All() {
		return value, below.Len() == 0
	}
	return "", false
}
