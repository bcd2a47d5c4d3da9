package daemon

import (
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/scrfs/scrfs/internal/disk"
	"github.com/scrfs/scrfs/resource"
	"github.com/scrfs/scrfs/router"
	"github.com/scrfs/scrfs/scr"
	"github.com/scrfs/scrfs/space"
)

// room is what this node knows of the space in its cache.
type room struct {
	limits space.Limits
	usage  func() (disk.Usage, error)
	memory *resource.Memory

	mu        sync.Mutex
	sizes     space.Sizes
	promised  int64 // bytes
	memFree   int64 // as asked for at memAsked
	memLimit  bool
	memAsked  time.Time
	spilledOf scr.DatasetID // the newest that was told of
	shortOf   scr.DatasetID
	files     int64 // spilled so far
	bytes     int64 // of them that were in the cache before
}

// memoryAge is how old an answer about the memory limit may be: asking costs
// more than creating a file.
const memoryAge = 100 * time.Millisecond

func newRoom(limits space.Limits, usage func() (disk.Usage, error)) *room {
	return &room{limits: limits, usage: usage, memory: resource.NewMemory("/proc", "/sys/fs/cgroup")}
}

// cache tells how full the cache is.
func (r *room) cache() (space.Cache, error) {
	u, err := r.usage()
	if err != nil {
		return space.Cache{}, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	c := space.Cache{TotalBytes: u.TotalBytes, FreeBytes: u.FreeBytes, PromisedBytes: r.promised}
	if u.FSType == "tmpfs" || u.FSType == "ramfs" {
		c.FreeBytes = r.withinMemory(c.FreeBytes)
	}
	return c, nil
}

// full tells whether so many bytes more in a cache file would leave too little.
func (r *room) full(f disk.File, bytes int64) bool {
	fd, ok := f.Fd()
	if !ok {
		return false
	}
	var st unix.Statfs_t
	if err := unix.Fstatfs(int(fd), &st); err != nil {
		return false // the write itself will tell
	}
	c := space.Cache{TotalBytes: int64(st.Blocks) * st.Bsize, FreeBytes: int64(st.Bavail) * st.Bsize}
	if st.Type == unix.TMPFS_MAGIC || st.Type == unix.RAMFS_MAGIC {
		r.mu.Lock()
		c.FreeBytes = r.withinMemory(c.FreeBytes)
		r.mu.Unlock()
	}
	return r.limits.Full(c, bytes)
}

// withinMemory is what of so many bytes the memory limit allows. Mu is held.
func (r *room) withinMemory(bytes int64) int64 {
	if now := time.Now(); now.Sub(r.memAsked) > memoryAge {
		r.memFree, r.memLimit = r.memory.FreeBytes()
		r.memAsked = now
	}
	if r.memLimit {
		return min(bytes, r.memFree)
	}
	return bytes
}

// decide says who is to write a file, and promises the room.
func (r *room) decide(p string, empty bool, redundancy func(int64) int64) (space.Decision, error) {
	c, err := r.cache()
	if err != nil {
		return space.Decision{}, err
	}
	pattern, _ := router.Family(p)
	r.mu.Lock()
	defer r.mu.Unlock()
	f := space.File{Empty: empty, RedundancyBytes: redundancy(r.sizes.Dataset())}
	f.ExpectedBytes, f.Known = r.sizes.Expect(pattern)
	c.PromisedBytes = r.promised
	d := r.limits.Decide(c, f)
	if d.Kernel {
		r.promised += d.Bytes
	}
	return d, nil
}

// giveBack takes a promise back.
func (r *room) giveBack(bytes int64) {
	r.mu.Lock()
	r.promised -= bytes
	r.mu.Unlock()
}

// learn notes the size of a file that was written, and by how much it grew.
func (r *room) learn(p string, id scr.DatasetID, bytes, grownBytes int64) {
	pattern, _ := router.Family(p)
	r.mu.Lock()
	r.sizes.Note(pattern, id, bytes, grownBytes)
	r.mu.Unlock()
}

// nextBytes is the size that the next dataset will have here.
func (r *room) nextBytes() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.sizes.Dataset()
}

func (r *room) count(bytes int64) {
	r.mu.Lock()
	r.files++
	r.bytes += bytes
	r.mu.Unlock()
}

// first tells whether this is the first time that something is said of a
// dataset; last is where the newest is kept.
func (r *room) first(last *scr.DatasetID, id scr.DatasetID) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if *last >= id {
		return false
	}
	*last = id
	return true
}

// SpaceStatus is how full the cache of this node is.
type SpaceStatus struct {
	TotalBytes int64 `json:"total_bytes"`
	FreeBytes  int64 `json:"free_bytes"` // within the job's memory limit
	// Files that were moved to the prefix directory for want of room, and what
	// of them was in the cache before.
	SpilledFiles int64 `json:"spilled_files"`
	MovedBytes   int64 `json:"moved_bytes"`
}

func (r *room) status() SpaceStatus {
	c, err := r.cache()
	if err != nil {
		c = space.Cache{} // a cache that was taken away has none
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return SpaceStatus{TotalBytes: c.TotalBytes, FreeBytes: c.FreeBytes, SpilledFiles: r.files, MovedBytes: r.bytes}
}
