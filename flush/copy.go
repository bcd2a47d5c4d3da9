package flush

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/time/rate"

	"github.com/scrfs/scrfs/internal/disk"
	"github.com/scrfs/scrfs/scr"
)

// Options says how fast and how wide to copy. The zero value is good.
type Options struct {
	// BytesPerSecond limits this call; 0 does not.
	BytesPerSecond int64
	// Width is the number of files copied at a time. Default 4: enough to keep
	// a parallel file system busy through the syncs of small files.
	Width int
	// BufBytes is the piece that is read and written at a time, for each file
	// of Width. Default 1 MiB.
	BufBytes int
	// Progress, if not nil, is told the bytes copied so far, one call at a time.
	Progress func(bytes int64)
}

const (
	defaultWidth    = 4
	defaultBufBytes = 1 << 20
)

// Validate tells which value makes no sense.
func (o Options) Validate() error {
	if o.BytesPerSecond < 0 || o.Width < 0 || o.BufBytes < 0 {
		return fmt.Errorf("flush options %d bytes per second, width %d, buffer of %d bytes: %w", o.BytesPerSecond, o.Width, o.BufBytes, scr.ErrInvalid)
	}
	return nil
}

// CopyPart copies this node's ranks of one dataset into a stage, a tree that
// looks like the prefix directory: user files at PATH/NAME, SCR's files in the
// directory .scr of the dataset directory. Modes, owners and times are those of
// the meta data; an owner that the file system does not let us give is left.
//
// It returns, for each rank that is whole and durable in the stage, the meta
// data of the files it copied, with the checksums found. When the error is nil
// these are all ranks of the part. A file whose size or checksum differs from
// its meta data gives scr.ErrCorrupt, one that is missing scr.ErrIncomplete, a
// full stage scr.ErrNoSpace; each names dataset, rank and file. The first error
// ends the copy, but with Redundancy set an error of a source leaves out only
// its rank.
//
// After a crash or an error it may be called again. Files that an earlier call
// brought into the stage are copied again unless the rank was finished and both
// checksums are known and equal.
func CopyPart(ctx context.Context, p Part, stage disk.FS, o Options) (map[scr.Rank][]scr.FileMeta, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	c := newCopier(p, stage, o)
	ranks, err := p.ranks()
	if err == nil {
		err = c.copyAll(ctx, ranks)
	}
	done := map[scr.Rank][]scr.FileMeta{}
	var errs []error
	for _, rp := range ranks {
		if rp.err != nil {
			errs = append(errs, fmt.Errorf("rank %d: %w", rp.rank, rp.err))
		} else if err == nil {
			done[rp.rank] = rp.metas()
		}
	}
	if err := errors.Join(append(errs, err)...); err != nil {
		if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
			err = fmt.Errorf("%w: %w", scr.ErrNoSpace, err)
		}
		return done, fmt.Errorf("flush dataset %d: %w", p.Dataset, err)
	}
	return done, nil
}

func (rp *rankPart) metas() []scr.FileMeta {
	list := make([]scr.FileMeta, len(rp.files))
	for i, f := range rp.files {
		list[i] = f.meta
	}
	return list
}

// copier is one call of CopyPart.
type copier struct {
	part    Part
	stage   disk.FS
	options Options
	limit   *rate.Limiter
	dirs    madeDirs

	mu    sync.Mutex
	bytes int64
}

func newCopier(p Part, stage disk.FS, o Options) *copier {
	if o.Width == 0 {
		o.Width = defaultWidth
	}
	if o.BufBytes == 0 {
		o.BufBytes = defaultBufBytes
	}
	c := &copier{part: p, stage: stage, options: o, limit: rate.NewLimiter(rate.Inf, 0)}
	if o.BytesPerSecond > 0 {
		c.limit = rate.NewLimiter(rate.Limit(o.BytesPerSecond), o.BufBytes)
	}
	return c
}

// copyAll copies all files, makes the directories durable and then writes the
// filemaps. The error is one of the stage or, without Redundancy, of a source.
func (c *copier) copyAll(ctx context.Context, ranks []*rankPart) error {
	var work []*file
	for _, rp := range ranks {
		if rp.err != nil {
			if !c.part.Redundancy {
				return nil // reported with its rank
			}
			continue
		}
		done, err := c.reuse(rp)
		if err != nil {
			return fmt.Errorf("rank %d: %w", rp.rank, err)
		}
		if !done {
			work = append(work, rp.files...)
		}
	}
	if err := c.copyFiles(ctx, work); err != nil {
		return err
	}
	if err := c.syncDirs(ranks); err != nil {
		return err
	}
	for _, rp := range ranks {
		if rp.err != nil {
			continue
		}
		if err := c.finish(rp); err != nil {
			return fmt.Errorf("rank %d: %w", rp.rank, err)
		}
	}
	return nil
}

// errSource marks an error that lies in the cache, not in the stage.
type errSource struct{ error }

func (e errSource) Unwrap() error { return e.error }

// copyFiles copies files, several at a time, until one fails for good.
func (c *copier) copyFiles(ctx context.Context, work []*file) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var wg sync.WaitGroup
	next := make(chan *file)
	for range min(c.options.Width, len(work)) {
		wg.Add(1)
		go func() {
			defer wg.Done()
			buf := make([]byte, c.options.BufBytes)
			for f := range next {
				if ctx.Err() != nil || c.leftOut(f.of) {
					continue
				}
				err := c.copyFile(ctx, f, buf)
				var source errSource
				switch {
				case err == nil:
				case errors.As(err, &source) && c.part.Redundancy && ctx.Err() == nil:
					c.leaveOut(f.of, err)
				default:
					cancel(fmt.Errorf("rank %d: %w", f.of.rank, err))
				}
			}
		}()
	}
	for _, f := range work {
		next <- f
	}
	close(next)
	wg.Wait()
	return context.Cause(ctx)
}

func (c *copier) leftOut(rp *rankPart) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return rp.err != nil
}

func (c *copier) leaveOut(rp *rankPart, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if rp.err == nil {
		rp.err = err
	}
}

// count adds to the bytes that are copied.
func (c *copier) count(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.bytes += int64(n)
	if c.options.Progress != nil {
		c.options.Progress(c.bytes)
	}
}

// syncDirs makes the entries of all directories durable that lead to the files
// of the part, the lowest first. Files that were there already count as well:
// their directory may have been made by another node that crashed.
func (c *copier) syncDirs(ranks []*rankPart) error {
	dirs := map[string]bool{".": true}
	for _, rp := range ranks {
		for _, f := range rp.files {
			for dir := path.Dir(f.dst); !dirs[dir] && rp.err == nil; dir = path.Dir(dir) {
				dirs[dir] = true
			}
		}
	}
	list := make([]string, 0, len(dirs))
	for dir := range dirs {
		list = append(list, dir)
	}
	slices.SortFunc(list, func(a, b string) int {
		if d := strings.Count(b, "/") - strings.Count(a, "/"); d != 0 && a != "." && b != "." {
			return d
		}
		return strings.Compare(b, a) // "." last
	})
	for _, dir := range list {
		if err := c.stage.SyncDir(dir); err != nil {
			return fmt.Errorf("sync directory %s: %w", dir, err)
		}
	}
	return nil
}

// madeDirs makes each directory once.
type madeDirs struct {
	mu   sync.Mutex
	made map[string]bool
}

func (d *madeDirs) make(stage disk.FS, dir string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.made[dir] {
		return nil
	}
	if err := disk.MkdirAll(stage, dir, 0o777); err != nil {
		return err
	}
	if d.made == nil {
		d.made = map[string]bool{}
	}
	d.made[dir] = true
	return nil
}
