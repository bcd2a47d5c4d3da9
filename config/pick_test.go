package config

import (
	"testing"

	"github.com/scrfs/scrfs/scr"
)

func TestTheLargestIntervalThatDividesWins(t *testing.T) {
	c := load(t, user(`
SCR_COPY_TYPE=FILE
STORE=/ssd COUNT=4
CKPT=0
CKPT=1 INTERVAL=4 STORE=/ssd TYPE=PARTNER
CKPT=2 INTERVAL=6 TYPE=SINGLE
CKPT=3 INTERVAL=8 ENABLED=0
CKPT=4 INTERVAL=6 OUTPUT=1
`))
	for n, want := range map[scr.CheckpointID]int{1: 0, 2: 0, 4: 1, 6: 2, 8: 1, 12: 2, 24: 2} {
		if got := c.CheckpointFor(n); got.ID != want {
			t.Errorf("checkpoint %d: CKPT=%d, want %d", n, got.ID, want)
		}
	}
	if got := c.OutputDescriptor(); got.ID != 4 {
		t.Errorf("output: CKPT=%d, want 4", got.ID)
	}
	if got := c.StoreAt(c.CheckpointFor(4).Store); got.Count != 4 {
		t.Errorf("store of checkpoint 4: %+v", got)
	}
	plain := load(t, Input{})
	if got := plain.OutputDescriptor(); got.Type != scr.XOR || plain.StoreAt(got.Store).Path != "/dev/shm" {
		t.Errorf("output without CKPT lines: %+v", got)
	}
}

func TestOfEqualIntervalsTheFirstWins(t *testing.T) {
	c, warnings, err := Load(user("SCR_COPY_TYPE=FILE\nCKPT=7\nCKPT=3"))
	if err != nil || len(warnings) != 1 {
		t.Fatalf("error %v, warnings %v", err, warnings)
	}
	if got := c.CheckpointFor(5); got.ID != 7 {
		t.Errorf("CKPT=%d, want 7", got.ID)
	}
}
