package indexer

import (
	"fmt"
	"strings"

	"github.com/scrfs/scrfs/scr"
)

// Problem is something wrong with a file, or with a whole rank if Name is "".
type Problem struct {
	Rank scr.Rank
	Name string
	Err  error
}

// Error tells rank and file.
func (p Problem) Error() string {
	if p.Name == "" {
		return fmt.Sprintf("rank %d: %v", p.Rank, p.Err)
	}
	return fmt.Sprintf("rank %d: file %q: %v", p.Rank, p.Name, p.Err)
}

func (p Problem) Unwrap() error { return p.Err }

// describe joins problems for a message, not more than a screen of them.
func describe(list []Problem) string {
	const most = 10
	lines := make([]string, 0, most+1)
	for i, p := range list {
		if i == most {
			lines = append(lines, fmt.Sprintf("and %d more", len(list)-most))
			break
		}
		lines = append(lines, p.Error())
	}
	return strings.Join(lines, "\n")
}

// listed is the error for a list of problems, nil for none: it shows the first
// ones, and wraps the causes of all.
func listed(list []Problem) error {
	if len(list) == 0 {
		return nil
	}
	e := &problems{text: describe(list)}
	for _, p := range list {
		e.causes = append(e.causes, p.Err)
	}
	return e
}

type problems struct {
	text   string
	causes []error
}

func (p *problems) Error() string   { return p.text }
func (p *problems) Unwrap() []error { return p.causes }
