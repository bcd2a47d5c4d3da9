package xor_test

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/scrfs/scrfs/kvtree"
	"github.com/scrfs/scrfs/scr"
	"github.com/scrfs/scrfs/xor"
)

// Whatever a header says, it is refused or it is one that can be written,
// read again as the same, and used.
func FuzzHeader(f *testing.F) {
	f.Add(kvtree.Pack(printedTree(f)))
	f.Add(kvtree.Pack(nil))
	f.Fuzz(func(t *testing.T, packed []byte) {
		// the packed form, because the fuzzer would not hit a checksum
		tree, err := kvtree.Unpack(packed)
		if err != nil {
			return
		}
		h, err := xor.HeaderFromTree(tree)
		if err != nil {
			return
		}
		if i := h.Index(); i < 0 || h.Layout().LogicalBytes() < h.Current.LogicalBytes() {
			t.Fatalf("member %d of %+v", i, h)
		}
		for _, family := range scr.Families() {
			again, n, err := xor.ReadHeader(bytes.NewReader(h.Encode(family)))
			if err != nil || n != int64(len(h.Encode(family))) {
				t.Fatal(err)
			}
			again.Dataset.Output = h.Dataset.Output // only F12 can say it
			if diff := cmp.Diff(h, again); diff != "" {
				t.Fatal(diff)
			}
			name := h.FileName()
			if got, ok := xor.ParseFileName(family, name.Format(family)); !ok || got != name {
				t.Fatalf("file name %+v comes back as %+v", name, got)
			}
		}
	})
}

func FuzzReadHeader(f *testing.F) {
	f.Add(append(kvtree.Encode(printedTree(f)), "payload"...))
	f.Add([]byte{0x95, 0x1f, 0xc3, 0xf5, 0, 1, 0, 1})
	f.Fuzz(func(t *testing.T, b []byte) {
		_, n, _ := xor.ReadHeader(bytes.NewReader(b))
		if n < 0 || n > int64(len(b)) {
			t.Fatalf("%d bytes read of %d", n, len(b))
		}
	})
}

// A name that is accepted is the only one for what it says.
func FuzzFileName(f *testing.F) {
	f.Add("3_of_4_in_10.xor")
	f.Add("xor.10_3_of_4.scr")
	f.Fuzz(func(t *testing.T, name string) {
		for _, family := range scr.Families() {
			n, ok := xor.ParseFileName(family, name)
			if ok && n.Format(family) != name {
				t.Fatalf("%q is taken as %+v, which is %q", name, n, n.Format(family))
			}
			if ok && (n.Member < 0 || n.Member >= n.Members || n.Set < 0) {
				t.Fatalf("%q is taken as %+v", name, n)
			}
		}
	})
}
