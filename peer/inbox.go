package peer

import (
	"net"
	"sync"
)

// namedConn is an authenticated connection and who is at its other end.
type namedConn struct {
	net.Conn
	peer NodeID
}

// inbox is the net.Listener that hands greeted connections to gRPC.
type inbox struct {
	addr  net.Addr
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func newInbox(a net.Addr) *inbox {
	return &inbox{addr: a, conns: make(chan net.Conn), done: make(chan struct{})}
}

func (i *inbox) put(c net.Conn) {
	select {
	case i.conns <- c:
	case <-i.done:
		c.Close()
	}
}

func (i *inbox) Accept() (net.Conn, error) {
	select {
	case c := <-i.conns:
		return c, nil
	case <-i.done:
		return nil, net.ErrClosed
	}
}

func (i *inbox) Close() error {
	i.once.Do(func() { close(i.done) })
	return nil
}

func (i *inbox) Addr() net.Addr { return i.addr }
