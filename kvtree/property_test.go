package kvtree

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// anyKey draws bytes without NUL, plainKey what the text form brings back.
var (
	anyKey = rapid.Custom(func(t *rapid.T) string {
		b := rapid.SliceOfN(rapid.ByteRange(1, 255), 0, 12).Draw(t, "key")
		return string(b)
	})
	plainKey = anyKey.Filter(func(k string) bool {
		return k != "" && k[0] != ' ' && !strings.Contains(k, "\n")
	})
)

// trees draws trees of up to four levels, some wide enough for an index.
func trees(keys *rapid.Generator[string]) *rapid.Generator[*Tree] {
	var grow func(t *rapid.T, depth int) *Tree
	grow = func(t *rapid.T, depth int) *Tree {
		tree := New()
		width := 0
		switch {
		case depth == 0:
		case rapid.IntRange(0, 19).Draw(t, "wide") == 19:
			width, depth = 2*indexAbove+3, 1
		default:
			width = rapid.SampledFrom([]int{0, 1, 1, 2, 3, 5}).Draw(t, "width")
		}
		for range width {
			tree.Set(keys.Draw(t, "key"), grow(t, depth-1))
		}
		return tree
	}
	return rapid.Custom(func(t *rapid.T) *Tree { return grow(t, 4) })
}

func TestPropertyFileFormsBringTheTreeBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tree := trees(anyKey).Draw(t, "tree")
		tail := rapid.SliceOf(rapid.Byte()).Draw(t, "binary data behind it")
		packed, file := Pack(tree), Encode(tree)
		back, err := Unpack(packed)
		if err != nil || !Equal(back, tree) || !slices.Equal(back.Keys(), tree.Keys()) {
			t.Fatalf("packed and unpacked: %v", err)
		}
		back, n, err := Decode(append(slices.Clip(file), tail...))
		if err != nil || n != len(file) || !Equal(back, tree) {
			t.Fatalf("encoded and decoded: %d of %d bytes, %v", n, len(file), err)
		}
		if !bytes.Equal(Pack(back), packed) || !bytes.Equal(Encode(back.Clone()), file) {
			t.Fatal("packed again it is other bytes")
		}
	})
}

func TestPropertyTextBringsPlainKeysBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tree := trees(plainKey).Draw(t, "tree")
		var b bytes.Buffer
		if err := WriteText(&b, tree); err != nil {
			t.Fatal(err)
		}
		back, err := ParseText(bytes.NewReader(b.Bytes()))
		if err != nil || !Equal(back, tree) || !bytes.Equal(Pack(back), Pack(tree)) {
			t.Fatalf("%q is parsed as another tree, %v", b.String(), err)
		}
	})
}

func TestPropertyJSONIsValidAndLosesNoKey(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tree := trees(anyKey).Draw(t, "tree")
		var b bytes.Buffer
		if err := WriteJSON(&b, tree); err != nil {
			t.Fatal(err)
		}
		if !json.Valid(b.Bytes()) {
			t.Fatalf("not JSON: %s", b.String())
		}
		seen := map[string]bool{}
		for key := range tree.All() {
			var q bytes.Buffer
			one := New()
			one.PutFlag(key)
			if err := WriteJSON(&q, one); err != nil {
				t.Fatal(err)
			}
			if seen[q.String()] {
				t.Fatalf("two keys are written as %s", q.String())
			}
			seen[q.String()] = true
		}
	})
}

func TestPropertyMergeIsUnion(t *testing.T) {
	few := rapid.SampledFrom(strings.Split("A B C D E", " "))
	rapid.Check(t, func(t *rapid.T) {
		a, b := trees(few).Draw(t, "a"), trees(few).Draw(t, "b")
		ab, ba := a.Clone(), b.Clone()
		ab.Merge(b)
		ba.Merge(a)
		if !Equal(ab, ba) {
			t.Fatal("a+b is not b+a")
		}
		want := paths(a)
		for p := range paths(b) {
			want[p] = true
		}
		got := paths(ab)
		if len(got) != len(want) {
			t.Fatalf("%d paths, want the %d of both", len(got), len(want))
		}
		for p := range want {
			if !got[p] {
				t.Fatalf("path %q is lost", p)
			}
		}
		again := ab.Clone()
		again.Merge(a)
		if !Equal(again, ab) {
			t.Fatal("merging again changes it")
		}
	})
}

// paths is the set of all keys at all depths, with the keys above them.
func paths(t *Tree) map[string]bool {
	out := map[string]bool{}
	var walk func(t *Tree, above string)
	walk = func(t *Tree, above string) {
		for key, sub := range t.All() {
			out[above+"\x00"+key] = true
			walk(sub, above+"\x00"+key)
		}
	}
	walk(t, "")
	return out
}

func TestPropertyEqualIsOfSets(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tree := trees(anyKey).Draw(t, "tree")
		if !Equal(tree, shuffled(t, tree)) {
			t.Fatal("another order is another tree")
		}
		other := tree.Clone()
		at := other
		for at.Len() > 0 && rapid.Bool().Draw(t, "go down") {
			at = at.Get(rapid.SampledFrom(at.Keys()).Draw(t, "key"))
		}
		key := anyKey.Filter(func(k string) bool { return !at.Has(k) }).Draw(t, "new key")
		at.PutFlag(key)
		if Equal(tree, other) || Equal(other, tree) {
			t.Fatal("one key more and still equal")
		}
	})
}

func shuffled(t *rapid.T, tree *Tree) *Tree {
	out := New()
	for _, key := range rapid.Permutation(tree.Keys()).Draw(t, "order") {
		out.Set(key, shuffled(t, tree.Get(key)))
	}
	return out
}

// TestPropertyTreeIsAnOrderedMap drives one tree and a plain list side by side
// through a random history, long enough that indexes come and go.
func TestPropertyTreeIsAnOrderedMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		key := rapid.StringMatching(`[a-d][a-z]?`)
		tree, want := New(), []string{}
		subs := map[string]*Tree{}
		check := func() {
			if got := tree.Keys(); !slices.Equal(got, want) || tree.Len() != len(want) {
				t.Fatalf("%d keys %q, want %q", tree.Len(), got, want)
			}
			for k, sub := range subs {
				if tree.Get(k) != sub {
					t.Fatalf("%s has not the tree that was set", k)
				}
			}
		}
		for range rapid.IntRange(1, 300).Draw(t, "steps") {
			k := key.Draw(t, "key")
			at := slices.Index(want, k)
			if got := tree.Has(k); got != (at >= 0) {
				t.Fatalf("Has(%s) is %v", k, got)
			}
			switch rapid.SampledFrom([]string{"set", "sub", "set", "unset", "extract", "clone"}).Draw(t, "step") {
			case "set":
				subs[k] = tree.Set(k, New())
			case "sub":
				subs[k] = tree.Sub(k)
			case "unset":
				tree.Unset(k)
				k, at, want = "", 0, slices.DeleteFunc(want, func(w string) bool { return w == k })
			case "extract":
				if got := tree.Extract(k); got != subs[k] {
					t.Fatalf("extract of %s gives another tree", k)
				}
				k, at, want = "", 0, slices.DeleteFunc(want, func(w string) bool { return w == k })
			case "clone":
				tree = tree.Clone()
				for k := range subs {
					subs[k] = tree.Get(k)
				}
				k, at = "", 0
			}
			if at < 0 {
				want = append(want, k)
			}
			for k := range subs {
				if !slices.Contains(want, k) {
					delete(subs, k)
				}
			}
			check()
		}
	})
}
