package kvtree

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
)

// WriteText writes t as SCR's printer does: each key on a line, in stored
// order, two blanks before a key at the top and two more for each level. An
// empty tree is no text. Keys are written as they are.
func WriteText(w io.Writer, t *Tree) error {
	bw := bufio.NewWriter(w)
	writeText(bw, t, 1)
	return bw.Flush()
}

// writeText leaves errors to the Flush, as bufio keeps the first.
func writeText(w *bufio.Writer, t *Tree, depth int) {
	for key, sub := range t.All() {
		indent(w, depth)
		w.WriteString(key)
		w.WriteByte('\n')
		writeText(w, sub, depth+1)
	}
}

func indent(w *bufio.Writer, depth int) {
	for range depth {
		w.WriteString("  ")
	}
}

// ParseText reads the text that WriteText makes, and what people print in its
// likeness: a line that stands deeper than the one before is a key below it, by
// however many blanks, and the first line may stand at any depth. Lines of
// blanks are skipped. It is ErrFormat, naming the line, if a line stands
// between the levels that are open, if a key stands twice in its tree or holds
// a NUL, or if the tree is deeper than MaxDepth.
//
// The text does not say everything: a key that is empty, begins with a blank
// or holds a line end does not come back as it was.
func ParseText(r io.Reader) (*Tree, error) {
	p := parser{root: &Tree{}}
	br := bufio.NewReader(r)
	for line := 1; ; line++ {
		text, err := br.ReadString('\n')
		last := errors.Is(err, io.EOF)
		if err == nil || last {
			err = p.line(strings.TrimSuffix(text, "\n"))
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", line, err)
		}
		if last {
			return p.root, nil
		}
	}
}

type parser struct {
	root *Tree
	open []level // from the top to where the last line stood
	last *Tree   // of the last line's key
}

// level is a tree that further lines may add keys to.
type level struct {
	blanks int // before each of its keys
	tree   *Tree
}

func (p *parser) line(text string) error {
	key := strings.TrimLeft(text, " ")
	if key == "" {
		return nil
	}
	if strings.IndexByte(key, 0) >= 0 {
		return fmt.Errorf("key %.80q holds a NUL: %w", key, ErrFormat)
	}
	t, err := p.at(len(text) - len(key))
	if err != nil {
		return err
	}
	if t.Has(key) {
		return fmt.Errorf("key %.80q stands twice: %w", key, ErrFormat)
	}
	p.last = t.add(strings.Clone(key), &Tree{})
	return nil
}

// at returns the tree to which a line with that many blanks belongs.
func (p *parser) at(blanks int) (*Tree, error) {
	if len(p.open) == 0 {
		p.open = append(p.open, level{blanks, p.root})
	}
	top := len(p.open) - 1
	if blanks > p.open[top].blanks {
		if len(p.open) == MaxDepth {
			return nil, fmt.Errorf("deeper than %d levels: %w", MaxDepth, ErrFormat)
		}
		p.open = append(p.open, level{blanks, p.last})
		return p.last, nil
	}
	for top > 0 && blanks < p.open[top].blanks {
		top--
	}
	if blanks != p.open[top].blanks {
		return nil, fmt.Errorf("%d blanks are between two levels: %w", blanks, ErrFormat)
	}
	p.open = p.open[:top+1]
	return p.open[top].tree, nil
}
