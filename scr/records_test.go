package scr

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/scrfs/scrfs/kvtree"
)

func TestFieldsOutOfRangeAreNamed(t *testing.T) {
	dataset := func(t *kvtree.Tree) error { _, err := DatasetFromTree(t); return err }
	meta := func(t *kvtree.Tree) error { _, err := FileMetaFromTree(t); return err }
	red := func(t *kvtree.Tree) error { _, err := RedundancyDescriptorFromTree(t); return err }
	flushDesc := func(t *kvtree.Tree) error { _, err := FlushDescriptorFromTree(t); return err }
	halt := func(t *kvtree.Tree) error { _, err := HaltFileFromTree(t); return err }
	nodes := func(t *kvtree.Tree) error { _, err := NodesFileFromTree(t); return err }
	transfer := func(t *kvtree.Tree) error { _, err := TransferFileFromTree(t); return err }
	goodMeta := FileMeta{File: "a", SizeBytes: 1, Ranks: 4}.Tree(F14)
	goodRed := RedundancyDescriptor{Type: XOR, Interval: 1, Groups: 1, GroupSize: 4, GroupRank: 3}.Tree(F14)
	for _, c := range []struct {
		read       func(*kvtree.Tree) error
		from       *kvtree.Tree
		key, value string
	}{
		{dataset, Dataset{ID: 1}.Tree(F14), "ID", "0"},
		{dataset, Dataset{ID: 1}.Tree(F14), "ID", "2147483648"},
		{dataset, Dataset{ID: 1}.Tree(F14), "ID", "one"},
		{dataset, Dataset{ID: 1}.Tree(F14), "CREATED", "-1"},
		{dataset, Dataset{ID: 1}.Tree(F14), "FILES", "-1"},
		{dataset, Dataset{ID: 1}.Tree(F14), "SIZE", "9223372036854775808"},
		{dataset, Dataset{ID: 1}.Tree(F14), "COMPLETE", "2"},
		{dataset, Dataset{ID: 1}.Tree(F14), "CKPT", "-1"},
		{dataset, Dataset{ID: 1}.Tree(F12), "FLAG_CKPT", "yes"},
		{meta, goodMeta, "SIZE", "-1"},
		{meta, goodMeta, "SIZE", ""},
		{meta, goodMeta, "RANKS", "0"},
		{meta, goodMeta, "RANKS", "16777217"},
		{meta, goodMeta, "TYPE", "DIR"},
		{meta, goodMeta, "CRC", "0x1ffffffff"},
		{meta, goodMeta, "COMPLETE", "-1"},
		{meta, goodMeta, "MODE", "65536"},
		{meta, goodMeta, "MTIME_SECS", "x"},
		{red, goodRed, "GROUP_RANK", "4"},
		{red, goodRed, "GROUP_SIZE", "0"},
		{red, goodRed, "INTERVAL", "0"},
		{red, goodRed, "TYPE", "RAID"},
		{red, goodRed, "GROUP_ID", "-1"},
		{flushDesc, kvtree.New(), "PRESERVE", "2"},
		{halt, kvtree.New(), "ExitAfter", "-1"},
		{halt, kvtree.New(), "HaltSeconds", "soon"},
		{nodes, kvtree.New(), "NODES", "0"},
		{transfer, kvtree.New(), "COMMAND", "GO"},
		{transfer, kvtree.New(), "PERCENT", "101"},
		{transfer, kvtree.New(), "BW", "NaN"},
	} {
		bad := c.from.Clone()
		bad.PutString(c.key, c.value)
		err := c.read(bad)
		if !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), c.key) || !strings.Contains(err.Error(), c.value) {
			t.Errorf("%s = %q: got %v, want ErrInvalid naming both", c.key, c.value, err)
		}
		twice := c.from.Clone()
		twice.SetKV(c.key, "7")
		twice.SetKV(c.key, "8")
		if err := c.read(twice); !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), c.key) {
			t.Errorf("%s with two values: got %v, want ErrInvalid", c.key, err)
		}
	}
}

func TestMissingFieldsAreNamed(t *testing.T) {
	for key, err := range map[string]error{
		"ID":      second(DatasetFromTree(nil)),
		"TYPE":    second(FileMetaFromTree(nil)),
		"NODES":   second(NodesFileFromTree(kvtree.New())),
		"VERSION": second(SummaryFromTree(kvtree.New())),
		"RANKS":   second(Rank2FileFromTree(kvtree.New())),
	} {
		if !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), key) {
			t.Errorf("%s: got %v, want ErrInvalid naming it", key, err)
		}
	}
}

func TestAFileBeingWrittenHasNoSize(t *testing.T) {
	tree := FileMeta{File: "a", Ranks: 4}.Tree(F14)
	tree.Unset("SIZE")
	if m, err := FileMetaFromTree(tree); err != nil || m.Complete {
		t.Errorf("got %+v, %v; want incomplete", m, err)
	}
	tree.PutInt("COMPLETE", 1)
	if _, err := FileMetaFromTree(tree); !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), "SIZE") {
		t.Errorf("complete without size: got %v, want ErrInvalid naming SIZE", err)
	}
}

func second[T any](_ T, err error) error { return err }

func TestMessagesEscapeNames(t *testing.T) {
	bad := FileMeta{File: "100%d\n", SizeBytes: 1}.Tree(F14)
	bad.PutString("SIZE", strings.Repeat("9", 5000))
	err := second(FileMetaFromTree(bad))
	if err == nil || strings.Contains(err.Error(), "\n") || strings.Contains(err.Error(), "!d") || len(err.Error()) > 500 {
		t.Errorf("got %v", err)
	}
}

func TestEveryDatasetComesBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := rapid.SampledFrom(Families()).Draw(t, "family")
		want := drawDataset(t)
		if f != F12 {
			want.Output = false
		}
		if got, err := DatasetFromTree(want.Tree(f)); err != nil || got != want {
			t.Fatalf("%v: got %+v, %v; want %+v", f, got, err, want)
		}
	})
}

func drawDataset(t *rapid.T) Dataset {
	word := rapid.StringMatching(`[a-z .]{0,8}`)
	return Dataset{
		ID:            DatasetID(rapid.Int64Range(1, MaxDatasetID).Draw(t, "id")),
		Name:          word.Draw(t, "name"),
		CreatedMicros: rapid.Int64Min(0).Draw(t, "created"),
		User:          word.Draw(t, "user"),
		JobName:       word.Draw(t, "jobname"),
		JobID:         word.Draw(t, "jobid"),
		Cluster:       word.Draw(t, "cluster"),
		Checkpoint:    CheckpointID(rapid.Int64Range(0, MaxDatasetID).Draw(t, "ckpt")),
		Files:         rapid.Int64Min(0).Draw(t, "files"),
		SizeBytes:     rapid.Int64Min(0).Draw(t, "size"),
		Complete:      rapid.Bool().Draw(t, "complete"),
		Output:        rapid.Bool().Draw(t, "output"),
	}
}

func drawMeta(t *rapid.T) FileMeta {
	word := rapid.StringMatching(`[a-z/. ]{0,8}`)
	m := FileMeta{
		File:      word.Draw(t, "file"),
		Type:      rapid.SampledFrom([]FileType{UserFile, XORFile, RSFile}).Draw(t, "type"),
		Ranks:     rapid.IntRange(0, MaxRanks).Draw(t, "ranks"),
		Orig:      word.Draw(t, "orig"),
		Path:      word.Draw(t, "path"),
		Name:      word.Draw(t, "name"),
		SizeBytes: rapid.Int64Min(0).Draw(t, "size"),
		Complete:  rapid.Bool().Draw(t, "complete"),
		HasCRC:    rapid.Bool().Draw(t, "has crc"),
	}
	if m.HasCRC {
		m.CRC = CRC(rapid.Uint32().Draw(t, "crc"))
	}
	if rapid.Bool().Draw(t, "attr") {
		m.Attr = drawAttr(t)
	}
	return m
}

func drawAttr(t *rapid.T) *FileAttr {
	at := func(name string) Timespec {
		return Timespec{Secs: rapid.Int64().Draw(t, name), Nsecs: rapid.Int64Range(0, 999_999_999).Draw(t, name+" ns")}
	}
	a := &FileAttr{
		Mode:   rapid.Uint32Range(0, maxMode).Draw(t, "mode"),
		UID:    rapid.Uint32().Draw(t, "uid"),
		GID:    rapid.Uint32().Draw(t, "gid"),
		Access: at("atime"), Modify: at("mtime"), Change: at("ctime"),
	}
	if rapid.Bool().Draw(t, "xattrs") {
		a.Xattrs = []Xattr{
			{Name: "security.x", Value: []byte{}},
			{Name: "user.x", Value: rapid.SliceOfN(rapid.Byte(), 0, 9).Draw(t, "value")},
		}
	}
	if rapid.Bool().Draw(t, "links") {
		a.Links = []string{"../x", "y"}
	}
	return a
}

func TestEveryFileMetaComesBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := rapid.SampledFrom(Families()).Draw(t, "family")
		want := drawMeta(t)
		got, err := FileMetaFromTree(want.Tree(f))
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Fatalf("%v: %v (-want +got):\n%s", f, err, diff)
		}
	})
}

func TestAddedKeysDoNotDisturbSCRsOwn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := drawMeta(t)
		plain := m
		plain.Attr = nil
		with, without := m.Tree(F14), plain.Tree(F14)
		for key, sub := range without.All() {
			if !kvtree.Equal(with.Get(key), sub) {
				t.Fatalf("key %s: %q became %q", key, text(sub), text(with.Get(key)))
			}
		}
	})
}

func TestEveryDirTreeComesBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var want DirTree
		if rapid.Bool().Draw(t, "dirs") {
			want.Dirs = []TreeEntry{{Path: "a", Attr: drawAttr(t)}, {Path: "a/b"}}
		}
		if rapid.Bool().Draw(t, "symlinks") {
			want.Symlinks = []TreeEntry{{Path: "latest", Target: "/somewhere else", Attr: drawAttr(t)}}
		}
		if rapid.Bool().Draw(t, "hardlinks") {
			want.Hardlinks = []TreeEntry{{Path: "x", Target: "a/b/y"}}
		}
		got, err := DirTreeFromTree(want.Tree(F14))
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Fatalf("%v (-want +got):\n%s", err, diff)
		}
		m := NewFilemap()
		m.SetDirTree(1, 0, want)
		if got, err = m.DirTree(1, 0); err != nil || cmp.Diff(want, got) != "" || m.HasRank(0) == want.Empty() {
			t.Fatalf("through a filemap: %+v, %v", got, err)
		}
	})
}

func TestPickTakesTheLargestIntervalThatDivides(t *testing.T) {
	d := Descriptors{
		{Enabled: true, Interval: 1, Type: Single},
		{Enabled: true, Interval: 10, Type: Partner},
		{Enabled: false, Interval: 20, Type: RS},
		{Enabled: true, Interval: 4, Type: XOR},
		{Enabled: true, Interval: 10, Type: RS},
	}
	for c, want := range map[CheckpointID]Scheme{1: Single, 4: XOR, 8: XOR, 10: Partner, 20: Partner, 40: Partner, 7: Single} {
		if got, ok := d.Pick(c); !ok || got.Type != want {
			t.Errorf("checkpoint %d: got %v, %v; want %v", c, got.Type, ok, want)
		}
	}
	if got, ok := d[1:].Pick(7); ok {
		t.Errorf("none divides 7: got %v", got)
	}
	if got, ok := (Descriptors{{Enabled: true}}).Pick(7); ok {
		t.Errorf("interval 0: got %v", got)
	}
}

func TestEveryDescriptorComesBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := rapid.SampledFrom(Families()).Draw(t, "family")
		size := rapid.IntRange(1, MaxRanks).Draw(t, "size")
		want := RedundancyDescriptor{
			Enabled:   rapid.Bool().Draw(t, "enabled"),
			Interval:  rapid.IntRange(1, 1000).Draw(t, "interval"),
			Type:      rapid.SampledFrom([]Scheme{Single, Partner, XOR, RS}).Draw(t, "type"),
			Directory: "/c", Store: "/s", Groups: rapid.IntRange(1, MaxRanks).Draw(t, "groups"),
			GroupID: Rank(rapid.IntRange(0, MaxRanks-1).Draw(t, "id")), GroupSize: size,
			GroupRank: rapid.IntRange(0, size-1).Draw(t, "rank"), Checksums: rapid.IntRange(0, 3).Draw(t, "k"),
		}
		if f == F11 {
			want.Index, want.HopDistance, want.SetSize = 1, 2, 8
		}
		if f == F12 {
			want.Output = rapid.Bool().Draw(t, "output")
		}
		if got, err := RedundancyDescriptorFromTree(want.Tree(f)); err != nil || got != want {
			t.Fatalf("%v: got %+v, %v; want %+v", f, got, err, want)
		}
	})
}
