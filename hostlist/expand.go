package hostlist

import (
	"errors"
	"fmt"
	"strings"
)

// MaxHosts is the largest number of hosts a list may stand for. It is far
// above the largest machine built (160,000 nodes) and keeps a mistyped range
// from filling the memory.
const MaxHosts = 1 << 20

// MaxNameBytes is the longest host name, as in the domain name system.
const MaxNameBytes = 255

// ErrSyntax is wrapped by every error that says a list is not well formed.
var ErrSyntax = errors.New("not a host list")

// ErrTooMany is wrapped by the error for a list of more than MaxHosts hosts.
var ErrTooMany = fmt.Errorf("more than %d hosts", MaxHosts)

// ErrRange is wrapped by the error for a host number outside the list.
var ErrRange = errors.New("no such host in the list")

// Expand returns the hosts of a list in the order in which they are written,
// duplicates included. A blank list has no hosts. Errors wrap ErrSyntax or
// ErrTooMany and name the part at fault; nothing is allocated for a list that
// is too long.
func Expand(list string) ([]string, error) {
	names, count, err := parse(list)
	if err != nil {
		return nil, err
	}
	hosts := make([]string, 0, count)
	for _, n := range names {
		hosts = n.appendTo(hosts)
	}
	return hosts, nil
}

// Count returns how many hosts a list stands for, duplicates included. Errors
// are those of Expand.
func Count(list string) (int, error) {
	_, count, err := parse(list)
	return count, err
}

// Nth returns the n-th host of a list, counting from 1 and in the order of
// Expand. Errors are those of Expand, and ErrRange if n is less than 1 or
// more than Count.
func Nth(list string, n int) (string, error) {
	hosts, err := Expand(list)
	if err != nil {
		return "", err
	}
	if n < 1 || n > len(hosts) {
		return "", fmt.Errorf("host %d of %q: %w: it has %d", n, list, ErrRange, len(hosts))
	}
	return hosts[n-1], nil
}

// name is one comma-separated part: text[0] ranges[0] text[1] ranges[1] ... text[n].
type name struct {
	text   []string
	ranges [][]span
}

// span is lo..hi, both included, written with at least width digits.
type span struct {
	lo, hi int64
	width  int
}

// appendTo adds every host the name stands for, the last bracket fastest.
func (n name) appendTo(hosts []string) []string {
	done := []string{n.text[0]}
	for i, ranges := range n.ranges {
		var next []string
		for _, head := range done {
			for _, r := range ranges {
				for v := r.lo; v <= r.hi; v++ {
					next = append(next, fmt.Sprintf("%s%0*d%s", head, r.width, v, n.text[i+1]))
				}
			}
		}
		done = next
	}
	return append(hosts, done...)
}

// count returns the number of hosts, or MaxHosts+1 if there are more.
func (n name) count() int {
	product := int64(1)
	for _, ranges := range n.ranges {
		var sum int64
		for _, r := range ranges {
			sum = min(sum+r.hi-r.lo+1, MaxHosts+1)
		}
		product = min(product*sum, MaxHosts+1)
	}
	return int(product)
}

// longest returns the bytes of the longest host the name stands for.
func (n name) longest() int {
	bytes := 0
	for _, t := range n.text {
		bytes += len(t)
	}
	for _, ranges := range n.ranges {
		digits := 0
		for _, r := range ranges {
			digits = max(digits, r.width, len(fmt.Sprint(r.hi)))
		}
		bytes += digits
	}
	return bytes
}

func parse(list string) ([]name, int, error) {
	if strings.TrimSpace(list) == "" {
		return nil, 0, nil
	}
	parts, err := splitOutside(list)
	if err != nil {
		return nil, 0, err
	}
	names := make([]name, 0, len(parts))
	count := 0
	for _, part := range parts {
		n, err := parseName(strings.TrimSpace(part))
		if err != nil {
			return nil, 0, fmt.Errorf("host list %s: %w", quoted(list), err)
		}
		names = append(names, n)
		if count += n.count(); count > MaxHosts {
			return nil, 0, fmt.Errorf("host list %s: %w", quoted(list), ErrTooMany)
		}
	}
	return names, count, nil
}

// quoted shortens a list for an error message.
func quoted(list string) string {
	const shown = 80
	if len(list) > shown {
		return fmt.Sprintf("%q...", list[:shown])
	}
	return fmt.Sprintf("%q", list)
}
