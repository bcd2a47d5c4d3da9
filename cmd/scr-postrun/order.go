package main

import (
	"slices"
	"strings"

	"github.com/scrfs/scrfs/cmd/internal/cli"
	"github.com/scrfs/scrfs/scavenger"
	"github.com/scrfs/scrfs/scr"
)

// An order for a node is written as flags on one side and read on the other.

// formatSets is the value of --sets.
func formatSets(o scavenger.CopyOrder) string {
	switch {
	case o.AllSets:
		return "all"
	case len(o.Sets) == 0:
		return "none"
	}
	return formatRanks(o.Sets)
}

// parseSets reads the value of --sets.
func parseSets(text string, o *scavenger.CopyOrder) (err error) {
	switch text {
	case "all":
		o.AllSets = true
	case "none":
	default:
		if o.Sets, err = parseRanks(text); err != nil || len(o.Sets) == 0 {
			return cli.Usagef("--sets %s: want all, none or the numbers of redundancy sets", text)
		}
	}
	return nil
}

// formatRanks is a list as 3,7.
func formatRanks(ranks []scr.Rank) string {
	words := make([]string, len(ranks))
	for i, r := range ranks {
		words[i] = r.String()
	}
	return strings.Join(words, ",")
}

// parseRanks reads such a list; none if it is empty.
func parseRanks(text string) ([]scr.Rank, error) {
	if text == "" {
		return nil, nil
	}
	var ranks []scr.Rank
	for _, word := range strings.Split(text, ",") {
		r, err := scr.ParseRank(word)
		if err != nil {
			return nil, err
		}
		ranks = append(ranks, r)
	}
	slices.Sort(ranks)
	return slices.Compact(ranks), nil
}
