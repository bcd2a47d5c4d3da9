package kvtree

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// parse makes a tree of the text it prints as.
func parse(t *testing.T, text string) *Tree {
	t.Helper()
	tree, err := ParseText(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

func TestPathsGetMakeAndRemoveOneKey(t *testing.T) {
	tree := New()
	tree.Sub("RANK", "0", "DSET", "18").PutInt("FILES", 2)
	tree.Sub("RANK", "3")
	if got, err := tree.Get("RANK", "0", "DSET", "18").Int("FILES"); got != 2 || err != nil {
		t.Errorf("FILES of rank 0 is %d, %v; want 2", got, err)
	}
	if tree.Get("RANK", "0", "DSET", "19") != nil || tree.Get("NO", "0") != nil {
		t.Error("an absent path is found")
	}
	if got := tree.Get("RANK", "3"); got == nil || got.Len() != 0 {
		t.Errorf("an empty tree reads as %v, want one that is there and empty", got)
	}
	if tree.Get() != tree || tree.Sub() != tree {
		t.Error("the empty path is not the tree itself")
	}
	tree.Unset("RANK", "0", "DSET", "18")
	tree.Unset("RANK", "7", "DSET")
	tree.Unset("NO")
	tree.Unset()
	want := "  RANK\n    0\n      DSET\n    3\n"
	if diff := cmp.Diff(want, text(t, tree)); diff != "" {
		t.Error(diff)
	}
}

func TestSetReplacesInPlaceAndAppends(t *testing.T) {
	tree := parse(t, "A\n  1\nB\n  2\n")
	tree.Set("A", New()).PutFlag("new")
	tree.Set("C", nil).PutFlag("below")
	want := "  A\n    new\n  B\n    2\n  C\n    below\n"
	if diff := cmp.Diff(want, text(t, tree)); diff != "" {
		t.Error(diff)
	}
}

func TestKeyValuesAreListsAndFieldsHaveOneValue(t *testing.T) {
	tree := New()
	tree.SetKV("DSET", "10").PutInt("FILES", 1)
	tree.SetKV("DSET", "11")
	tree.SetKV("DSET", "10")
	tree.PutString("TYPE", "USER")
	tree.PutString("TYPE", "XOR")
	tree.PutFlag("NOFETCH")
	want := "  DSET\n    10\n      FILES\n        1\n    11\n  TYPE\n    XOR\n  NOFETCH\n"
	if diff := cmp.Diff(want, text(t, tree)); diff != "" {
		t.Error(diff)
	}
	if tree.GetKV("DSET", "11") == nil || tree.GetKV("DSET", "12") != nil {
		t.Error("GetKV: 11 is there and 12 is not")
	}
	// What hangs below a value goes with it, and the key with the last value.
	tree.UnsetKV("DSET", "12")
	tree.UnsetKV("DSET", "11")
	tree.UnsetKV("NOFETCH", "1")
	if !tree.Has("DSET") || !tree.Has("NOFETCH") {
		t.Error("UnsetKV removed a key that it did not empty")
	}
	tree.UnsetKV("DSET", "10")
	tree.UnsetKV("DSET", "10")
	if diff := cmp.Diff([]string{"TYPE", "NOFETCH"}, tree.Keys()); diff != "" {
		t.Error(diff)
	}
}

func TestFieldErrorsNameKeyAndValue(t *testing.T) {
	tree := parse(t, `
N
  -12
WORD
  12 MB
PLUS
  +1
BIG
  9223372036854775808
LIST
  1
  2
FLAG
`)
	if n, err := tree.Int("N"); n != -12 || err != nil {
		t.Errorf("N is %d, %v; want -12", n, err)
	}
	for key, want := range map[string]struct {
		err  error
		text string
	}{
		"ABSENT": {ErrMissing, "ABSENT: key is missing"},
		"WORD":   {ErrValue, `WORD = "12 MB": no number: bad value`},
		"PLUS":   {ErrValue, `PLUS = "+1": no number: bad value`},
		"BIG":    {ErrValue, `BIG = "9223372036854775808": no number: bad value`},
		"LIST":   {ErrValue, "LIST: 2 values where one is expected: bad value"},
		"FLAG":   {ErrValue, "FLAG: 0 values where one is expected: bad value"},
	} {
		if _, err := tree.Int(key); !errors.Is(err, want.err) || err.Error() != want.text {
			t.Errorf("Int(%s) is %v, want %s", key, err, want.text)
		}
	}
	for _, key := range []string{"ABSENT", "LIST", "FLAG"} {
		if v, ok := tree.Value(key); ok {
			t.Errorf("Value(%s) is %q, want none", key, v)
		}
	}
}

func TestListsAreStoredSortedOrNumeric(t *testing.T) {
	tree := parse(t, "10\n2\n-1\n07\n")
	if diff := cmp.Diff([]string{"10", "2", "-1", "07"}, tree.Keys()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"-1", "07", "10", "2"}, tree.SortedKeys()); diff != "" {
		t.Error(diff)
	}
	ints, err := tree.IntKeys()
	if diff := cmp.Diff([]int64{-1, 2, 7, 10}, ints); diff != "" || err != nil {
		t.Error(err, diff)
	}
	tree.PutFlag("x")
	if _, err := tree.IntKeys(); !errors.Is(err, ErrValue) || !strings.Contains(err.Error(), `"x"`) {
		t.Errorf("a key that is no number gives %v", err)
	}
}

func TestNilAndZeroTreesReadAsEmpty(t *testing.T) {
	var none *Tree
	var zero Tree
	for _, tree := range []*Tree{none, &zero} {
		_, err := tree.Int("A")
		if tree.Len() != 0 || tree.Has("A") || tree.Get("A") != nil || !errors.Is(err, ErrMissing) || len(tree.Keys()) != 0 {
			t.Errorf("%v does not read as empty", tree)
		}
		for key := range tree.All() {
			t.Errorf("it lists %q", key)
		}
		tree.Unset("A")
		tree.UnsetKV("A", "B")
		if tree.Extract("A") != nil || tree.Clone().Len() != 0 || !Equal(tree, New()) {
			t.Errorf("%v is not equal to an empty tree", tree)
		}
		if got := len(Pack(tree)); got != 4 {
			t.Errorf("packed in %d bytes, want 4", got)
		}
	}
	zero.PutFlag("A")
	if !zero.Has("A") {
		t.Error("the zero tree takes no key")
	}
}

func TestCloneAndMergeShareNothing(t *testing.T) {
	a := parse(t, "RANK\n  0\n    DSET\n      1\nONLY\n")
	b := parse(t, "RANK\n  1\n  0\n    DSET\n      2\nNEW\n  x\n")
	before := b.Clone()
	a.Merge(b)
	a.Merge(a)
	a.Merge(nil)
	want := "  RANK\n    0\n      DSET\n        1\n        2\n    1\n  ONLY\n  NEW\n    x\n"
	if diff := cmp.Diff(want, text(t, a)); diff != "" {
		t.Error(diff)
	}
	a.Sub("NEW", "x", "changed")
	a.Sub("RANK", "1", "changed")
	if text(t, b) != text(t, before) {
		t.Errorf("a change of the merged tree shows in the source:\n%s", text(t, b))
	}
}

func TestMergeOfAPartOfItselfEnds(t *testing.T) {
	tree := parse(t, "A\n  A\n    x\n")
	tree.Merge(tree.Get("A"))
	want := "  A\n    A\n      x\n    x\n"
	if diff := cmp.Diff(want, text(t, tree)); diff != "" {
		t.Error(diff)
	}
}

func TestExtractTakesTheTreeOut(t *testing.T) {
	tree := parse(t, "RANK\n  0\n    x\n  1\n")
	if got := tree.Get("RANK").Extract("0"); text(t, got) != "  x\n" {
		t.Errorf("extracted\n%s", text(t, got))
	}
	if diff := cmp.Diff("  RANK\n    1\n", text(t, tree)); diff != "" {
		t.Error(diff)
	}
}

func TestEqualKnowsNoOrder(t *testing.T) {
	a := parse(t, "A\n  1\n  2\nB\n")
	for text, want := range map[string]bool{
		"B\nA\n  2\n  1\n":    true,
		"A\n  1\n  2\n":       false,
		"A\n  1\n  3\nB\n":    false,
		"A\n  1\n  2\nB\n  x": false,
		"A\n  1\n  2\nC\n":    false,
	} {
		if got := Equal(a, parse(t, text)); got != want {
			t.Errorf("equal to\n%s\nis %v, want %v", text, got, want)
		}
	}
}

// TestALoopMayRemoveKeys is how datasets and ranks are dropped from filemaps.
func TestALoopMayRemoveKeys(t *testing.T) {
	for _, n := range []int{5, indexAbove, indexAbove + 1, 1000} {
		tree := numbered(n)
		var met []string
		for key := range tree.All() {
			met = append(met, key)
			tree.Unset(key)
			tree.PutFlag("new " + key)
		}
		if len(met) != n || tree.Len() != n || tree.Has("0") || !tree.Has("new 0") {
			t.Errorf("%d keys: %d met, %d left, want as many", n, len(met), tree.Len())
		}
		// One that is removed ahead of the loop is not met.
		tree, met = numbered(n), nil
		for key := range tree.All() {
			met = append(met, key)
			if key == "0" && n > indexAbove {
				tree.Unset("2")
			}
		}
		if n > indexAbove && slices.Contains(met, "2") {
			t.Errorf("%d keys: a removed key is met", n)
		}
	}
}

func TestAHundredThousandKeysAreFoundAddedAndRemoved(t *testing.T) {
	const n = 100_000
	tree := numbered(n)
	for i := range n {
		if i%3 != 0 {
			tree.Unset(strconv.Itoa(i))
		}
	}
	tree.PutFlag("1")
	if got, want := tree.Len(), (n+2)/3+1; got != want {
		t.Fatalf("%d keys are left, want %d", got, want)
	}
	keys := tree.Keys()
	if keys[1] != "3" || keys[len(keys)-1] != "1" {
		t.Errorf("the second key is %s and the last %s, want 3 and 1", keys[1], keys[len(keys)-1])
	}
	for i := range n {
		if got, want := tree.Has(strconv.Itoa(i)), i%3 == 0 || i == 1; got != want {
			t.Fatalf("key %d is there: %v, want %v", i, got, want)
		}
	}
	if !Equal(tree, tree.Clone()) {
		t.Error("the tree is not equal to its clone")
	}
}

func TestAKeyWithNULIsRefusedWhereItIsSet(t *testing.T) {
	defer func() {
		if r := recover(); !strings.Contains(fmt.Sprint(r), `BUG: kvtree: key "a\x00b"`) {
			t.Errorf("setting it gives %v", r)
		}
	}()
	New().PutString("FILE", "a\x00b")
}

// numbered returns a tree with the keys 0 to n-1.
func numbered(n int) *Tree {
	tree := New()
	for i := range n {
		tree.PutFlag(strconv.Itoa(i))
	}
	return tree
}
