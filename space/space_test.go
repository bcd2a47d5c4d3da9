package space

import (
	"errors"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/scrfs/scrfs/scr"
)

const mib, gib = 1 << 20, 1 << 30

func TestDecide(t *testing.T) {
	big := Cache{TotalBytes: 64 * gib, FreeBytes: 60 * gib}
	small := Cache{TotalBytes: 64 * mib, FreeBytes: 64 * mib}
	for _, tc := range []struct {
		name  string
		cache Cache
		file  File
		want  Decision
	}{
		{"unknown file, ample room", big, File{Empty: true}, Decision{Kernel: true}},
		{"unknown file, half full", Cache{TotalBytes: 64 * gib, FreeBytes: 32 * gib}, File{Empty: true}, Decision{}},
		{"unknown file, room is promised", Cache{64 * gib, 60 * gib, 30 * gib}, File{Empty: true}, Decision{}},
		{"unknown file, small cache", small, File{Empty: true}, Decision{}},
		{"unknown file, full cache", Cache{TotalBytes: 64 * mib, FreeBytes: 3 * mib}, File{Empty: true}, Decision{Short: true}},
		{"known file that fits", small, File{Empty: true, Known: true, ExpectedBytes: 32 * mib}, Decision{Kernel: true, Bytes: 34 * mib, SetAside: true}},
		{"known file, ample room", big, File{Empty: true, Known: true, ExpectedBytes: 16 * mib}, Decision{Kernel: true, Bytes: 17 * mib}},
		{"known file, room is tight after it", big, File{Empty: true, Known: true, ExpectedBytes: 32 * gib}, Decision{Kernel: true, Bytes: 34 * gib, SetAside: true}},
		{"known file that does not fit", small, File{Empty: true, Known: true, ExpectedBytes: 200 * mib}, Decision{Short: true}},
		{"no room for its redundancy", small, File{Empty: true, Known: true, ExpectedBytes: 32 * mib, RedundancyBytes: 32 * mib}, Decision{Short: true}},
		{"known file that is changed in place", small, File{Known: true, ExpectedBytes: mib}, Decision{}},
	} {
		if got := Default().Decide(tc.cache, tc.file); got != tc.want {
			t.Errorf("%s: got %+v, want %+v", tc.name, got, tc.want)
		}
	}
}

// However files come, what is given to the kernel fits beside the reserve.
func TestWhatTheKernelGetsFits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := Cache{TotalBytes: rapid.Int64Range(0, 1<<40).Draw(t, "total")}
		c.FreeBytes = rapid.Int64Range(0, c.TotalBytes).Draw(t, "free")
		l := Limits{AmpleBytes: rapid.Int64Range(0, 1<<34).Draw(t, "ample"), ReserveBytes: rapid.Int64Range(0, 1<<30).Draw(t, "reserve")}
		for range rapid.IntRange(1, 20).Draw(t, "files") {
			f := File{Empty: true, Known: true, ExpectedBytes: rapid.Int64Range(0, 1<<38).Draw(t, "bytes")}
			d := l.Decide(c, f)
			if d.Kernel && d.Bytes < f.ExpectedBytes {
				t.Fatalf("a file of %d bytes gets %d", f.ExpectedBytes, d.Bytes)
			}
			if d.Kernel {
				c.PromisedBytes += d.Bytes
			}
		}
		if c.PromisedBytes > 0 && c.FreeBytes-c.PromisedBytes < l.Reserve(c.TotalBytes) {
			t.Fatalf("promised %d of %d, reserve %d", c.PromisedBytes, c.FreeBytes, l.Reserve(c.TotalBytes))
		}
	})
}

func TestFullAndRoomKeepTheReserve(t *testing.T) {
	l := Default()
	c := Cache{TotalBytes: 64 * mib, FreeBytes: 5 * mib}
	if l.Full(c, mib) || !l.Full(c, mib+1) {
		t.Errorf("a reserve of %d is not kept", l.Reserve(c.TotalBytes))
	}
	c.FreeBytes = 64 * mib
	if !l.Room(c, 40*mib, 20*mib) || l.Room(c, 40*mib, 20*mib+1) {
		t.Error("room is not what is free without the reserve")
	}
}

func TestSizesAreThoseOfTheLargestOfTwoDatasets(t *testing.T) {
	var s Sizes
	if _, known := s.Expect("a"); known {
		t.Error("a file never seen is known")
	}
	s.Note("a", 1, 10, 10)
	s.Note("a", 1, 30, 20)
	s.Note("b", 1, 5, 5)
	s.Note("a", 2, 20, 20)
	if got, _ := s.Expect("a"); got != 30 {
		t.Errorf("got %d, want 30: the dataset that is being written may be unfinished", got)
	}
	if got := s.Dataset(); got != 35 {
		t.Errorf("dataset of %d bytes, want 35", got)
	}
	s.Note("a", 3, 7, 7)
	if got, _ := s.Expect("a"); got != 20 {
		t.Errorf("got %d, want 20", got)
	}
}

func TestSizesAreBounded(t *testing.T) {
	var s Sizes
	for i := range 2 * maxPatterns {
		s.Note(fmt.Sprint(i), 1, 1, 1)
	}
	if len(s.files) != maxPatterns {
		t.Errorf("%d patterns", len(s.files))
	}
	if _, known := s.Expect("0"); !known {
		t.Error("the first is forgotten")
	}
}

func TestLimitsMustNotBeNegative(t *testing.T) {
	if err := Default().Validate(); err != nil {
		t.Error(err)
	}
	for _, l := range []Limits{{AmpleBytes: -1}, {ReserveBytes: -1}} {
		if err := l.Validate(); !errors.Is(err, scr.ErrInvalid) {
			t.Errorf("%+v: %v", l, err)
		}
	}
}
