package flush

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"

	"github.com/scrfs/scrfs/internal/disk"
	"github.com/scrfs/scrfs/scr"
)

// reuse tells whether a rank was finished by an earlier call and is still the
// same: the cache's checksums are known, the stage's filemap has the same, and
// every file has its size. If not, the old filemap goes before its files do.
func (c *copier) reuse(rp *rankPart) (bool, error) {
	name := own.RankFilemap(rp.dir, rp.rank)
	old, err := scr.ReadFilemap(c.stage, name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil && !errors.Is(err, scr.ErrCorrupt) && !errors.Is(err, scr.ErrInvalid):
		return false, err
	}
	changed := func(f *file) bool { return !c.same(old, f) }
	if err == nil && old.FileCount(c.part.Dataset, rp.rank) == len(rp.files) && !slices.ContainsFunc(rp.files, changed) {
		return true, nil
	}
	if err := c.stage.Remove(name); err != nil {
		return false, err
	}
	return false, c.stage.SyncDir(path.Dir(name))
}

func (c *copier) same(old *scr.Filemap, f *file) bool {
	then, err := old.Meta(c.part.Dataset, f.of.rank, own.NameIn(f.of.dir, f.dst))
	if err != nil || !then.HasCRC || !f.meta.HasCRC || then.CRC != f.meta.CRC || then.SizeBytes != f.meta.SizeBytes {
		return false
	}
	if (then.Attr == nil) != (f.meta.Attr == nil) || then.Attr != nil && !sameAttr(then.Attr, f.meta.Attr) {
		return false
	}
	st, err := c.stage.Lstat(f.dst)
	return err == nil && st.Mode().IsRegular() && st.Size() == f.meta.SizeBytes
}

func sameAttr(a, b *scr.FileAttr) bool {
	return a.Mode == b.Mode && a.UID == b.UID && a.GID == b.GID && a.Modify == b.Modify
}

// finish writes the filemap of a rank, all of which is durable.
func (c *copier) finish(rp *rankPart) error {
	id, r := c.part.Dataset, rp.rank
	copied := map[string]*file{}
	for _, f := range rp.files {
		copied[f.key] = f
	}
	nameOf := func(key string) string {
		if f := copied[key]; f != nil {
			return own.NameIn(rp.dir, f.dst)
		}
		return key // goes below
	}
	m := c.part.Filemap.ForPrefix(id, r, nameOf)
	for _, key := range c.part.Filemap.Files(id, r) {
		if f := copied[key]; f != nil {
			m.SetMeta(id, r, nameOf(key), f.meta)
		} else {
			m.RemoveFile(id, r, key)
		}
	}
	m.SetExpectedFiles(id, r, len(rp.files))
	name := own.RankFilemap(rp.dir, r)
	if err := disk.MkdirAll(c.stage, path.Dir(name), 0o755); err != nil {
		return err
	}
	if err := scr.WriteFilemap(c.stage, name, m); err != nil {
		return fmt.Errorf("filemap: %w", err)
	}
	return nil
}
