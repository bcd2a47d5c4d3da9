package config

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// Whatever the file, Load gives a Config or errors that name the file, never
// both and never neither, and a Config is whole.
func FuzzFile(f *testing.F) {
	for _, seed := range []string{
		"SCR_FLUSH=1\n# c\nquiet 3s", "SCR_COPY_TYPE=FILE\nCKPT=0 INTERVAL=1 STORE=/x\nSTORE=/x",
		"GROUPS=a[1-3] P=1\nSCR_GROUP=P", "dataset \"a b\"\nbypass **/[x", "SCR_JOB_NAME=${A}$B$", "SCR_CONF_FILE=x",
		"CACHEDIR=/x BYTES=9E\r\n", "\xff=\xfe", "SCR_FLUSH_ASYNC_BW=ſ",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, file string) {
		c, _, err := Load(Input{
			User:        File{"my.conf", strings.NewReader(file)},
			Environment: map[string]string{"A": "1", "B": "/b"},
		})
		if (c == nil) != (err != nil) {
			t.Fatalf("Config %v, error %v", c, err)
		}
		if err != nil {
			var setting *SettingError
			if !errors.As(err, &setting) && !strings.Contains(err.Error(), "my.conf:") {
				t.Fatalf("error names no place: %v", err)
			}
			return
		}
		if len(c.Checkpoints) == 0 || c.Quiet <= 0 || c.PeerTimeout <= 0 || c.CacheSize < 1 {
			t.Fatalf("Config is not whole: %+v", c)
		}
		for _, d := range c.Checkpoints {
			if d.Interval < 1 {
				t.Fatalf("descriptor with interval %d", d.Interval)
			}
		}
		for _, r := range c.Rules {
			if patternFault(r.Pattern) != "" {
				t.Fatalf("rule %+v", r)
			}
		}
	})
}

func TestSizesComeBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.Int64Min(0).Draw(t, "size") >> rapid.IntRange(0, 62).Draw(t, "shift")
		size <<= min(rapid.IntRange(0, 40).Draw(t, "zeros"), 62-bits(size))
		if got, ok := ParseBytes(sizeText(size)); got != size || !ok {
			t.Fatalf("%d is written %s and read %d, %v", size, sizeText(size), got, ok)
		}
	})
}

func bits(v int64) int {
	n := 0
	for ; v > 0; v >>= 1 {
		n++
	}
	return min(n, 62)
}

func TestParseBytes(t *testing.T) {
	tests := []struct {
		text string
		want int64
		ok   bool
	}{
		{"0", 0, true}, {"17", 17, true}, {"1k", 1024, true}, {"128K", 128 << 10, true}, {"1MB", 1 << 20, true},
		{"100G", 100 << 30, true}, {"3t", 3 << 40, true}, {"1P", 1 << 50, true}, {"7E", 7 << 60, true}, {"9B", 9, true},
		{"8E", 0, false}, {"", 0, false}, {"K", 0, false}, {"-1", 0, false}, {"+1", 0, false}, {"1.5G", 0, false},
		{"1KK", 0, false}, {"1BK", 0, false}, {"1 K", 0, false}, {"1Kſ", 0, false}, {"9223372036854775808", 0, false},
	}
	for _, test := range tests {
		if got, ok := ParseBytes(test.text); got != test.want || ok != test.ok {
			t.Errorf("ParseBytes(%q) = %d, %v, want %d, %v", test.text, got, ok, test.want, test.ok)
		}
	}
}

// Any one value, set in any non-empty subset of layers, comes from the
// strongest of them.
func TestPrecedenceHoldsForEveryParameter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := rapid.SampledFrom(Params()).Filter(func(p Param) bool {
			return p.where == anywhere && p.form.kind == count
		}).Draw(t, "parameter")
		value := func(layer Layer) string { return fmt.Sprint(p.form.min + 1 + int64(layer)) }
		var in Input
		strongest := Default
		for layer := SystemFile; layer >= Flag; layer-- {
			if !rapid.Bool().Draw(t, fmt.Sprint("layer ", int(layer))) {
				continue
			}
			strongest = layer
			line := p.Name + "=" + value(layer)
			switch layer {
			case Flag:
				in.Flags = map[string]string{p.Name: value(layer)}
			case Environment:
				in.Environment = map[string]string{p.Name: value(layer)}
			case UserFile:
				in.User = File{"u", strings.NewReader(line)}
			case SystemFile:
				in.System = File{"s", strings.NewReader(line)}
			case Default:
			}
		}
		c, _, err := Load(in)
		if err != nil {
			if p.Name == "SCR_SET_SIZE" || p.Name == "SCR_SET_FAILURES" {
				return // held against each other
			}
			t.Fatal(err)
		}
		want := p.Default
		if strongest != Default {
			want = value(strongest)
		}
		got := c.sources[p.Name]
		if got.Value != want || got.Source.Layer != strongest {
			t.Fatalf("%s: got %q from %s, want %q from layer %d", p.Name, got.Value, got.Source, want, strongest)
		}
	})
}

func TestNamesThatAreNearAreGuessed(t *testing.T) {
	for _, p := range Params() {
		if got := unknown(p.Name + "X"); !strings.Contains(got, "did you mean") {
			t.Errorf("%sX: %s", p.Name, got)
		}
	}
}
