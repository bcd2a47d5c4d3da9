package flush

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path"
	"syscall"
	"time"

	"github.com/scrfs/scrfs/internal/disk"
	"github.com/scrfs/scrfs/scr"
)

// copyFile copies one file and records its checksum in its meta data. When it
// returns nil the bytes are durable, the directory entry not yet.
func (c *copier) copyFile(ctx context.Context, f *file, buf []byte) error {
	if err := c.copyOpen(ctx, f, buf); err != nil {
		return fmt.Errorf("%s: %w", f.dst, err)
	}
	return nil
}

func (c *copier) copyOpen(ctx context.Context, f *file, buf []byte) (err error) {
	src, err := c.part.Cache.OpenFile(f.src, os.O_RDONLY|syscall.O_NOFOLLOW, 0)
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%w: %w", scr.ErrIncomplete, err)
	}
	if err != nil {
		return errSource{err}
	}
	defer src.Close() // read only: nothing can be lost
	st, err := src.Stat()
	if err != nil {
		return errSource{err}
	}
	if st.Size() != f.meta.SizeBytes || !st.Mode().IsRegular() {
		return errSource{sizeError(st.Size(), f)}
	}
	if err := c.dirs.make(c.stage, path.Dir(f.dst)); err != nil {
		return err
	}
	if placed, err := c.place(ctx, f, src, st, buf); placed || err != nil {
		return err
	}
	// What an earlier try left may be write protected, or have a second name:
	// it goes, and is not written over.
	if err := c.stage.Remove(f.dst); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	dst, err := c.stage.OpenFile(f.dst, os.O_WRONLY|os.O_CREATE|os.O_EXCL|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return err
	}
	crc, err := c.copyBytes(ctx, dst, src, f, buf)
	if err == nil {
		err = c.setAttr(f, st)
	}
	if err == nil {
		err = dst.Sync()
	}
	if cerr := dst.Close(); err == nil {
		err = cerr // a network file system may report a lost write here
	}
	if err == nil {
		f.meta.CRC, f.meta.HasCRC = crc, true
	}
	return err
}

// place lets Place bring the file into the stage and tells whether it did.
func (c *copier) place(ctx context.Context, f *file, src disk.File, st fs.FileInfo, buf []byte) (bool, error) {
	if c.part.Place == nil {
		return false, nil
	}
	placed, err := c.part.Place(f.src, f.dst)
	if !placed || err != nil {
		return placed, err
	}
	crc, err := c.copyBytes(ctx, io.Discard, src, f, buf)
	if err == nil {
		err = c.setAttr(f, st)
	}
	if err == nil {
		err = src.Sync() // the same file under its other name
	}
	if err == nil {
		f.meta.CRC, f.meta.HasCRC = crc, true
	}
	return true, err
}

// copyBytes copies to the end of the source, which must have the size and the
// checksum of the meta data.
func (c *copier) copyBytes(ctx context.Context, dst io.Writer, src io.Reader, f *file, buf []byte) (scr.CRC, error) {
	sum, total := uint32(0), int64(0)
	for {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		n, rerr := io.ReadFull(src, buf)
		if total += int64(n); total > f.meta.SizeBytes {
			return 0, errSource{sizeError(total, f)}
		}
		if n > 0 {
			if err := c.limit.WaitN(ctx, n); err != nil {
				return 0, err
			}
			sum = crc32.Update(sum, crc32.IEEETable, buf[:n])
			if w, err := dst.Write(buf[:n]); err != nil {
				return 0, err
			} else if w != n {
				return 0, io.ErrShortWrite
			}
			c.count(n)
		}
		if rerr == io.EOF || rerr == io.ErrUnexpectedEOF {
			break
		}
		if rerr != nil {
			return 0, errSource{rerr}
		}
	}
	if total != f.meta.SizeBytes {
		return 0, errSource{sizeError(total, f)}
	}
	if f.meta.HasCRC && f.meta.CRC != scr.CRC(sum) {
		return 0, errSource{fmt.Errorf("checksum is %s, the meta data says %s: %w", scr.CRC(sum), f.meta.CRC, scr.ErrCorrupt)}
	}
	return scr.CRC(sum), nil
}

func sizeError(have int64, f *file) error {
	return fmt.Errorf("%d bytes in the cache, the meta data says %d: %w", have, f.meta.SizeBytes, scr.ErrCorrupt)
}

// setAttr gives the staged file owner, mode and times. A file whose meta data do
// not tell has the mode and the time it has in the cache.
func (c *copier) setAttr(f *file, cached fs.FileInfo) error {
	a := f.meta.Attr
	if a == nil {
		return errors.Join(c.stage.Chmod(f.dst, cached.Mode().Perm()), c.stage.Chtimes(f.dst, time.Time{}, cached.ModTime()))
	}
	if err := c.setOwner(f.dst, int(a.UID), int(a.GID)); err != nil {
		return err
	}
	// After the owner, a change of which takes set-id bits away.
	if err := c.stage.Chmod(f.dst, modeOf(a.Mode)); err != nil {
		return err
	}
	return c.stage.Chtimes(f.dst, timeOf(a.Access), timeOf(a.Modify))
}

// setOwner changes the owner if it is another. Only root may give files away,
// and others only to groups they are in: what is not allowed stays undone.
func (c *copier) setOwner(name string, uid, gid int) error {
	st, err := c.stage.Lstat(name)
	if err != nil {
		return err
	}
	if sys, ok := st.Sys().(*syscall.Stat_t); ok && int(sys.Uid) == uid && int(sys.Gid) == gid {
		return nil
	}
	if err = c.stage.Chown(name, uid, gid); errors.Is(err, fs.ErrPermission) {
		err = c.stage.Chown(name, -1, gid)
	}
	if errors.Is(err, fs.ErrPermission) {
		return nil
	}
	return err
}

// modeOf turns st_mode into Go's mode.
func modeOf(mode uint32) fs.FileMode {
	m := fs.FileMode(mode & 0o777)
	for bit, special := range map[uint32]fs.FileMode{
		syscall.S_ISUID: fs.ModeSetuid, syscall.S_ISGID: fs.ModeSetgid, syscall.S_ISVTX: fs.ModeSticky,
	} {
		if mode&bit != 0 {
			m |= special
		}
	}
	return m
}

// timeOf is the zero time, which changes nothing, for a time not recorded.
func timeOf(t scr.Timespec) time.Time {
	if t == (scr.Timespec{}) {
		return time.Time{}
	}
	return time.Unix(t.Secs, t.Nsecs)
}
