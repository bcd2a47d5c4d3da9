package resource

import (
	"os"
	"path/filepath"
	"testing"
)

// lay writes files below a new directory.
func lay(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestMemoryIsTheNarrowestLimitAbove(t *testing.T) {
	for _, tc := range []struct {
		name    string
		files   map[string]string
		want    int64
		limited bool
	}{
		{"no control groups", nil, 0, false},
		{"no limit", map[string]string{
			"proc/self/cgroup": "0::/job\n", "cg/job/memory.max": "max\n", "cg/job/memory.current": "10\n",
		}, 0, false},
		{"version 2", map[string]string{
			"proc/self/cgroup":  "0::/job/step\n",
			"cg/job/memory.max": "1000\n", "cg/job/memory.current": "700\n",
			"cg/job/memory.stat":     "anon 300\ninactive_file 50\nactive_file 25\nshmem 300\n",
			"cg/job/step/memory.max": "max\n", "cg/job/step/memory.current": "700\n",
		}, 375, true},
		{"the group itself is narrower", map[string]string{
			"proc/self/cgroup":  "0::/job/step\n",
			"cg/job/memory.max": "1000\n", "cg/job/memory.current": "700\n",
			"cg/job/step/memory.max": "800\n", "cg/job/step/memory.current": "700\n",
		}, 100, true},
		{"version 1", map[string]string{
			"proc/self/cgroup":                            "9:cpu,cpuacct:/x\n4:memory:/slurm/job_7\n",
			"cg/memory/memory.limit_in_bytes":             "9223372036854771712\n",
			"cg/memory/memory.usage_in_bytes":             "5\n",
			"cg/memory/slurm/job_7/memory.limit_in_bytes": "2000\n",
			"cg/memory/slurm/job_7/memory.usage_in_bytes": "1500\n",
			"cg/memory/slurm/job_7/memory.stat":           "inactive_file 7\ntotal_inactive_file 100\ntotal_active_file 20\n",
		}, 620, true},
		{"over the limit", map[string]string{
			"proc/self/cgroup": "0::/\n", "cg/memory.max": "10\n", "cg/memory.current": "20\n",
		}, 0, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := lay(t, tc.files)
			got, limited := NewMemory(filepath.Join(dir, "proc"), filepath.Join(dir, "cg")).FreeBytes()
			if limited != tc.limited || limited && got != tc.want {
				t.Errorf("got %d, %v, want %d, %v", got, limited, tc.want, tc.limited)
			}
		})
	}
}
