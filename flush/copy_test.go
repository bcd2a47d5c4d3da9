package flush

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/scrfs/scrfs/internal/disk"
	"github.com/scrfs/scrfs/scr"
)

func TestPartLiesInTheStageAsBelowThePrefix(t *testing.T) {
	for _, redundancy := range []bool{false, true} {
		mem := disk.NewMem()
		w := newWorld(t, mem)
		stage := w.stage(t)
		p := w.part(t)
		p.Redundancy = redundancy
		last, calls := int64(0), 0
		done, err := CopyPart(context.Background(), p, stage, Options{Width: 3, BufBytes: 512, Progress: func(n int64) {
			if n <= last {
				t.Errorf("progress from %d to %d", last, n)
			}
			last = n
			calls++
		}})
		must(t, err)
		want := map[string]string{"d/a": w.files["d/a"], "d/s/empty": "", "d/s/c": w.files["d/s/c"]}
		bytes := int64(5300)
		if redundancy {
			want["d/.scr/"+xorName] = w.files[xorName]
			bytes += 700
		}
		if last != bytes || calls < 11 {
			t.Errorf("progress: %d bytes in %d calls, want %d", last, calls, bytes)
		}
		// It is durable: what a power cut leaves is all of it.
		cut, err := mem.CrashClone().Sub("prefix/stage")
		must(t, err)
		got := tree(t, cut, ".")
		for _, r := range []scr.Rank{0, 1, 2} {
			name := fmt.Sprintf("d/.scr/%d.scrfilemap", r)
			if _, ok := got[name]; !ok {
				t.Errorf("%s is not there", name)
			}
			delete(got, name)
			checkFilemap(t, cut, r, redundancy)
			if files, ok := done[r]; !ok {
				t.Errorf("rank %d is not in the result", r)
			} else {
				for _, f := range files {
					if !f.HasCRC || f.CRC != crcOf(w.files[f.File]) {
						t.Errorf("%s: checksum %v", f.File, f.CRC)
					}
				}
			}
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("redundancy %v: got files %v, want %v", redundancy, len(got), len(want))
		}
		if len(done) != 3 {
			t.Errorf("ranks: %v", done)
		}
	}
}

func TestLooseFilesGoToTheirPlaceAndRecordsToSCRs(t *testing.T) {
	w := newWorld(t, disk.NewMem())
	for _, r := range []scr.Rank{0, 1, 2} {
		w.fm.UnsetTag(18, r, scr.TagDatasetDir) // as in a cache of SCR's own
	}
	_, err := CopyPart(context.Background(), w.part(t), w.stage(t), Options{})
	must(t, err)
	m, err := scr.ReadFilemap(w.stage(t), ".scr/scr.dataset.18/.scr/0.scrfilemap")
	must(t, err)
	if got, want := m.Files(18, 0), []string{"../../d/a", "../../d/s/empty"}; !slices.Equal(got, want) {
		t.Errorf("names %v, want %v", got, want)
	}
	if got := tree(t, w.stage(t), "d"); len(got) != 3 {
		t.Errorf("files %d", len(got))
	}
}

func TestModesAndTimesAreThoseOfTheProgram(t *testing.T) {
	root, err := disk.Open(t.TempDir())
	must(t, err)
	w := newWorld(t, root)
	w.setMeta(0, "d/a", func(m *scr.FileMeta) { m.Attr.Mode = 0o104440 })
	w.setMeta(0, "d/s/empty", func(m *scr.FileMeta) { m.Attr = nil })
	must(t, root.Chtimes("cache/d/s/empty", time.Time{}, time.Unix(1_500_000_000, 0)))
	for range 2 { // over what an earlier try left, and may not be written
		_, err = CopyPart(context.Background(), w.part(t), w.stage(t), Options{})
		must(t, err)
		for name, want := range map[string]struct {
			mode  fs.FileMode
			mtime time.Time
		}{
			"d/a":       {0o440 | fs.ModeSetuid, time.Unix(1_700_000_000, 123_000_000)},
			"d/s/c":     {0o640, time.Unix(1_700_000_000, 123_000_000)},
			"d/s/empty": {0o600, time.Unix(1_500_000_000, 0)},
		} {
			st, err := w.stage(t).Lstat(name)
			must(t, err)
			if st.Mode() != want.mode || !st.ModTime().Equal(want.mtime) {
				t.Errorf("%s: got %v %v, want %v %v", name, st.Mode(), st.ModTime(), want.mode, want.mtime)
			}
		}
	}
}

func TestPartnerCopiesAreForFailedNodes(t *testing.T) {
	for _, failed := range [][]string{nil, {"n8"}, {"n9"}} {
		w := newWorld(t, disk.NewMem())
		w.fm.SetFlush(18, 1, scr.FlushDescriptor{Preserve: true, Partner: "n9"})
		p := w.part(t)
		p.Failed = failed
		done, err := CopyPart(context.Background(), p, w.stage(t), Options{})
		must(t, err)
		if _, ok := done[1]; ok != slices.Contains(failed, "n9") {
			t.Errorf("failed nodes %v: copied %v", failed, ok)
		}
	}
}

func TestCancelledCopyEnds(t *testing.T) {
	w := newWorld(t, disk.NewMem())
	ctx, cancel := context.WithCancel(context.Background())
	_, err := CopyPart(ctx, w.part(t), w.stage(t), Options{BufBytes: 100, BytesPerSecond: 1, Progress: func(int64) { cancel() }})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	for _, o := range []Options{{Width: -1}, {BufBytes: -1}, {BytesPerSecond: -1}} {
		if _, err := CopyPart(context.Background(), w.part(t), w.stage(t), o); !errors.Is(err, scr.ErrInvalid) {
			t.Errorf("%+v: got %v", o, err)
		}
	}
	if _, err := CopyPart(context.Background(), Part{Dataset: 18}, w.stage(t), Options{}); !errors.Is(err, scr.ErrInvalid) {
		t.Errorf("empty part: got %v", err)
	}
}
