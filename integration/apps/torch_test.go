//go:build apps

package apps

import (
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
)

// python is Debian's own: another one does not see its packages.
const python = "/usr/bin/python3"

// TestTorchGoesOn trains to the half and on from the checkpoint; the losses
// are those of a run in one piece, to the last digit. The files are those of
// the same two runs in a plain directory: after a load torch numbers the parts
// of a file otherwise.
func TestTorchGoesOn(t *testing.T) {
	if out, err := exec.Command(python, "-c", "import torch").CombinedOutput(); err != nil {
		t.Skipf("python3-torch: %v\n%s", err, out)
	}
	script, err := filepath.Abs("../testdata/torch/train.py")
	if err != nil {
		t.Fatal(err)
	}
	t.Run("every rank its file", func(t *testing.T) {
		s := newSite(t)
		train := func(dir, steps string) []string { return sorted(s.run(dir, python, script, "every", dir, steps)) }
		want := train(s.whole, "8")
		train(s.plain, "4")
		train(s.plain, "8")
		s.mount()
		got := append(train(s.prefix, "4"), train(s.prefix, "8")...)
		s.unmount()
		compare(t, got, want)
		for _, step := range []string{"2", "4", "6", "8"} {
			s.same("ckpt_"+step+"_rank0.pt", "ckpt_"+step+"_rank1.pt")
		}
	})
	t.Run("one file, renamed into place", func(t *testing.T) {
		s := newSite(t)
		node := s.c.Node(1)
		train := func(dir, steps string) []string {
			out, err := node.CommandContext(s.ctx, python, script, "atomic", dir, steps).Output()
			if err != nil {
				t.Fatalf("train: %v\n%s", err, out)
			}
			return sorted(string(out))
		}
		want := train(s.whole, "8")
		train(s.plain, "4")
		train(s.plain, "8")
		s.mount()
		got := append(train(s.prefix, "4"), train(s.prefix, "8")...)
		s.unmount()
		compare(t, got, want)
		s.same("ckpt.pt")
	})
}

func compare(t *testing.T, got, want []string) {
	t.Helper()
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("losses\n%q, want\n%q", got, want)
	}
}
