package disk

import (
	"io"
	"io/fs"
	"sync"
	"syscall"
)

func (m *Mem) Lock(name string, exclusive bool) (io.Closer, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for {
		n, err := m.open(name, syscall.O_RDWR|syscall.O_CREAT, 0o600)
		if err != nil {
			return nil, m.fail("lock", name, err)
		}
		if n.tryLock(exclusive) {
			return &memLock{state: m.memState, node: n, exclusive: exclusive}, nil
		}
		m.unlocked.Wait() // and look again: the name may mean another file now
	}
}

func (n *memNode) tryLock(exclusive bool) bool {
	switch {
	case n.writer || exclusive && n.readers > 0:
		return false
	case exclusive:
		n.writer = true
	default:
		n.readers++
	}
	return true
}

type memLock struct {
	state     *memState
	node      *memNode
	exclusive bool
	once      sync.Once
}

func (l *memLock) Close() error {
	err := fs.ErrClosed
	l.once.Do(func() {
		l.state.mu.Lock()
		defer l.state.mu.Unlock()
		if l.exclusive {
			l.node.writer = false
		} else {
			l.node.readers--
		}
		l.state.unlocked.Broadcast()
		err = nil
	})
	return err
}
