package indexer

import (
	"fmt"
	"io"
	"log/slog"
	"path"
	"runtime"
	"time"

	"github.com/scrfs/scrfs/internal/disk"
	"github.com/scrfs/scrfs/scr"
)

// Options says how an Indexer works. The zero value is good.
type Options struct {
	// NoCRC leaves the checksums of files unread: only names and sizes count.
	NoCRC bool
	// Workers is how many files are looked at, and how many redundancy sets are
	// rebuilt, at the same time. 0 is the number of processors.
	Workers int
	// MemBytes bounds the buffers of a rebuild. 0 is 64 MiB.
	MemBytes int64
	// Progress is told how far long work has come, from one goroutine at a
	// time; nil for nobody.
	Progress func(Progress)
	// Log gets one line per change of state; nil for none.
	Log *slog.Logger
	// Now is the clock for FLUSHED; nil is time.Now.
	Now func() time.Time
}

// Progress says how far a scan or a rebuild has come.
type Progress struct {
	Step       string // "scan" or "rebuild"
	DoneBytes  int64  // read or written
	TotalBytes int64  // 0 if not known
	Files      int    // looked at or written
}

// Indexer works on one prefix directory. It may be used by several goroutines
// at once, and by several processes.
type Indexer struct {
	prefix disk.FS
	dir    string // absolute
	o      Options
	log    *slog.Logger
}

// New returns an Indexer of a prefix directory. prefixDir is its absolute path,
// for messages and for the PATH of files in the oldest records.
func New(prefix disk.FS, prefixDir string, o Options) *Indexer {
	if o.Workers <= 0 {
		o.Workers = runtime.GOMAXPROCS(0)
	}
	if o.MemBytes <= 0 {
		o.MemBytes = 64 << 20
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	log := o.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Indexer{prefix: prefix, dir: prefixDir, o: o, log: log}
}

// own is the family of what scrfs itself creates.
var own = scr.Paths{Family: scr.F14}

// scrDir is where scrfs keeps its things in a prefix directory and in a stage.
var scrDir = own.Meta()

const dirPerm = 0o755

// lock keeps other processes from moving names while this one does.
func (x *Indexer) lock(p scr.Paths) (io.Closer, error) {
	if err := disk.MkdirAll(x.prefix, p.Meta(), dirPerm); err != nil {
		return nil, err
	}
	l, err := x.prefix.Lock(path.Join(p.Meta(), "scrfs.lock"), true)
	if err != nil {
		return nil, fmt.Errorf("lock prefix directory %s: %w", x.dir, err)
	}
	return l, nil
}

// lockRebuild keeps two from rebuilding into the same names.
func (x *Indexer) lockRebuild(p scr.Paths) (io.Closer, error) {
	if err := disk.MkdirAll(x.prefix, p.Meta(), dirPerm); err != nil {
		return nil, err
	}
	l, err := x.prefix.Lock(path.Join(p.Meta(), "rebuild.lock"), true)
	if err != nil {
		return nil, fmt.Errorf("lock prefix directory %s: %w", x.dir, err)
	}
	return l, nil
}
