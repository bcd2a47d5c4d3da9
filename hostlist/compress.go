package hostlist

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Compress writes hosts in the short form, sorted by name and number, with
// duplicates kept: atlas9, atlas3, atlas10, atlas3 is atlas[3,3,9-10]. The last
// number in a name is the one that goes into brackets. The names must be such
// as Expand returns; Expand of the result gives the same hosts, sorted.
func Compress(hosts []string) string {
	numbered := make([]host, len(hosts))
	for i, h := range hosts {
		numbered[i] = split(h)
	}
	slices.SortFunc(numbered, host.compare)
	var out []string
	for start := 0; start < len(numbered); {
		end := start + 1
		for end < len(numbered) && numbered[end].sameGroup(numbered[start]) {
			end++
		}
		out = append(out, group(numbered[start:end]))
		start = end
	}
	return strings.Join(out, ",")
}

// Minus returns the hosts of a that are not in b, in the order of a,
// duplicates kept.
func Minus(a, b []string) []string { return filter(a, b, false) }

// Intersect returns the hosts of a that are also in b, in the order of a,
// duplicates of a kept.
func Intersect(a, b []string) []string { return filter(a, b, true) }

func filter(a, b []string, keepMembers bool) []string {
	members := make(map[string]bool, len(b))
	for _, h := range b {
		members[h] = true
	}
	var kept []string
	for _, h := range a {
		if members[h] == keepMembers {
			kept = append(kept, h)
		}
	}
	return kept
}

// host is a name cut around its last number; digits is empty if it has none.
type host struct {
	head, digits, tail string
	number             int64
}

func split(name string) host {
	end := strings.LastIndexAny(name, "0123456789") + 1
	start := end
	for start > 0 && name[start-1] >= '0' && name[start-1] <= '9' {
		start--
	}
	if end == 0 || end-start > maxDigits {
		return host{head: name}
	}
	number, err := strconv.ParseInt(name[start:end], 10, 64)
	if err != nil {
		panic(fmt.Sprintf("BUG: %q has digits at %d..%d: %v", name, start, end, err))
	}
	return host{name[:start], name[start:end], name[end:], number}
}

func (h host) sameGroup(o host) bool {
	return h.head == o.head && h.tail == o.tail && h.digits != "" && o.digits != ""
}

func (h host) compare(o host) int {
	return cmp.Or(
		cmp.Compare(h.head, o.head),
		cmp.Compare(h.tail, o.tail),
		cmp.Compare(h.number, o.number),
		cmp.Compare(len(h.digits), len(o.digits)))
}

// group writes hosts that differ in their number only.
func group(hosts []host) string {
	first := hosts[0]
	if len(hosts) == 1 {
		return first.head + first.digits + first.tail
	}
	var items []string
	for start := 0; start < len(hosts); {
		end := start + 1
		for end < len(hosts) && hosts[end].follows(hosts[end-1], len(hosts[start].digits)) {
			end++
		}
		item := hosts[start].digits
		if end-start > 1 {
			item += "-" + hosts[end-1].digits
		}
		items = append(items, item)
		start = end
	}
	return first.head + "[" + strings.Join(items, ",") + "]" + first.tail
}

// follows says whether h continues a range whose lower end has width digits.
func (h host) follows(before host, width int) bool {
	return h.number == before.number+1 && h.digits == fmt.Sprintf("%0*d", width, h.number)
}
