package config

import (
	"errors"
	"fmt"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
)

// form is what values look like and what they are kept as. The zero form is
// any text.
type form struct {
	kind     kind
	min, max int64    // of counts, bytes and seconds; of durations in nanoseconds
	choices  []string // of kind word, in upper case
}

type kind int

const (
	text kind = iota
	onOff
	count
	bytes
	seconds
	duration
	percent
	word
	directory
	upper // text, turned to upper case
)

func counts(lo, hi int64) form     { return form{kind: count, min: lo, max: hi} }
func sizes(lo, hi int64) form      { return form{kind: bytes, min: lo, max: hi} }
func oneOf(choices ...string) form { return form{kind: word, choices: choices} }
func within(lo, hi time.Duration) form {
	return form{kind: duration, min: int64(lo), max: int64(hi)}
}

// words says what values are taken, for messages and documentation.
func (f form) words() string {
	switch f.kind {
	case onOff:
		return "0 or 1"
	case count:
		return "a whole number" + f.limits(func(v int64) string { return strconv.FormatInt(v, 10) })
	case bytes:
		return "a size as 1M or 100G" + f.limits(sizeText)
	case seconds:
		return "seconds" + f.limits(func(v int64) string { return strconv.FormatInt(v, 10) })
	case duration:
		return "a time as 500ms or 30s" + f.limits(func(v int64) string { return time.Duration(v).String() })
	case percent:
		return "a number from 0 to 100"
	case word:
		return "one of " + strings.Join(f.choices, ", ")
	case directory:
		return "an absolute path"
	case text, upper:
		return "text"
	}
	panic(fmt.Sprintf("BUG: form of kind %d", f.kind))
}

func (f form) limits(show func(int64) string) string {
	if f.max == math.MaxInt64 || f.max == math.MaxInt32 {
		return " of at least " + show(f.min)
	}
	return " from " + show(f.min) + " to " + show(f.max)
}

// parse reads a value of the form into the field, a pointer that fits the
// form's kind, or only checks it if field is nil. The error is the rule alone.
func (f form) parse(value string, field any) error {
	got, err := f.read(value)
	if err != nil {
		return err
	}
	switch p := field.(type) {
	case nil:
	case *bool:
		*p = got.(bool)
	case *int:
		*p = int(got.(int64))
	case *int64:
		*p = got.(int64)
	case *float64:
		*p = got.(float64)
	case *time.Duration:
		*p = got.(time.Duration)
	case *string:
		*p = got.(string)
	case *Transport:
		*p = Transport(strings.ToLower(got.(string)))
	default:
		panic(fmt.Sprintf("BUG: a field of type %T for a value of kind %d", field, f.kind))
	}
	return nil
}

func (f form) read(value string) (any, error) {
	broken := errors.New("want " + f.words())
	switch f.kind {
	case text:
		return value, nil
	case upper:
		return strings.ToUpper(value), nil
	case onOff:
		if v, ok := parseFlag(value); ok {
			return v, nil
		}
	case count, seconds, bytes:
		v, ok := parseCount(value)
		if f.kind == bytes {
			v, ok = ParseBytes(value)
		}
		switch {
		case !ok || v < f.min || v > f.max:
		case f.kind == seconds:
			return time.Duration(v) * time.Second, nil
		default:
			return v, nil
		}
	case duration:
		if v, ok := parseDuration(value); ok && int64(v) >= f.min && int64(v) <= f.max {
			return v, nil
		}
	case percent:
		if v, err := strconv.ParseFloat(value, 64); err == nil && v >= 0 && v <= 100 {
			return v, nil
		}
	case word:
		if choice := strings.ToUpper(value); slices.Contains(f.choices, choice) {
			return choice, nil
		}
	case directory:
		if path.IsAbs(value) {
			return path.Clean(value), nil
		}
	}
	return nil, broken
}

func parseFlag(value string) (v, ok bool) {
	switch strings.ToLower(value) {
	case "1", "yes", "true", "on":
		return true, true
	case "0", "no", "false", "off":
		return false, true
	}
	return false, false
}

func parseCount(value string) (int64, bool) {
	v, err := strconv.ParseInt(value, 10, 64)
	return v, err == nil
}

// ParseBytes reads a size: a whole number, with K, M, G, T, P or E for powers
// of 1024, and a B after it if one likes. ok is false if it is none or does
// not fit.
func ParseBytes(value string) (size int64, ok bool) {
	value = strings.ToUpper(value)
	digits := strings.TrimRight(value, "KMGTPEB")
	shift := uint(0)
	switch unit := value[len(digits):]; unit {
	case "", "B":
	default:
		i := strings.IndexByte("KMGTPE", unit[0])
		if i < 0 || unit[1:] != "" && unit[1:] != "B" {
			return 0, false
		}
		shift = 10 * uint(i+1)
	}
	v, err := strconv.ParseUint(digits, 10, 63)
	if err != nil || v > math.MaxInt64>>shift {
		return 0, false
	}
	return int64(v << shift), true
}

// sizeText is the shortest form that ParseBytes reads back.
func sizeText(size int64) string {
	unit := ""
	for _, u := range []string{"K", "M", "G", "T", "P", "E"} {
		if size == 0 || size%1024 != 0 {
			break
		}
		size, unit = size/1024, u
	}
	return strconv.FormatInt(size, 10) + unit
}

// parseDuration reads 500ms, 2s, 1h, or seconds without a unit.
func parseDuration(value string) (time.Duration, bool) {
	if v, ok := parseCount(value); ok {
		if v < 0 || v > math.MaxInt64/int64(time.Second) {
			return 0, false
		}
		return time.Duration(v) * time.Second, true
	}
	d, err := time.ParseDuration(value)
	return d, err == nil
}
