package scr

import (
	"fmt"
	"math"

	"github.com/scrfs/scrfs/kvtree"
)

// Scheme is how a dataset is protected against the loss of nodes.
type Scheme int

// The schemes. Single has no redundancy (LOCAL in F11); RS is only scrfs's.
const (
	Single Scheme = iota
	Partner
	XOR
	RS
)

// String is SCR's word since F14.
func (s Scheme) String() string {
	switch s {
	case Single:
		return "SINGLE"
	case Partner:
		return "PARTNER"
	case XOR:
		return "XOR"
	case RS:
		return "RS"
	}
	return fmt.Sprintf("Scheme(%d)", int(s))
}

func (s Scheme) text(f Family) string {
	if s == Single && f == F11 {
		return "LOCAL"
	}
	return s.String()
}

// ParseScheme reads SCR's word; LOCAL is Single. Errors wrap ErrInvalid.
func ParseScheme(s string) (Scheme, error) {
	switch s {
	case "SINGLE", "LOCAL":
		return Single, nil
	case "PARTNER":
		return Partner, nil
	case "XOR":
		return XOR, nil
	case "RS":
		return RS, nil
	}
	return 0, fmt.Errorf("%s is not SINGLE, PARTNER, XOR or RS: %w", quote(s), ErrInvalid)
}

// RedundancyDescriptor says how a dataset in cache is protected, and where this
// rank stands in its redundancy set. The set is known if GroupSize is not 0.
type RedundancyDescriptor struct {
	Enabled bool
	// Interval: it is used for checkpoints whose id it divides; at least 1.
	Interval int
	Type     Scheme
	// Directory is the job's cache directory, Store the base it lies under.
	Directory, Store string
	// Groups counts the sets; GroupID is the lowest rank of this one, GroupSize
	// its members, GroupRank this rank's place among them, from 0.
	Groups    int
	GroupID   Rank
	GroupSize int
	GroupRank int
	// Index, HopDistance and SetSize (a maximum) are written in F11 only.
	Index, HopDistance, SetSize int
	// Output is written in F12 only.
	Output bool
	// Checksums is k of RS, the losses a set survives; our key, 0 if absent.
	Checksums int
}

// Tree returns the descriptor as family f writes it.
func (d RedundancyDescriptor) Tree(f Family) *kvtree.Tree {
	t := kvtree.New()
	putBool(t, "ENABLED", d.Enabled)
	if f == F11 {
		t.PutInt("INDEX", int64(d.Index))
	}
	t.PutInt("INTERVAL", int64(d.Interval))
	store := "STORE"
	if f == F11 {
		store = "BASE"
	}
	if f == F12 {
		putBool(t, keyOutput, d.Output)
	}
	putText(t, store, d.Store)
	putText(t, "DIRECTORY", d.Directory)
	t.PutString(keyType, d.Type.text(f))
	if d.GroupSize != 0 {
		t.PutInt("GROUPS", int64(d.Groups))
		t.PutInt("GROUP_ID", int64(d.GroupID))
		t.PutInt("GROUP_SIZE", int64(d.GroupSize))
		t.PutInt("GROUP_RANK", int64(d.GroupRank))
	}
	if f == F11 {
		t.PutInt("HOP_DISTANCE", int64(d.HopDistance))
		t.PutInt("SET_SIZE", int64(d.SetSize))
	}
	if d.Checksums != 0 {
		t.PutInt("CKSUM", int64(d.Checksums))
	}
	return t
}

// RedundancyDescriptorFromTree reads the descriptor of any family. TYPE must be
// there, and GROUP_RANK below GROUP_SIZE. Errors wrap ErrInvalid.
func RedundancyDescriptorFromTree(t *kvtree.Tree) (RedundancyDescriptor, error) {
	f := fields{tree: t, record: "redundancy descriptor"}
	d := RedundancyDescriptor{
		Enabled:     f.optBool("ENABLED"),
		Interval:    int(f.optNumber("INTERVAL", 1, math.MaxInt32, 1)),
		Directory:   f.optText("DIRECTORY"),
		Store:       f.optText("STORE"),
		Groups:      int(f.optNumber("GROUPS", 0, MaxRanks, 0)),
		GroupID:     Rank(f.optNumber("GROUP_ID", 0, MaxRanks-1, 0)),
		GroupSize:   int(f.optNumber("GROUP_SIZE", 1, MaxRanks, 0)),
		GroupRank:   int(f.optNumber("GROUP_RANK", 0, MaxRanks-1, 0)),
		Index:       int(f.optNumber("INDEX", 0, math.MaxInt32, 0)),
		HopDistance: int(f.optNumber("HOP_DISTANCE", 0, math.MaxInt32, 0)),
		SetSize:     int(f.optNumber("SET_SIZE", 0, math.MaxInt32, 0)),
		Output:      f.optBool(keyOutput),
		Checksums:   int(f.optNumber("CKSUM", 0, MaxRanks, 0)),
	}
	if d.Store == "" {
		d.Store = f.optText("BASE")
	}
	if s, ok := f.need(keyType); ok {
		scheme, err := ParseScheme(s)
		if err != nil {
			f.fail("key %s: value %w", keyType, err)
		}
		d.Type = scheme
	}
	if d.GroupSize != 0 && d.GroupRank >= d.GroupSize {
		f.fail("key GROUP_RANK: value %d is not below GROUP_SIZE %d: %w", d.GroupRank, d.GroupSize, ErrInvalid)
	}
	if f.err != nil {
		return RedundancyDescriptor{}, f.err
	}
	return d, nil
}

// Descriptors are the redundancy descriptors of a job.
type Descriptors []RedundancyDescriptor

// Pick returns the descriptor for a checkpoint: the enabled one with the largest
// interval that divides its id, the first of equals. ok is false if none does.
func (d Descriptors) Pick(c CheckpointID) (best RedundancyDescriptor, ok bool) {
	for _, r := range d {
		if !r.Enabled || r.Interval < 1 || int64(c)%int64(r.Interval) != 0 {
			continue
		}
		if !ok || r.Interval > best.Interval {
			best, ok = r, true
		}
	}
	return best, ok
}

// FlushDescriptor says how a rank's files go to the prefix directory (F14, F12).
type FlushDescriptor struct {
	// Preserve: files go to PATH/NAME; else all into one dataset directory.
	Preserve bool
	// Container: files are packed into containers.
	Container bool
	// Partner is the host for which this node keeps a copy, "" for own files.
	Partner string
}

// Tree returns the descriptor; the families that have it write it alike.
func (d FlushDescriptor) Tree(Family) *kvtree.Tree {
	t := kvtree.New()
	putBool(t, "PRESERVE", d.Preserve)
	putBool(t, "CONTAINER", d.Container)
	putText(t, keyPartner, d.Partner)
	return t
}

// FlushDescriptorFromTree reads a flush descriptor. An empty one, as F12 leaves
// for a rebuilt rank, is the zero value. Errors wrap ErrInvalid.
func FlushDescriptorFromTree(t *kvtree.Tree) (FlushDescriptor, error) {
	f := fields{tree: t, record: "flush descriptor"}
	d := FlushDescriptor{
		Preserve:  f.optBool("PRESERVE"),
		Container: f.optBool("CONTAINER"),
		Partner:   f.optText(keyPartner),
	}
	if f.err != nil {
		return FlushDescriptor{}, f.err
	}
	return d, nil
}
