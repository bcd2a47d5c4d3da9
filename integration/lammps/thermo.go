package lammps

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Thermo is the table of thermodynamic output of a run.
type Thermo struct {
	Columns []string
	Rows    []Row
}

// Row is one line of it: the step, and all columns as they were printed.
type Row struct {
	Step   int
	Fields []string
}

// ParseThermo reads the table from what LAMMPS printed. Output without a
// table, with two, or with one that has no end (the run was broken off) is an
// error; what could be read is returned with it.
func ParseThermo(output string) (Thermo, error) {
	var t Thermo
	const before, inside, after = 0, 1, 2
	at := before
	for line := range strings.Lines(output) {
		f := strings.Fields(line)
		switch {
		case len(f) > 1 && f[0] == "Step":
			if at != before {
				return t, fmt.Errorf("thermo output: a second table")
			}
			at, t.Columns = inside, f
		case at != inside || len(f) == 0 || f[0] == "WARNING:":
		case strings.HasPrefix(line, "Loop time of"):
			at = after
		default:
			step, err := strconv.Atoi(f[0])
			if err != nil || len(f) != len(t.Columns) {
				return t, fmt.Errorf("thermo output: line %q in the table of %v", strings.TrimSpace(line), t.Columns)
			}
			t.Rows = append(t.Rows, Row{step, f})
		}
	}
	switch {
	case at == before:
		return t, fmt.Errorf("thermo output: no table")
	case at == inside:
		return t, fmt.Errorf("thermo output: broken off after %d rows", len(t.Rows))
	case len(t.Rows) == 0:
		return t, fmt.Errorf("thermo output: an empty table")
	}
	return t, nil
}

// From is the part of the table from a step on.
func (t Thermo) From(step int) Thermo {
	i := slices.IndexFunc(t.Rows, func(r Row) bool { return r.Step >= step })
	if i < 0 {
		i = len(t.Rows)
	}
	return Thermo{t.Columns, t.Rows[i:]}
}

// Between is the part of the table from one step to another, both included.
func (t Thermo) Between(from, to int) Thermo {
	part := t.From(from)
	for i, r := range part.Rows {
		if r.Step > to {
			return Thermo{part.Columns, part.Rows[:i]}
		}
	}
	return part
}

// Same is nil if both tables are equal in every digit and have a row at all,
// and else says where they first differ.
func Same(got, want Thermo) error {
	if !slices.Equal(got.Columns, want.Columns) {
		return fmt.Errorf("thermo output: columns %v, want %v", got.Columns, want.Columns)
	}
	for i := range min(len(got.Rows), len(want.Rows)) {
		if g, w := got.Rows[i], want.Rows[i]; !slices.Equal(g.Fields, w.Fields) {
			return fmt.Errorf("thermo output: row %d is %v, want %v", i, g.Fields, w.Fields)
		}
	}
	if len(got.Rows) != len(want.Rows) || len(want.Rows) == 0 {
		return fmt.Errorf("thermo output: %d rows, want %d and at least one", len(got.Rows), len(want.Rows))
	}
	return nil
}
