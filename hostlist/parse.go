package hostlist

import (
	"fmt"
	"strconv"
	"strings"
)

// maxDigits keeps every number within int64 and the sums made of it.
const maxDigits = 17

// splitOutside cuts at the commas that stand outside brackets.
func splitOutside(list string) ([]string, error) {
	var parts []string
	open, start := false, 0
	for i := 0; i < len(list); i++ {
		switch c := list[i]; {
		case c == '[' && open:
			return nil, fmt.Errorf("host list %s: byte %d: '[' inside brackets: %w", quoted(list), i, ErrSyntax)
		case c == ']' && !open:
			return nil, fmt.Errorf("host list %s: byte %d: ']' without '[': %w", quoted(list), i, ErrSyntax)
		case c == '[':
			open = true
		case c == ']':
			open = false
		case c == ',' && !open:
			parts = append(parts, list[start:i])
			start = i + 1
		}
	}
	if open {
		return nil, fmt.Errorf("host list %s: '[' is never closed: %w", quoted(list), ErrSyntax)
	}
	return append(parts, list[start:]), nil
}

// parseName reads one part; brackets are known to be balanced.
func parseName(part string) (name, error) {
	if part == "" {
		return name{}, fmt.Errorf("an empty name between commas: %w", ErrSyntax)
	}
	if i := strings.IndexFunc(part, unprintable); i >= 0 {
		return name{}, fmt.Errorf("%s: blank or control character in a name: %w", quoted(part), ErrSyntax)
	}
	var n name
	rest := part
	for {
		text, tail, bracket := strings.Cut(rest, "[")
		n.text = append(n.text, text)
		if !bracket {
			break
		}
		inside, after, _ := strings.Cut(tail, "]")
		ranges, err := parseRanges(inside)
		if err != nil {
			return name{}, fmt.Errorf("%s: %w", quoted(part), err)
		}
		n.ranges = append(n.ranges, ranges)
		rest = after
	}
	if n.longest() > MaxNameBytes {
		return name{}, fmt.Errorf("%s: a name of more than %d bytes: %w", quoted(part), MaxNameBytes, ErrSyntax)
	}
	return n, nil
}

func unprintable(r rune) bool { return r <= ' ' || r == 0x7f }

func parseRanges(inside string) ([]span, error) {
	var ranges []span
	for _, item := range strings.Split(inside, ",") {
		low, high, isRange := strings.Cut(item, "-")
		if !isRange {
			high = low
		}
		lo, err := parseNumber(item, low)
		if err != nil {
			return nil, err
		}
		hi, err := parseNumber(item, high)
		if err != nil {
			return nil, err
		}
		if lo > hi {
			return nil, fmt.Errorf("[%s]: range runs backwards: %w", item, ErrSyntax)
		}
		// 1-010 leaves open whether 1 is meant as 001.
		if high[0] == '0' && len(high) != len(low) {
			return nil, fmt.Errorf("[%s]: ends padded to different widths: %w", item, ErrSyntax)
		}
		ranges = append(ranges, span{lo, hi, len(low)})
	}
	return ranges, nil
}

func parseNumber(item, digits string) (int64, error) {
	for i := range len(digits) {
		if digits[i] < '0' || digits[i] > '9' {
			return 0, fmt.Errorf("[%s]: %s is no number: %w", quoted(item), quoted(digits), ErrSyntax)
		}
	}
	if digits == "" {
		return 0, fmt.Errorf("[%s]: number missing: %w", item, ErrSyntax)
	}
	if len(digits) > maxDigits {
		return 0, fmt.Errorf("[%s]: more than %d digits: %w", quoted(item), maxDigits, ErrSyntax)
	}
	return strconv.ParseInt(digits, 10, 64)
}
