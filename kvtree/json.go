package kvtree

import (
	"bufio"
	"fmt"
	"io"
	"unicode/utf8"
)

// WriteJSON writes t as one JSON object on indented lines, keys in stored
// order, with a line end after it. Each tree is an object, a key with nothing
// below it has the empty object: {"SIZE": {"1501": {}}}. So the shape does not
// depend on how many ranks or files there are.
//
// Keys are bytes and JSON is Unicode: a byte XX that is no part of a valid
// UTF-8 sequence is written as \udcXX, as Python does it in file names, so
// that nothing is lost and no two keys become one.
func WriteJSON(w io.Writer, t *Tree) error {
	bw := bufio.NewWriter(w)
	writeJSON(bw, t, 1)
	bw.WriteByte('\n')
	return bw.Flush()
}

func writeJSON(w *bufio.Writer, t *Tree, depth int) {
	if t.Len() == 0 {
		w.WriteString("{}")
		return
	}
	sep := "{\n"
	for key, sub := range t.All() {
		w.WriteString(sep)
		indent(w, depth)
		writeJSONString(w, key)
		w.WriteString(": ")
		writeJSON(w, sub, depth+1)
		sep = ",\n"
	}
	w.WriteByte('\n')
	indent(w, depth-1)
	w.WriteByte('}')
}

func writeJSONString(w *bufio.Writer, s string) {
	w.WriteByte('"')
	for s != "" {
		r, n := utf8.DecodeRuneInString(s)
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(w, `\udc%02x`, s[0])
		case r == '"' || r == '\\':
			w.WriteByte('\\')
			w.WriteRune(r)
		case r < ' ' || r == 0x7f || r == '\u2028' || r == '\u2029':
			fmt.Fprintf(w, `\u%04x`, r)
		default:
			w.WriteRune(r)
		}
		s = s[n:]
	}
	w.WriteByte('"')
}
