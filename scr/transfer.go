package scr

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/scrfs/scrfs/internal/disk"
	"github.com/scrfs/scrfs/kvtree"
)

// Words of the transfer file. Commands are given by the library, states by the
// program that copies.
const (
	TransferRun  = "RUN"
	TransferStop = "STOP"
	TransferExit = "EXIT"

	TransferRunning = "RUNNING"
	TransferStopped = "STOPPED"
	TransferExiting = "EXITING"
)

// TransferFile holds the orders and the progress of an asynchronous flush
// (transfer.scrinfo). The zero value of a field means that it is absent.
type TransferFile struct {
	Command string // RUN, STOP or EXIT
	State   string // RUNNING, STOPPED or EXITING
	// Done: all files are copied.
	Done bool
	// Percent is the share of a processor that may be used, 0 for no limit, and
	// BytesPerSec this node's share of the bandwidth. They are written if
	// HasLimits.
	Percent, BytesPerSec float64
	HasLimits            bool
	// Files is sorted by source in what was read.
	Files []TransferItem
}

// TransferItem is one file to be copied. Both paths are absolute and hostile.
type TransferItem struct {
	Source, Destination string
	SizeBytes           int64
	// WrittenBytes is how far the copy is, 0 to SizeBytes.
	WrittenBytes int64
}

// Tree returns the hash, the same in every family.
func (x TransferFile) Tree(Family) *kvtree.Tree {
	t := kvtree.New()
	putText(t, "COMMAND", x.Command)
	putText(t, "STATE", x.State)
	if x.Done {
		t.SetKV("FLAG", "DONE")
	}
	if x.HasLimits {
		t.PutString("PERCENT", strconv.FormatFloat(x.Percent, 'f', 6, 64))
		t.PutString("BW", strconv.FormatFloat(x.BytesPerSec, 'f', 6, 64))
	}
	if len(x.Files) == 0 {
		return t
	}
	files := t.Sub(keyFiles)
	for _, item := range x.Files {
		record := files.Sub(item.Source)
		record.PutString("DESTINATION", item.Destination)
		record.PutInt(keySize, item.SizeBytes)
		record.PutInt("WRITTEN", item.WrittenBytes)
	}
	return t
}

// TransferFileFromTree reads the hash. Errors wrap ErrInvalid.
func TransferFileFromTree(t *kvtree.Tree) (TransferFile, error) {
	f := fields{tree: t, record: "transfer file"}
	x := TransferFile{
		Command:   f.oneOf("COMMAND", TransferRun, TransferStop, TransferExit),
		State:     f.oneOf("STATE", TransferRunning, TransferStopped, TransferExiting),
		Done:      t.Get("FLAG", "DONE") != nil,
		HasLimits: t.Has("PERCENT") || t.Has("BW"),
	}
	x.Percent, x.BytesPerSec = f.float("PERCENT", 100), f.float("BW", math.MaxFloat64)
	if f.err != nil {
		return TransferFile{}, f.err
	}
	for source, record := range t.Get(keyFiles).All() {
		r := fields{tree: record, record: "transfer file: file " + quote(source)}
		item := TransferItem{Source: source, Destination: r.text("DESTINATION"), SizeBytes: r.bytes(keySize)}
		item.WrittenBytes = r.optNumber("WRITTEN", 0, item.SizeBytes, 0)
		if r.err != nil {
			return TransferFile{}, r.err
		}
		x.Files = append(x.Files, item)
	}
	slices.SortFunc(x.Files, func(a, b TransferItem) int { return strings.Compare(a.Source, b.Source) })
	return x, nil
}

// oneOf returns an optional word, which must be one of those given.
func (f *fields) oneOf(key string, words ...string) string {
	s, ok := f.value(key)
	if ok && !slices.Contains(words, s) {
		f.fail("key %s: value %s is not one of %s: %w", key, quote(s), strings.Join(words, ", "), ErrInvalid)
	}
	return s
}

// float returns an optional number from 0 to high, 0 if absent.
func (f *fields) float(key string, high float64) float64 {
	s, ok := f.value(key)
	if !ok {
		return 0
	}
	v, err := strconv.ParseFloat(s, 64)
	if err != nil || !(v >= 0 && v <= high) { // also refuses NaN
		f.fail("key %s: value %s is not a number from 0 to %g: %w", key, quote(s), high, ErrInvalid)
	}
	return v
}

// ReadTransfer reads the transfer file under a shared lock; absent, it is empty.
func ReadTransfer(fsys disk.FS, name string) (TransferFile, error) {
	t, err := readInPlace(fsys, name)
	if err != nil {
		return TransferFile{}, err
	}
	x, err := TransferFileFromTree(t)
	if err != nil {
		return TransferFile{}, fmt.Errorf("read %s: %w", name, err)
	}
	return x, nil
}

// UpdateTransfer changes the transfer file in place under an exclusive lock on
// it, as SCR's library and its copying program do with each other. A crash while
// it writes leaves a file that every reader rejects.
func UpdateTransfer(fsys disk.FS, name string, change func(*TransferFile) error) error {
	return updateInPlace(fsys, name, func(t *kvtree.Tree) error {
		x, err := TransferFileFromTree(t)
		if err != nil {
			return fmt.Errorf("update %s: %w", name, err)
		}
		if err := change(&x); err != nil {
			return err
		}
		replace(t, x.Tree(F14))
		return nil
	})
}
