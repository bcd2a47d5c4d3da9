package prefixfs

import (
	"sync/atomic"
	"time"
)

// pool bounds the calls to the file system that are under way and knows since
// when each of them is.
type pool struct {
	free    chan int       // numbers of idle slots
	started []atomic.Int64 // per slot: start in nanoseconds since epoch, 0 when idle
	epoch   time.Time
}

func newPool(calls int) *pool {
	p := &pool{free: make(chan int, calls), started: make([]atomic.Int64, calls), epoch: time.Now()}
	for i := range calls {
		p.free <- i
	}
	return p
}

// do runs fn in this goroutine as soon as fewer than the allowed number of
// calls are under way.
func (p *pool) do(fn func() error) error {
	slot := <-p.free
	// 1 is added because 0 stands for an idle slot.
	p.started[slot].Store(int64(time.Since(p.epoch)) + 1)
	defer func() {
		p.started[slot].Store(0)
		p.free <- slot
	}()
	return fn()
}

// oldest returns how long the call that started first has been under way; 0 if
// none is.
func (p *pool) oldest() time.Duration {
	now := int64(time.Since(p.epoch)) + 1
	var longest int64
	for i := range p.started {
		if s := p.started[i].Load(); s != 0 {
			longest = max(longest, now-s)
		}
	}
	return time.Duration(longest)
}
