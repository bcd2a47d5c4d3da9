package space

import (
	"fmt"

	"github.com/scrfs/scrfs/scr"
)

// Limits is the policy.
type Limits struct {
	// AmpleBytes is how much must be free, besides half of the cache, for a
	// file of unknown size to be written by the kernel. Default 8 GiB.
	AmpleBytes int64
	// ReserveBytes is kept free for the daemon's own state and for redundancy
	// files, but never more than a sixteenth of the cache. Default 256 MiB.
	ReserveBytes int64
}

// Default returns the limits of a node's memory.
func Default() Limits { return Limits{AmpleBytes: 8 << 30, ReserveBytes: 256 << 20} }

// Validate tells which value makes no sense.
func (l Limits) Validate() error {
	if l.AmpleBytes < 0 || l.ReserveBytes < 0 {
		return fmt.Errorf("space limits %d and %d bytes: %w", l.AmpleBytes, l.ReserveBytes, scr.ErrInvalid)
	}
	return nil
}

// reserveShare is the part of a small cache that is kept free at most.
const reserveShare = 16

// Reserve is what is kept free of a cache of that size, in bytes.
func (l Limits) Reserve(totalBytes int64) int64 {
	return min(l.ReserveBytes, totalBytes/reserveShare)
}

// Cache is how full a cache is.
type Cache struct {
	TotalBytes int64
	// FreeBytes is what can still be written: free in the file system and, if
	// that is memory, within the job's limit.
	FreeBytes int64
	// PromisedBytes of it are meant for files that are open, and not yet taken
	// from the file system.
	PromisedBytes int64
}

func (c Cache) left() int64 { return c.FreeBytes - c.PromisedBytes }

// File is what is known of a file that is about to be written.
type File struct {
	// Empty: nothing of it is there yet, or all of it is thrown away.
	Empty bool
	// Known: the last file of this pattern had ExpectedBytes.
	Known         bool
	ExpectedBytes int64
	// RedundancyBytes is what protecting the dataset will take.
	RedundancyBytes int64
}

// Decision is what is to be done with the file.
type Decision struct {
	// Kernel: the kernel may write it by itself.
	Kernel bool
	// Bytes it will need. With SetAside they are to be reserved in the file
	// system first; if that fails, the daemon writes it. Else they are promised.
	Bytes    int64
	SetAside bool
	// Short: older datasets are in the way.
	Short bool
}

// slackShare is by which part a file may exceed the last of its pattern.
const slackShare = 16

// Decide decides of one file.
func (l Limits) Decide(c Cache, f File) Decision {
	reserve := l.Reserve(c.TotalBytes)
	if !f.Known || !f.Empty {
		return Decision{Kernel: l.ample(c, 0), Short: c.left() < reserve}
	}
	d := Decision{Bytes: f.ExpectedBytes + f.ExpectedBytes/slackShare}
	if c.left() < d.Bytes+f.RedundancyBytes+reserve {
		return Decision{Short: true}
	}
	d.Kernel, d.SetAside = true, !l.ample(c, d.Bytes)
	return d
}

// ample tells whether there is room for a file of any likely size beside what
// is known to be needed.
func (l Limits) ample(c Cache, needBytes int64) bool {
	left := c.left() - needBytes
	return left > c.TotalBytes/2 && left > l.AmpleBytes
}

// Full tells whether so many bytes more would eat into the reserve.
func (l Limits) Full(c Cache, bytes int64) bool {
	return c.FreeBytes-bytes < l.Reserve(c.TotalBytes)
}
