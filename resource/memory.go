package resource

import (
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Memory is the memory that the control groups of this process allow. Pages of
// a file system in memory are charged to who writes them: a program whose group
// has a limit of its own, below none of this process's, is not known to it.
type Memory struct {
	groups []memoryGroup
}

// memoryGroup is one directory of a control group file system.
type memoryGroup struct {
	dir string
	v2  bool
}

// unlimited: version 1 has a number near the greatest for none.
const unlimited = math.MaxInt64 / 2

// NewMemory finds the control groups of this process, of version 1 and 2, whose
// limits hold for it: its own and those above. proc and cgroup are "/proc" and
// "/sys/fs/cgroup" in earnest.
func NewMemory(proc, cgroup string) *Memory {
	m := &Memory{}
	b, err := os.ReadFile(filepath.Join(proc, "self", "cgroup"))
	if err != nil {
		return m // a kernel without control groups has no limits
	}
	for line := range strings.Lines(string(b)) {
		// number:controllers:path; version 2 has number 0 and no controllers.
		part := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		switch {
		case len(part) != 3 || !strings.HasPrefix(part[2], "/"):
		case part[0] == "0" && part[1] == "":
			m.add(cgroup, part[2], true)
			m.add(filepath.Join(cgroup, "unified"), part[2], true)
		case hasMemory(part[1]):
			m.add(filepath.Join(cgroup, "memory"), part[2], false)
		}
	}
	return m
}

func hasMemory(controllers string) bool {
	for c := range strings.SplitSeq(controllers, ",") {
		if c == "memory" {
			return true
		}
	}
	return false
}

// add notes a group and those above it that have a limit to ask for.
func (m *Memory) add(root, path string, v2 bool) {
	for path = filepath.Clean(path); ; path = filepath.Dir(path) {
		g := memoryGroup{dir: filepath.Join(root, path), v2: v2}
		if _, err := os.Stat(g.file("memory.max", "memory.limit_in_bytes")); err == nil {
			m.groups = append(m.groups, g)
		}
		if path == "/" || path == "." {
			return
		}
	}
}

// FreeBytes is what can still be charged before the narrowest limit is reached;
// what the kernel can take back from its cache of files counts as free. False
// if there is no limit.
func (m *Memory) FreeBytes() (int64, bool) {
	free, limited := int64(math.MaxInt64), false
	for _, g := range m.groups {
		if f, ok := g.free(); ok {
			free, limited = min(free, f), true
		}
	}
	return free, limited
}

func (g memoryGroup) free() (int64, bool) {
	limit, ok := readNumber(g.file("memory.max", "memory.limit_in_bytes"))
	if !ok || limit >= unlimited {
		return 0, false
	}
	used, ok := readNumber(g.file("memory.current", "memory.usage_in_bytes"))
	if !ok {
		return 0, false
	}
	return max(0, limit-used+g.reclaimable()), true
}

// reclaimable is the memory of cached files; pages of a file system in memory
// are not among them.
func (g memoryGroup) reclaimable() int64 {
	b, err := os.ReadFile(filepath.Join(g.dir, "memory.stat"))
	if err != nil {
		return 0
	}
	total := int64(0)
	for line := range strings.Lines(string(b)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		if !g.v2 {
			var whole bool
			if name, whole = strings.CutPrefix(name, "total_"); !whole {
				continue
			}
		}
		if name == "inactive_file" || name == "active_file" {
			if v, err := strconv.ParseInt(value, 10, 64); err == nil {
				total += v
			}
		}
	}
	return total
}

func (g memoryGroup) file(v2, v1 string) string {
	if g.v2 {
		return filepath.Join(g.dir, v2)
	}
	return filepath.Join(g.dir, v1)
}

// readNumber reads a file with one number; "max" is none.
func readNumber(name string) (int64, bool) {
	b, err := os.ReadFile(name)
	if err != nil {
		return 0, false
	}
	v, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64)
	return v, err == nil
}
