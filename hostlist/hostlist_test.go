package hostlist

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// The examples that SCR's manual prints for scr_glob_hosts.
func TestManualExamples(t *testing.T) {
	const list = "atlas[3,5-7,9-11]"
	if got, err := Count(list); got != 7 || err != nil {
		t.Errorf("Count = %d, %v, want 7", got, err)
	}
	if got, err := Nth(list, 3); got != "atlas6" || err != nil {
		t.Errorf("Nth 3 = %q, %v, want atlas6", got, err)
	}
	a, b := expand(t, list), expand(t, "atlas[5,7,20]")
	if got := Compress(Minus(a, b)); got != "atlas[3,6,9-11]" {
		t.Errorf("Minus = %s, want atlas[3,6,9-11]", got)
	}
	if got := Compress(Intersect(a, b)); got != "atlas[5,7]" {
		t.Errorf("Intersect = %s, want atlas[5,7]", got)
	}
	if got := Compress(a); got != list {
		t.Errorf("Compress(Expand(%s)) = %s", list, got)
	}
}

func TestExpandKeepsOrderAndDuplicates(t *testing.T) {
	tests := []struct{ list, want string }{
		{"", ""},
		{" \t", ""},
		{"login", "login"},
		{"b,a,b", "b a b"},
		{" a , b ", "a b"},
		{"atlas[3,5-7,09-11]", "atlas3 atlas5 atlas6 atlas7 atlas09 atlas10 atlas11"},
		{"atlas[7,5-6,5]", "atlas7 atlas5 atlas6 atlas5"},
		{"n[98-101]", "n98 n99 n100 n101"},
		{"n[098-101]", "n098 n099 n100 n101"},
		{"n[001-3]", "n001 n002 n003"},
		{"r[1-2]n[08-10].x", "r1n08.x r1n09.x r1n10.x r2n08.x r2n09.x r2n10.x"},
		{"[1-2][3,4]", "13 14 23 24"},
		{"a[1],b[2-3],c", "a1 b2 b3 c"},
		{"n0=10.0.0.1:7000,n1=10.0.0.2:7000", "n0=10.0.0.1:7000 n1=10.0.0.2:7000"},
	}
	for _, test := range tests {
		if got := strings.Join(expand(t, test.list), " "); got != test.want {
			t.Errorf("Expand(%q) = %s, want %s", test.list, got, test.want)
		}
	}
}

func TestExpandSaysWhatIsWrong(t *testing.T) {
	tests := []struct {
		list, message string
		is            error
	}{
		{"a,,b", "empty name", ErrSyntax},
		{"a,", "empty name", ErrSyntax},
		{"a[1-2", "never closed", ErrSyntax},
		{"a]1", "']' without '['", ErrSyntax},
		{"a[[1]]", "'[' inside brackets", ErrSyntax},
		{"a[]", "number missing", ErrSyntax},
		{"a[1,]", "number missing", ErrSyntax},
		{"a[1-]", "number missing", ErrSyntax},
		{"a[-1]", "number missing", ErrSyntax},
		{"a[x]", "is no number", ErrSyntax},
		{"a[1-2-3]", "is no number", ErrSyntax},
		{"a[5-3]", "runs backwards", ErrSyntax},
		{"a[1-010]", "different widths", ErrSyntax},
		{"a b", "blank or control", ErrSyntax},
		{"a[1 ]", "blank or control", ErrSyntax},
		{"a[123456789012345678]", "digits", ErrSyntax},
		{strings.Repeat("a", 256), "more than 255 bytes", ErrSyntax},
		{"a[0-1048576]", "more than 1048576 hosts", ErrTooMany},
		{"a[0-99999999999999999][0-99999999999999999]", "more than 1048576 hosts", ErrTooMany},
		{"a[0-999999],b[0-999999]", "more than 1048576 hosts", ErrTooMany},
	}
	for _, test := range tests {
		hosts, err := Expand(test.list)
		if !errors.Is(err, test.is) || !strings.Contains(err.Error(), test.message) {
			t.Errorf("Expand(%q) = %d hosts, error %v, want %q", test.list, len(hosts), err, test.message)
		}
	}
}

func TestExpandReachesItsLimit(t *testing.T) {
	if got, err := Count(fmt.Sprintf("a[1-%d]", MaxHosts)); got != MaxHosts || err != nil {
		t.Errorf("Count = %d, %v, want %d", got, err, MaxHosts)
	}
}

func TestNthOutsideTheList(t *testing.T) {
	for _, n := range []int{-1, 0, 4} {
		if got, err := Nth("a[1-3]", n); !errors.Is(err, ErrRange) {
			t.Errorf("Nth(%d) = %q, %v, want ErrRange", n, got, err)
		}
	}
}

func TestCompressSortsByNumber(t *testing.T) {
	tests := []struct{ hosts, want string }{
		{"", ""},
		{"atlas10 atlas9 atlas3", "atlas[3,9-10]"},
		{"atlas3 atlas5 atlas3", "atlas[3,3,5]"},
		{"a5 a6 a5 a6", "a[5,5-6,6]"},
		{"n09 n10 n11", "n[09-11]"},
		{"n9 n10 n010 n11", "n[9-10,010,11]"},
		{"b2 a1 b1 login", "a1,b[1-2],login"},
		{"r1n1 r1n2 r2n1", "r1n[1-2],r2n1"},
		{"n1.x n2.x n3.y", "n[1-2].x,n3.y"},
		{"n123456789012345678 n1", "n1,n123456789012345678"},
	}
	for _, test := range tests {
		if got := Compress(strings.Fields(test.hosts)); got != test.want {
			t.Errorf("Compress(%s) = %s, want %s", test.hosts, got, test.want)
		}
	}
}

func TestCompressLosesNoHost(t *testing.T) {
	name := rapid.Custom(func(t *rapid.T) string {
		head := rapid.SampledFrom([]string{"", "a", "atlas", "r1n", "x-"}).Draw(t, "head")
		number := rapid.IntRange(0, 120).Draw(t, "number")
		width := rapid.IntRange(1, 4).Draw(t, "width")
		tail := rapid.SampledFrom([]string{"", ".net", "-ib"}).Draw(t, "tail")
		return fmt.Sprintf("%s%0*d%s", head, width, number, tail)
	})
	rapid.Check(t, func(t *rapid.T) {
		hosts := rapid.SliceOfN(name, 0, 60).Draw(t, "hosts")
		short := Compress(hosts)
		back, err := Expand(short)
		if err != nil {
			t.Fatalf("Expand(%s): %v", short, err)
		}
		if again := Compress(back); again != short {
			t.Fatalf("Compress is not stable: %s, then %s", short, again)
		}
		slices.Sort(hosts)
		slices.Sort(back)
		if !slices.Equal(back, hosts) {
			t.Fatalf("got %v, want %v, through %s", back, hosts, short)
		}
	})
}

func TestMinusAndIntersectPartTheList(t *testing.T) {
	hosts := rapid.SliceOf(rapid.SampledFrom([]string{"a", "b", "c", "d1", "d2"}))
	rapid.Check(t, func(t *rapid.T) {
		a, b := hosts.Draw(t, "a"), hosts.Draw(t, "b")
		minus, both := Minus(a, b), Intersect(a, b)
		if len(minus)+len(both) != len(a) {
			t.Fatalf("%d + %d hosts from %d", len(minus), len(both), len(a))
		}
		for _, h := range minus {
			if slices.Contains(b, h) {
				t.Fatalf("%s is in b and in a minus b", h)
			}
		}
		for _, h := range both {
			if !slices.Contains(b, h) {
				t.Fatalf("%s is not in b", h)
			}
		}
	})
}

func FuzzExpand(f *testing.F) {
	for _, seed := range []string{"atlas[3,5-7,09-11]", "a[1-2]b[3],c", "a[0-99999999]", "[", "a[1-010]", "é[1]"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, list string) {
		hosts, err := Expand(list)
		if err != nil {
			if !errors.Is(err, ErrSyntax) && !errors.Is(err, ErrTooMany) {
				t.Fatalf("error of no known kind: %v", err)
			}
			return
		}
		if len(hosts) > MaxHosts {
			t.Fatalf("%d hosts", len(hosts))
		}
		if n, err := Count(list); n != len(hosts) || err != nil {
			t.Fatalf("Count = %d, %v, but %d hosts", n, err, len(hosts))
		}
		back, err := Expand(Compress(hosts))
		if err != nil {
			t.Fatalf("Expand(Compress(%q)): %v", list, err)
		}
		slices.Sort(hosts)
		slices.Sort(back)
		if !slices.Equal(back, hosts) {
			t.Fatalf("%q comes back as other hosts", list)
		}
	})
}

func expand(t *testing.T, list string) []string {
	t.Helper()
	hosts, err := Expand(list)
	if err != nil {
		t.Fatal(err)
	}
	return hosts
}
