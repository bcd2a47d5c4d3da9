package indexer

import (
	"context"
	"errors"
	"hash/crc32"
	"io"
	"os"
	"sync"
	"sync/atomic"

	"github.com/scrfs/scrfs/internal/disk"
	"github.com/scrfs/scrfs/scr"
)

// parallel calls do for 0 to n-1, workers at a time, and returns the first
// error. After an error, or when ctx is done, no more are begun.
func parallel(ctx context.Context, n, workers int, do func(i int) error) error {
	workers = min(workers, n)
	if workers <= 1 {
		for i := range n {
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := do(i); err != nil {
				return err
			}
		}
		return ctx.Err()
	}
	var next atomic.Int64
	var failed atomic.Bool
	var once sync.Once
	var first error
	var running sync.WaitGroup
	for range workers {
		running.Go(func() {
			for !failed.Load() && ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				if err := do(i); err != nil {
					once.Do(func() { first = err })
					failed.Store(true)
					return
				}
			}
		})
	}
	running.Wait()
	if first != nil {
		return first
	}
	return ctx.Err()
}

// checksumBytes is the buffer for reading: large enough for the file system to
// read ahead, small enough for the second level cache.
const checksumBytes = 256 << 10

var checksumBuffers = sync.Pool{New: func() any { b := make([]byte, checksumBytes); return &b }}

// checksum reads a file from start to end.
func checksum(ctx context.Context, fsys disk.FS, name string, meter *meter) (crc scr.CRC, err error) {
	f, err := fsys.OpenFile(name, os.O_RDONLY, 0)
	if err != nil {
		return 0, err
	}
	defer f.Close() // read only: nothing can be lost
	buf := checksumBuffers.Get().(*[]byte)
	defer checksumBuffers.Put(buf)
	var sum uint32
	for {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		n, err := f.Read(*buf)
		sum = crc32.Update(sum, crc32.IEEETable, (*buf)[:n])
		meter.bytes(n)
		if errors.Is(err, io.EOF) {
			return scr.CRC(sum), nil
		}
		if err != nil {
			return 0, err
		}
	}
}

// meter adds up progress of several goroutines.
type meter struct {
	mu   sync.Mutex
	tell func(Progress)
	p    Progress
}

func newMeter(tell func(Progress), step string, totalBytes int64) *meter {
	return &meter{tell: tell, p: Progress{Step: step, TotalBytes: totalBytes}}
}

func (m *meter) bytes(n int) {
	m.add(func(p *Progress) { p.DoneBytes += int64(n) })
}

func (m *meter) file() {
	m.add(func(p *Progress) { p.Files++ })
}

func (m *meter) add(change func(*Progress)) {
	if m.tell == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	change(&m.p)
	m.tell(m.p)
}
