package scr

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// DatasetID numbers the datasets of a prefix directory, from 1 up. It fits a C
// int, because SCR reads it into one.
type DatasetID int64

// CheckpointID numbers the datasets that are checkpoints, from 1 up.
// 0 means: not a checkpoint.
type CheckpointID int64

// Rank is an MPI rank of the job ("world rank"), from 0 to MaxRanks-1.
type Rank int

const (
	// MaxDatasetID is the largest dataset or checkpoint id.
	MaxDatasetID = math.MaxInt32
	// MaxRanks is the largest number of ranks in a job. It is ours, not SCR's:
	// a file that claims more is taken as damaged, so that nobody loops over
	// two thousand million absent ranks because one byte was wrong.
	MaxRanks = 1 << 24
	// IDBlock is how many dataset ids are reserved at a time. A run that has
	// one block in hand can begin this many datasets while the prefix directory
	// does not answer.
	IDBlock = 100
)

// String is the id in decimal.
func (d DatasetID) String() string { return strconv.FormatInt(int64(d), 10) }

// String is the id in decimal.
func (c CheckpointID) String() string { return strconv.FormatInt(int64(c), 10) }

// String is the rank in decimal.
func (r Rank) String() string { return strconv.Itoa(int(r)) }

// ParseDatasetID reads an id as SCR writes it. Errors wrap ErrInvalid.
func ParseDatasetID(s string) (DatasetID, error) {
	n, err := parseNumber(s, 1, MaxDatasetID)
	if err != nil {
		return 0, fmt.Errorf("dataset id %w", err)
	}
	return DatasetID(n), nil
}

// ParseRank reads a rank as SCR writes it. Errors wrap ErrInvalid.
func ParseRank(s string) (Rank, error) {
	n, err := parseNumber(s, 0, MaxRanks-1)
	if err != nil {
		return 0, fmt.Errorf("rank %w", err)
	}
	return Rank(n), nil
}

// parseNumber reads a decimal number in its only form: a key "07" beside "7"
// would be two ranks in the hash and one in the program.
func parseNumber(s string, low, high int64) (int64, error) {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || strconv.FormatInt(n, 10) != s {
		return 0, fmt.Errorf("%s is not a decimal number: %w", quote(s), ErrInvalid)
	}
	if n < low || n > high {
		return 0, fmt.Errorf("%s is not in %d to %d: %w", s, low, high, ErrInvalid)
	}
	return n, nil
}

// quote shows a value from a file in a message: escaped, and cut when long.
func quote(s string) string {
	const most = 200 // longer than any sensible name, short enough for a log line
	if len(s) > most {
		return strconv.Quote(s[:most]) + "..."
	}
	return strconv.Quote(s)
}

// Family is one of SCR's families of on-disk formats. The zero Family is none.
type Family int

// The families that scrfs reads and writes, see the package comment.
const (
	F11 Family = 11
	F12 Family = 12
	F14 Family = 14
)

// Families lists the known families.
func Families() []Family { return []Family{F11, F14, F12} }

// Valid tells whether f is a family that scrfs knows.
func (f Family) Valid() bool { return f == F11 || f == F12 || f == F14 }

// String is F11, F12 or F14.
func (f Family) String() string { return "F" + strconv.Itoa(int(f)) }

// CRC is the CRC32 of zlib (IEEE 802.3) over the contents of a file.
type CRC uint32

// String is SCR's form, that of C's %#x: 0x and lower case digits without
// leading zeros, and "0" for zero.
func (c CRC) String() string {
	if c == 0 {
		return "0"
	}
	return "0x" + strconv.FormatUint(uint64(c), 16)
}

// ParseCRC reads a checksum in any form that C's strtoul reads with base 0:
// hexadecimal with 0x in either case and any leading zeros, octal with a
// leading 0, or decimal. Errors wrap ErrInvalid.
func ParseCRC(s string) (CRC, error) {
	digits, base := s, 10
	switch {
	case strings.HasPrefix(s, "0x"), strings.HasPrefix(s, "0X"):
		digits, base = s[2:], 16
	case len(s) > 1 && s[0] == '0':
		digits, base = s[1:], 8
	}
	n, err := strconv.ParseUint(digits, base, 32)
	if err != nil || strings.ContainsAny(digits, "+-_") {
		return 0, fmt.Errorf("%s is not a CRC32: %w", quote(s), ErrInvalid)
	}
	return CRC(n), nil
}
