package scavenger

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/scrfs/scrfs/scr"
)

// Step is one thing that was done or decided, for the user.
type Step struct {
	Kind    StepKind      `json:"step"`
	Node    string        `json:"node,omitempty"`
	Dataset scr.DatasetID `json:"dataset,omitempty"`
	Name    string        `json:"name,omitempty"`
	Why     Why           `json:"why,omitempty"`
	Ranks   []scr.Rank    `json:"ranks,omitempty"`
	Files   int           `json:"files,omitempty"`
	Bytes   int64         `json:"bytes,omitempty"`
	Text    string        `json:"text"` // what happened, in words
	// Warning: something is not as it should be.
	Warning bool `json:"warning,omitempty"`
}

// StepKind names a step for machines.
type StepKind string

// The kinds of steps.
const (
	StepRolled  StepKind = "rolled-forward" // an interrupted publication was ended
	StepListed  StepKind = "listed"         // a node said what it has
	StepDown    StepKind = "down"           // a node did not answer or failed
	StepSkipped StepKind = "skipped"        // a dataset stays where it is
	StepPlanned StepKind = "planned"        // a dataset will be rescued
	StepCopied  StepKind = "copied"         // a node has copied its part
	StepRebuilt StepKind = "rebuilt"        // lost ranks are back
	StepPublish StepKind = "published"      // a dataset is in the prefix directory
	StepFailed  StepKind = "failed"         // a dataset could not be rescued
	StepCurrent StepKind = "current"        // where a restart begins
)

// String is the line for the user.
func (s Step) String() string {
	switch {
	case s.Dataset != 0 && s.Node != "":
		return fmt.Sprintf("dataset %d: node %s %s", s.Dataset, s.Node, s.Text)
	case s.Dataset != 0:
		return fmt.Sprintf("dataset %d %s", s.Dataset, s.Text)
	case s.Node != "":
		return fmt.Sprintf("node %s %s", s.Node, s.Text)
	}
	return s.Text
}

// rankList is "rank 3" or "ranks 3, 5".
func rankList(ranks []scr.Rank) string {
	if len(ranks) == 1 {
		return "rank " + ranks[0].String()
	}
	words := make([]string, 0, most+1)
	for i, r := range ranks {
		if i == most {
			words = append(words, fmt.Sprintf("%d more", len(ranks)-most))
			break
		}
		words = append(words, r.String())
	}
	return "ranks " + strings.Join(words, ", ")
}

// count is "1 file" or "3 files".
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}

// size is a number of bytes for people.
func size(n int64) string {
	const units = "KMGTPE"
	if n < 1024 {
		return fmt.Sprintf("%d B", n)
	}
	f := float64(n) / 1024
	i := 0
	for f >= 1024 && i < len(units)-1 {
		f /= 1024
		i++
	}
	return fmt.Sprintf("%.1f %ciB", f, units[i])
}
