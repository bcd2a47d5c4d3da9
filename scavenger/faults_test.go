package scavenger

import (
	"bytes"
	"errors"
	"hash/crc32"
	"strings"
	"syscall"
	"testing"

	"github.com/scrfs/scrfs/internal/disk"
	"github.com/scrfs/scrfs/scr"
)

// A byte that changed in a cache is found by its checksum and mended.
func TestADamagedFileIsRebuilt(t *testing.T) {
	j := newJob(t)
	five := write(t, j, 5, "run/ckpt.5")
	for rank, files := range five {
		for name, data := range files {
			if err := j.Store(rank).SetCRC(5, name, crcOf(data)); err != nil {
				t.Fatal(err)
			}
		}
	}
	data := bytes.Clone(five[2]["run/ckpt.5/rank_2"])
	data[17] ^= 1
	if err := disk.WriteFile(j.FS(), j.Cache(2, 5, "run/ckpt.5/rank_2"), data, 0o600); err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, j)
	w.mustPublish(5)
	w.compare(five)
	if !strings.Contains(w.text(), "rank 2 again, rebuilt") {
		t.Errorf("steps:\n%s", w.text())
	}
}

func crcOf(data []byte) scr.CRC { return scr.CRC(crc32.ChecksumIEEE(data)) }

func TestANodeThatFailsToCopyIsRebuilt(t *testing.T) {
	j := newJob(t)
	five := write(t, j, 5, "run/ckpt.5")
	w := newWorld(t, j)
	w.spoil = func(node string, prefix disk.FS) disk.FS {
		if node != "n1" {
			return prefix
		}
		return disk.Inject(prefix, disk.Faults(disk.Fault{Kind: disk.OpWrite, PathPattern: "a file 1", Err: syscall.EIO}))
	}
	w.mustPublish(5)
	w.compare(five)
	verify(t, w, "5")
	if w.copied["n0"] != 2 {
		t.Errorf("node n0 was asked %d times, want twice: redundancy files are needed after all", w.copied["n0"])
	}
}

func TestTwoNodesThatFailToCopy(t *testing.T) {
	j := newJob(t)
	write(t, j, 5, "run/ckpt.5")
	w := newWorld(t, j)
	w.spoil = func(node string, prefix disk.FS) disk.FS {
		if node == "n0" || node == "n3" {
			return prefix
		}
		return disk.Inject(prefix, disk.Faults(disk.Fault{Kind: disk.OpSync, PathPattern: "rank_*", Err: syscall.EIO}))
	}
	_, err := w.run()
	if !errors.Is(err, scr.ErrUnrecoverable) || !errors.Is(err, syscall.EIO) {
		t.Fatalf("got %v, want ErrUnrecoverable and EIO", err)
	}
	for _, word := range []string{"ranks 1, 2", "node n1", "node n2"} {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("error %q does not say %q", err, word)
		}
	}
	w.absent(5, "run")
}

func TestAFullPrefixDirectory(t *testing.T) {
	j := newJob(t)
	five := write(t, j, 5, "run/ckpt.5")
	w := newWorld(t, j)
	w.spoil = func(node string, prefix disk.FS) disk.FS {
		return disk.Inject(prefix, disk.Faults(disk.Fault{Kind: disk.OpWrite, PathPattern: "rank_*", ShortWrite: 100, Err: syscall.ENOSPC}))
	}
	_, err := w.run()
	if !errors.Is(err, syscall.ENOSPC) || errors.Is(err, scr.ErrUnrecoverable) {
		t.Fatalf("got %v, want ENOSPC alone", err)
	}
	w.absent(5, "run")
	// Room is made, and the run repeated.
	w.spoil = nil
	w.mustPublish(5)
	w.compare(five)
}
