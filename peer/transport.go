package peer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"
)

// NodeID is the name of a node as the resource manager knows it: "node3".
type NodeID string

// Member is a node of the job and where it listens, as host:port.
type Member struct {
	Name NodeID
	Addr string
}

// CallHandler answers one call. The context ends when the caller gives up, as
// far as that can be known, and when the transport closes; a handler must end
// then, because Close waits for it. The request belongs to the handler.
type CallHandler func(ctx context.Context, from NodeID, req []byte) ([]byte, error)

// StreamHandler serves one bulk stream. When it returns nil the stream's end
// is sent, unless it was before; when it returns an error, the other side's
// next Read returns that error. The stream is closed after it.
type StreamHandler func(ctx context.Context, from NodeID, header []byte, s Stream) error

// Transport is one node's side of the network of a job. All methods but Handle
// and HandleStream may be called at any time from any goroutine.
type Transport interface {
	// Self is the own name.
	Self() NodeID
	// Members lists the members, sorted by name, with their latest addresses.
	Members() []Member
	// Handle registers the handler of a method, HandleStream that of a kind
	// of stream. Both panic when called after Start or twice for one name.
	Handle(method string, h CallHandler)
	HandleStream(kind string, h StreamHandler)
	// Start listens, and begins to ask the other members whether they live.
	Start() error
	// Close ends all calls and streams, waits for the handlers, and leaves no
	// goroutine or socket behind. Closing twice is allowed.
	Close() error
	// Addr is the address actually listened on; empty before Start.
	Addr() string
	// Call sends a request and waits for the answer, until ctx ends; a ctx
	// without deadline gets Options.CallTimeout. Errors: a *RemoteError that
	// the handler gave, ErrUnreachable, ErrTooLarge, ErrUnknownMember,
	// ErrClosed, or that of ctx.
	Call(ctx context.Context, to NodeID, method string, req []byte) ([]byte, error)
	// Open begins a bulk stream and returns when the other side has a handler
	// for it. The opening takes CallTimeout at most; the stream lives until it
	// is closed, ctx ends, or the peer is found to be down.
	Open(ctx context.Context, to NodeID, kind string, header []byte) (Stream, error)
	// Alive is true until calls and heartbeats to a member have failed for
	// Options.DownAfter, and again from its next answer on. A member that was
	// never heard of counts as alive for that long. Self is always alive.
	Alive(to NodeID) bool
	// OnChange registers a function that is told each change of Alive, in
	// order, one at a time, on a goroutine of the transport. It must not call
	// Close.
	OnChange(func(to NodeID, alive bool))
	// SetMember adds a member, or gives a known one another address. What is
	// open to the old address stays; new calls go to the new one.
	SetMember(Member)
}

// Stream is one bulk stream. One goroutine may read while another writes.
//
// Read returns io.EOF only after the other side ended its half with CloseWrite
// (or its handler returned nil); a broken connection is io.ErrUnexpectedEOF, a
// damaged frame ErrFrame, a failed handler its *RemoteError.
type Stream interface {
	io.Reader
	io.Writer
	// CloseWrite tells the other side that no more comes. Reading goes on.
	CloseWrite() error
	// Close ends both halves. Without a CloseWrite before it the other side
	// sees a broken stream, unless it ended its own half and was read to that
	// end. Who must know that all was taken calls CloseWrite and reads up to
	// io.EOF, which comes when the other side's handler has returned nil; the
	// connection of such a stream is used again.
	Close() error
	// SetDeadline bounds all Reads and Writes, as that of a net.Conn. A
	// deadline that falls within a frame ends the stream.
	SetDeadline(t time.Time) error
}

// Limits of what is sent in one piece, in bytes.
const (
	// MaxCallBytes bounds a request and an answer.
	MaxCallBytes = 64 << 20
	// MaxHeaderBytes bounds the header of a stream; it travels in one frame,
	// beside the name of the kind.
	MaxHeaderBytes = 1<<20 - 1<<10
	// maxName bounds the names of nodes, methods and kinds.
	maxName = 255
)

// SecretBytes is the length of a job's secret.
const SecretBytes = 32

// Options is what a Transport is made from.
type Options struct {
	// Self is the own name, 1 to 255 bytes.
	Self NodeID
	// Listen is the address to listen on, as host:port; port 0 takes any.
	Listen string
	// Members are the nodes of the job; Self may be among them.
	Members []Member
	// Secret is that of the job, at least 16 bytes.
	Secret []byte
	// Plain sends everything in clear after both sides have proven the
	// secret. Default off: TLS 1.3. All members must agree.
	Plain bool
	// CallTimeout bounds a call whose context has no deadline, and the set-up
	// of a connection. Default 10 s.
	CallTimeout time.Duration
	// DownAfter is how long a peer must be silent to be down. Heartbeats go
	// out five times as often. Default 10 s.
	DownAfter time.Duration
	// Log takes one line per change of a peer's state and per connection
	// turned away. Default: none.
	Log *slog.Logger
}

func (o *Options) validate() error {
	if err := checkName("node", string(o.Self)); err != nil {
		return err
	}
	seen := map[NodeID]bool{}
	for _, m := range o.Members {
		if err := checkName("node", string(m.Name)); err != nil {
			return err
		}
		if seen[m.Name] {
			return fmt.Errorf("member %s is listed twice", m.Name)
		}
		seen[m.Name] = true
	}
	if len(o.Secret) < 16 {
		return fmt.Errorf("secret has %d bytes, needs at least 16", len(o.Secret))
	}
	if o.CallTimeout < 0 || o.DownAfter < 0 {
		return errors.New("timeouts must not be negative")
	}
	if o.CallTimeout == 0 {
		o.CallTimeout = 10 * time.Second
	}
	if o.DownAfter == 0 {
		o.DownAfter = 10 * time.Second
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return nil
}

func checkName(what, name string) error {
	if len(name) == 0 || len(name) > maxName {
		return fmt.Errorf("%s name %q has %d bytes, allowed are 1 to %d", what, name, len(name), maxName)
	}
	return nil
}
