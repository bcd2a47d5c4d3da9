package main

import (
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// TestBenchRuns checks that every load runs and prints its line; what the
// figures are is not its business.
func TestBenchRuns(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root")
	}
	if _, err := os.Stat("/dev/fuse"); err != nil {
		t.Skip(err)
	}
	only := "^(create|stat|unlink|memory|four mounts)"
	if _, err := exec.LookPath("fio"); err == nil {
		only = "(64 KiB blocks, one|64 KiB blocks$|" + only + ")"
	}
	var out strings.Builder
	o := options{
		rounds: 1, bytes: 16 << 20, files: 20, many: 100, churn: 1000,
		base: t.TempDir(), only: regexp.MustCompile(only), out: &out, log: io.Discard,
	}
	if err := bench(t.Context(), o); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	for _, want := range []string{"| create, write 4 KiB, close | 1.3 of bindfs |", "| stat |", "| unlink |", "resident", "after 1000", "all in one directory"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, &out)
		}
	}
}

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		of   []float64
		want float64
	}{{nil, 0}, {[]float64{3}, 3}, {[]float64{9, 1, 2}, 2}} {
		if got := median(c.of); got != c.want {
			t.Errorf("median of %v: got %v, want %v", c.of, got, c.want)
		}
	}
}
