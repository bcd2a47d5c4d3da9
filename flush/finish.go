package flush

import (
	"errors"
	"fmt"
	"io/fs"
	"path"

	"github.com/scrfs/scrfs/internal/disk"
	"github.com/scrfs/scrfs/scr"
)

// reuse looks at what an earlier try left of a rank. A file needs no copy if the
// rank was finished, the cache's checksum is known and the stage's filemap has
// the same, and the file still has its size. If any file is to be copied, the
// old filemap goes first: it speaks of all files.
func (c *copier) reuse(rp *rankPart) error {
	name := own.RankFilemap(rp.dir, rp.rank)
	old, err := scr.ReadFilemap(c.stage, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	fresh := err != nil // a damaged one tells nothing
	for _, f := range rp.files {
		f.staged = !fresh && c.same(old, f)
		fresh = fresh || !f.staged
	}
	if !fresh {
		return nil
	}
	for _, f := range rp.files {
		f.staged = false
	}
	if err := c.stage.Remove(name); err != nil {
		return err
	}
	return c.stage.SyncDir(path.Dir(name))
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
