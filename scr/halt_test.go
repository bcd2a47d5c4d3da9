package scr

import (
	"errors"
	"testing"
	"time"

	"github.com/scrfs/scrfs/internal/disk"
	"github.com/scrfs/scrfs/kvtree"
)

func TestEachConditionHalts(t *testing.T) {
	const now = 1_298_937_600
	for name, c := range map[string]struct {
		file HaltFile
		want bool
	}{
		"none":                      {HaltFile{}, false},
		"reason":                    {HaltFile{ExitReason: HaltJob}, true},
		"finalize":                  {HaltFile{ExitReason: HaltFinalized}, true},
		"one checkpoint left":       {HaltFile{CheckpointsLeft: LimitOf(1)}, false},
		"no checkpoint left":        {HaltFile{CheckpointsLeft: LimitOf(0)}, true},
		"one checkpoint too many":   {HaltFile{CheckpointsLeft: LimitOf(-1)}, true},
		"exit after later":          {HaltFile{ExitAfter: LimitOf(now + 1)}, false},
		"exit after now":            {HaltFile{ExitAfter: LimitOf(now)}, true},
		"exit before later":         {HaltFile{ExitBefore: LimitOf(now + 1)}, false},
		"exit before now":           {HaltFile{ExitBefore: LimitOf(now)}, true},
		"halt seconds to go":        {HaltFile{ExitBefore: LimitOf(now + 1201), HaltSeconds: LimitOf(1200)}, false},
		"within halt seconds":       {HaltFile{ExitBefore: LimitOf(now + 1200), HaltSeconds: LimitOf(1200)}, true},
		"halt seconds alone":        {HaltFile{HaltSeconds: LimitOf(1200)}, false},
		"exit before far in future": {HaltFile{ExitBefore: LimitOf(1 << 62)}, false},
	} {
		got, why := c.file.ShouldHalt(time.Unix(now, 0))
		if got != c.want || got != (why != "") {
			t.Errorf("%s: got %v %q, want %v", name, got, why, c.want)
		}
	}
}

func TestCheckpointDoneStopsAtZero(t *testing.T) {
	h := HaltFile{CheckpointsLeft: LimitOf(1)}
	h.CheckpointDone()
	h.CheckpointDone()
	if h.CheckpointsLeft != LimitOf(0) {
		t.Errorf("got %+v, want 0", h.CheckpointsLeft)
	}
	h = HaltFile{}
	h.CheckpointDone()
	if h.CheckpointsLeft.Set {
		t.Error("a limit came from nowhere")
	}
}

func TestHaltFileKeepsUnknownKeysAndShrinks(t *testing.T) {
	fsys := mustOpen(t, t.TempDir())
	full := HaltFile{ExitReason: HaltFinalized, CheckpointsLeft: LimitOf(7)}.Tree(F14)
	full.PutString("Future", "1")
	if err := WriteTree(fsys, "halt.scr", full); err != nil {
		t.Fatal(err)
	}
	if err := UpdateHalt(fsys, "halt.scr", func(h *HaltFile) error { h.ExitReason = ""; return nil }); err != nil {
		t.Fatal(err)
	}
	data, err := disk.ReadFile(fsys, "halt.scr")
	if err != nil {
		t.Fatal(err)
	}
	got, n, err := kvtree.Decode(data)
	want := kvtree.New()
	want.PutString("Future", "1")
	want.PutInt("CheckpointsLeft", 7)
	if err != nil || n != len(data) || !kvtree.Equal(got, want) {
		t.Errorf("got %q, %d of %d bytes, %v; want %q", text(got), n, len(data), err, text(want))
	}
}

func TestHaltFileAbsentEmptyOrDamaged(t *testing.T) {
	fsys := mustOpen(t, t.TempDir())
	if h, err := ReadHalt(fsys, "halt.scr"); err != nil || h.ExitReason != "" {
		t.Errorf("absent: got %+v, %v", h, err)
	}
	if there, err := disk.Exists(fsys, "halt.scr"); err != nil || there {
		t.Errorf("reading made the file: %v, %v", there, err)
	}
	if err := disk.WriteFile(fsys, "halt.scr", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadHalt(fsys, "halt.scr"); err != nil {
		t.Errorf("empty: %v", err)
	}
	if err := disk.WriteFile(fsys, "halt.scr", []byte("rubbish"), 0o644); err != nil {
		t.Fatal(err)
	}
	err := UpdateHalt(fsys, "halt.scr", func(h *HaltFile) error { h.ExitReason = HaltJob; return nil })
	if !errors.Is(err, ErrCorrupt) {
		t.Errorf("damaged: got %v, want ErrCorrupt", err)
	}
	if data, err := disk.ReadFile(fsys, "halt.scr"); err != nil || string(data) != "rubbish" {
		t.Errorf("a damaged file was changed: %q, %v", data, err)
	}
}
