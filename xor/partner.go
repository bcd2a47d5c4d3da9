package xor

import (
	"fmt"
	"slices"
	"strings"

	"github.com/scrfs/scrfs/scr"
)

// Copy is one step of a PARTNER plan: all files of Owner go from where rank
// From runs to where rank To runs.
type Copy struct {
	Owner, From, To scr.Rank
}

// PartnerHolder returns who keeps the copy of the files of member i of a
// PARTNER set: its right neighbour.
func PartnerHolder(group []scr.Rank, i int) scr.Rank { return group[(i+1)%len(group)] }

// PlanPartner says how the lost ranks of a PARTNER set get their files back.
// First each lost rank takes its own files from its right neighbour. After
// these, in the same order, the copies that the lost ranks had kept for their
// left neighbours are made again, so that the set stands the next loss. A lost
// rank whose right neighbour is lost as well is gone: the error names all such
// ranks and wraps scr.ErrUnrecoverable, and the plan is empty.
func PlanPartner(group, lost []scr.Rank) ([]Copy, error) {
	if len(group) < 2 {
		return nil, fmt.Errorf("partner set of %d members: at least 2 are needed: %w", len(group), scr.ErrInvalid)
	}
	for _, rank := range lost {
		if !slices.Contains(group, rank) {
			return nil, fmt.Errorf("partner set %d: rank %d is no member: %w", slices.Min(group), rank, scr.ErrInvalid)
		}
	}
	var restore, protect []Copy
	var gone []string
	for i, rank := range group {
		if !slices.Contains(lost, rank) {
			continue
		}
		holder := PartnerHolder(group, i)
		if slices.Contains(lost, holder) {
			gone = append(gone, rank.String())
			continue
		}
		left := group[(i+len(group)-1)%len(group)]
		restore = append(restore, Copy{Owner: rank, From: holder, To: rank})
		protect = append(protect, Copy{Owner: left, From: left, To: rank})
	}
	if len(gone) > 0 {
		return nil, fmt.Errorf("partner set %d: ranks lost with their copies: %s: %w",
			slices.Min(group), strings.Join(gone, ","), scr.ErrUnrecoverable)
	}
	return append(restore, protect...), nil
}
