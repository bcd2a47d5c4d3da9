package scr

import (
	"errors"
	"testing"

	"pgregory.net/rapid"
)

func TestCRCIsWrittenAsSCRWritesIt(t *testing.T) {
	for crc, want := range map[CRC]string{0: "0", 1: "0x1", 0x78cbb175: "0x78cbb175", 0xffffffff: "0xffffffff", 0x0b: "0xb"} {
		if got := crc.String(); got != want {
			t.Errorf("CRC %d: got %s, want %s", uint32(crc), got, want)
		}
	}
}

func TestCRCIsReadInEveryForm(t *testing.T) {
	for s, want := range map[string]CRC{
		"0": 0, "0x0": 0, "0x78cbb175": 0x78cbb175, "0X78CBB175": 0x78cbb175, "0x00000b": 0xb, "17": 17, "017": 15,
		"4294967295": 0xffffffff,
	} {
		if got, err := ParseCRC(s); err != nil || got != want {
			t.Errorf("ParseCRC(%q): got %v, %v; want %v", s, got, err, want)
		}
	}
	for _, s := range []string{"", "0x", "-1", "+1", "0x1_0", "1_0", "0b1", "0o7", "08", "0x100000000", " 1", "1 ", "0x-1", "abc"} {
		if got, err := ParseCRC(s); !errors.Is(err, ErrInvalid) {
			t.Errorf("ParseCRC(%q): got %v, %v; want ErrInvalid", s, got, err)
		}
	}
}

func TestEveryCRCComesBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := CRC(rapid.Uint32().Draw(t, "crc"))
		if got, err := ParseCRC(want.String()); err != nil || got != want {
			t.Fatalf("got %v, %v; want %v", got, err, want)
		}
	})
}

func TestNumbersHaveOneForm(t *testing.T) {
	for _, s := range []string{"", "00", "01", "+1", "-1", " 1", "1 ", "1.0", "0x1", "99999999999999999999", "16777216"} {
		if r, err := ParseRank(s); !errors.Is(err, ErrInvalid) {
			t.Errorf("ParseRank(%q): got %v, %v; want ErrInvalid", s, r, err)
		}
	}
	if r, err := ParseRank("16777215"); err != nil || r != MaxRanks-1 {
		t.Errorf("the last rank: got %v, %v", r, err)
	}
	if d, err := ParseDatasetID("0"); !errors.Is(err, ErrInvalid) {
		t.Errorf("dataset 0: got %v, %v; want ErrInvalid", d, err)
	}
	if d, err := ParseDatasetID("2147483647"); err != nil || d != MaxDatasetID {
		t.Errorf("the last dataset id: got %v, %v", d, err)
	}
}
