package scr

import (
	"fmt"
	"math"
	"strconv"

	"github.com/scrfs/scrfs/kvtree"
)

// fields reads the fields of one record. The first error stays; after it every
// read returns the zero value, so a reader is a plain list of its fields.
type fields struct {
	tree   *kvtree.Tree
	record string // what the record is called in messages
	err    error
}

// fail keeps the first error, with the record's name before it.
func (f *fields) fail(format string, args ...any) {
	if f.err == nil {
		f.err = fmt.Errorf("%s: %w", f.record, fmt.Errorf(format, args...))
	}
}

// value returns the only value of a key; ok is false if the key is absent.
func (f *fields) value(key string) (s string, ok bool) {
	if f.err != nil || !f.tree.Has(key) {
		return "", false
	}
	s, ok = f.tree.Value(key)
	if !ok {
		f.fail("key %s has %d values, not one: %w", key, f.tree.Get(key).Len(), ErrInvalid)
	}
	return s, ok
}

// need is value for a key that must be there.
func (f *fields) need(key string) (string, bool) {
	s, ok := f.value(key)
	if !ok {
		f.fail("key %s is missing: %w", key, ErrInvalid)
	}
	return s, ok
}

// text returns a string that must be there and not be empty.
func (f *fields) text(key string) string {
	s, _ := f.need(key)
	if s == "" {
		f.fail("key %s is empty: %w", key, ErrInvalid)
	}
	return s
}

// optText returns a string, "" if the key is absent.
func (f *fields) optText(key string) string {
	s, _ := f.value(key)
	return s
}

// number returns a number that must be there, in low to high.
func (f *fields) number(key string, low, high int64) int64 {
	s, ok := f.need(key)
	if !ok {
		return 0
	}
	return f.parse(key, s, low, high)
}

// optNumber returns a number, or absent if the key is not there.
func (f *fields) optNumber(key string, low, high, absent int64) int64 {
	s, ok := f.value(key)
	if !ok {
		return absent
	}
	return f.parse(key, s, low, high)
}

func (f *fields) parse(key, s string, low, high int64) int64 {
	n, err := parseNumber(s, low, high)
	if err != nil {
		f.fail("key %s: value %w", key, err)
	}
	return n
}

// optBool returns a field that is 0 or 1; false if it is absent.
func (f *fields) optBool(key string) bool {
	return f.optNumber(key, 0, 1, 0) == 1
}

// bytes returns a number of bytes that must be there.
func (f *fields) bytes(key string) int64 {
	return f.number(key, 0, math.MaxInt64)
}

// optCRC returns a checksum and whether there is one.
func (f *fields) optCRC(key string) (CRC, bool) {
	s, ok := f.value(key)
	if !ok {
		return 0, false
	}
	c, err := ParseCRC(s)
	if err != nil {
		f.fail("key %s: value %w", key, err)
	}
	return c, f.err == nil
}

// rankKeys returns the keys of a hash of ranks, ascending.
func rankKeys(record string, t *kvtree.Tree) ([]Rank, error) {
	numbers, err := numberKeys(record, t, 0, MaxRanks-1)
	ranks := make([]Rank, len(numbers))
	for i, n := range numbers {
		ranks[i] = Rank(n)
	}
	return ranks, err
}

func putBool(t *kvtree.Tree, key string, b bool) {
	if b {
		t.PutInt(key, 1)
		return
	}
	t.PutInt(key, 0)
}

// putText writes a string that is left out when it is not known.
func putText(t *kvtree.Tree, key, s string) {
	if s != "" {
		t.PutString(key, s)
	}
}

func itoa(n int64) string { return strconv.FormatInt(n, 10) }
