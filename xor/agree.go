package xor

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/scrfs/scrfs/scr"
)

// Agree compares the headers of one set, in any order, and returns the indices
// of the members for which there is none. Each header must be valid by itself.
// They must agree in dataset, ranks, group and chunk; no member may occur
// twice; and the copy that a header keeps of its left neighbour's files must be
// what that neighbour says. Errors name the two ranks and wrap scr.ErrInvalid.
func Agree(headers []Header) (missing []int, err error) {
	if len(headers) == 0 {
		return nil, fmt.Errorf("xor set: no header: %w", scr.ErrInvalid)
	}
	for _, h := range headers {
		if err := h.Validate(); err != nil {
			return nil, fmt.Errorf("xor header of rank %d: %w", h.Current.Rank, err)
		}
	}
	first := headers[0]
	byIndex := make([]*Header, len(first.Group))
	for k := range headers {
		h := &headers[k]
		if what := difference(first, *h); what != "" {
			return nil, fmt.Errorf("xor set %d: headers of rank %d and rank %d disagree in %s: %w",
				first.Set(), first.Current.Rank, h.Current.Rank, what, scr.ErrInvalid)
		}
		if byIndex[h.Index()] != nil {
			return nil, fmt.Errorf("xor set %d: two headers of rank %d: %w", first.Set(), h.Current.Rank, scr.ErrInvalid)
		}
		byIndex[h.Index()] = h
	}
	for i, h := range byIndex {
		if h == nil {
			missing = append(missing, i)
			continue
		}
		left := byIndex[first.Layout().Left(i)]
		if left != nil && !sameMember(left.Current, h.Partner) {
			return nil, fmt.Errorf("xor set %d: rank %d and its copy in the header of rank %d disagree in the files: %w",
				first.Set(), left.Current.Rank, h.Current.Rank, scr.ErrInvalid)
		}
	}
	return missing, nil
}

func difference(a, b Header) string {
	switch {
	case a.Dataset != b.Dataset:
		return "dataset"
	case a.Ranks != b.Ranks:
		return "ranks of the job"
	case !slices.Equal(a.Group, b.Group):
		return "members of the set"
	case a.ChunkBytes != b.ChunkBytes:
		return "chunk size"
	}
	return ""
}

func sameMember(a, b Member) bool {
	return a.Rank == b.Rank && slices.EqualFunc(a.Files, b.Files, func(x, y scr.FileMeta) bool {
		return reflect.DeepEqual(x, y) // there is a pointer in it
	})
}

// LostHeader returns the header of the one member that is missing between its
// neighbours: what the right one says of the set, the files that the right one
// kept a copy of, and the left one's own files. In a set of two, left and right
// are the same.
func LostHeader(left, right Header) Header {
	lost := right
	lost.Current = right.Partner
	lost.Partner = left.Current
	return lost
}

// onlyLost returns the one missing member.
func onlyLost(group []scr.Rank, missing []int) (int, error) {
	switch len(missing) {
	case 1:
		return missing[0], nil
	case 0:
		return 0, fmt.Errorf("no member is lost: %w", scr.ErrInvalid)
	}
	names := make([]string, len(missing))
	for k, i := range missing {
		names[k] = group[i].String()
	}
	return 0, fmt.Errorf("ranks %s are lost, XOR brings back one of a set: %w", strings.Join(names, ","), scr.ErrUnrecoverable)
}
