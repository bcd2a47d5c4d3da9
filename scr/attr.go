package scr

import (
	"encoding/hex"
	"math"
	"slices"
	"strings"

	"github.com/scrfs/scrfs/kvtree"
)

// Timespec is a time of stat(2): seconds since the Unix epoch, may be negative,
// and nanoseconds from 0 to 999,999,999.
type Timespec struct{ Secs, Nsecs int64 }

// Xattr is one extended attribute. Its value is any bytes.
type Xattr struct {
	Name  string
	Value []byte
}

// FileAttr holds what stat(2) and listxattr(2) say of a file. SCR's readers do
// not know these keys and skip them; the stat keys are those of SCR 3.
//
//	MODE UID GID                                      decimal
//	ATIME_SECS ATIME_NSECS MTIME_SECS ... CTIME_NSECS decimal
//	XATTR / <name> / 0x<value in hexadecimal>
//	LINK / <other name of the file>                   as many as there are
type FileAttr struct {
	// Mode is st_mode with or without the type bits, 0 to 0177777.
	Mode     uint32
	UID, GID uint32
	// Access, Modify and Change are the three times.
	Access, Modify, Change Timespec
	// Xattrs is sorted by name.
	Xattrs []Xattr
	// Links are the other hard links, relative as the file's own name; sorted.
	Links []string
}

const maxMode = 0o177777

// put adds the keys to a record.
func (a *FileAttr) put(t *kvtree.Tree) {
	t.PutInt("MODE", int64(a.Mode))
	t.PutInt("UID", int64(a.UID))
	t.PutInt("GID", int64(a.GID))
	putTime(t, "ATIME", a.Access)
	putTime(t, "MTIME", a.Modify)
	putTime(t, "CTIME", a.Change)
	if len(a.Xattrs) > 0 {
		x := kvtree.New()
		for _, attr := range a.Xattrs {
			x.PutString(attr.Name, "0x"+hex.EncodeToString(attr.Value))
		}
		t.Set(keyExtraXattr, x)
	}
	if len(a.Links) > 0 {
		l := kvtree.New()
		for _, name := range a.Links {
			l.Set(name, nil)
		}
		t.Set(keyExtraLink, l)
	}
}

func putTime(t *kvtree.Tree, key string, at Timespec) {
	t.PutInt(key+"_SECS", at.Secs)
	t.PutInt(key+"_NSECS", at.Nsecs)
}

// attrFromTree returns nil if the record has none of the keys.
func attrFromTree(f *fields) *FileAttr {
	if f.err != nil {
		return nil
	}
	if !f.tree.Has("MODE") && !f.tree.Has("UID") && !f.tree.Has("MTIME_SECS") &&
		!f.tree.Has(keyExtraXattr) && !f.tree.Has(keyExtraLink) {
		return nil
	}
	a := &FileAttr{
		Mode:   uint32(f.optNumber("MODE", 0, maxMode, 0)),
		UID:    uint32(f.optNumber("UID", 0, math.MaxUint32, 0)),
		GID:    uint32(f.optNumber("GID", 0, math.MaxUint32, 0)),
		Access: f.time("ATIME"),
		Modify: f.time("MTIME"),
		Change: f.time("CTIME"),
	}
	for name, value := range f.tree.Get(keyExtraXattr).All() {
		a.Xattrs = append(a.Xattrs, Xattr{Name: name, Value: f.xattr(name, value)})
	}
	slices.SortFunc(a.Xattrs, func(x, y Xattr) int { return strings.Compare(x.Name, y.Name) })
	if links := f.tree.Get(keyExtraLink); links.Len() > 0 {
		a.Links = links.SortedKeys()
	}
	return a
}

func (f *fields) time(key string) Timespec {
	return Timespec{
		Secs:  f.optNumber(key+"_SECS", math.MinInt64, math.MaxInt64, 0),
		Nsecs: f.optNumber(key+"_NSECS", 0, 999_999_999, 0),
	}
}

// xattr reads the value of one attribute, which is the only key below its name.
func (f *fields) xattr(name string, value *kvtree.Tree) []byte {
	keys := value.Keys()
	if len(keys) == 1 {
		if digits, ok := strings.CutPrefix(keys[0], "0x"); ok {
			if b, err := hex.DecodeString(digits); err == nil {
				return b
			}
		}
	}
	f.fail("key %s: value of %s is not one hexadecimal number: %w", keyExtraXattr, quote(name), ErrInvalid)
	return nil
}
