package peer

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"testing"
	"time"
)

// dial connects to a transport as a stranger would.
func dial(t *testing.T, n Transport) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", n.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if err := c.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	return c
}

func TestWithoutTheSecretNothingIsAnswered(t *testing.T) {
	o := options(t, "node1")
	o.Log, o.Plain = nil, true
	n := world{"plain", New}.node(t, o, nil)
	for name, said := range map[string][]byte{
		"http":       []byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n" + string(make([]byte, 200))),
		"zeros":      make([]byte, 4096),
		"magic only": append([]byte(greetMagic+"g"), make([]byte, 4096)...),
		"no proof":   append([]byte(greetMagic+"b"+string(make([]byte, nonceBytes))+"\x05node0\x05node1"), make([]byte, 4096)...),
	} {
		c := dial(t, n)
		_, _ = c.Write(said)
		// An answer would be read before the end; a reset is an end too.
		if got, _ := io.ReadAll(c); len(got) > 0 {
			t.Errorf("%s: answered %q", name, got)
		}
	}
}

// tapped records what is written to a connection.
type tapped struct {
	net.Conn
	said bytes.Buffer
}

func (c *tapped) Write(p []byte) (int, error) {
	c.said.Write(p)
	return c.Conn.Write(p)
}

func TestRecordedGreetingIsOfNoUse(t *testing.T) {
	o := options(t, "node1")
	o.Log, o.Plain = nil, true
	n := world{"plain", New}.node(t, o, func(n Transport) {
		n.HandleStream("x", func(context.Context, NodeID, []byte, Stream) error {
			t.Error("a recorded greeting was served")
			return nil
		})
	})
	g, err := newGreeter(secret, true)
	if err != nil {
		t.Fatal(err)
	}
	c := &tapped{Conn: dial(t, n)}
	if err := g.call(c, protoBulk, "node0", "node1"); err != nil {
		t.Fatal(err)
	}
	again := dial(t, n)
	if _, err := again.Write(c.said.Bytes()); err != nil {
		t.Fatal(err)
	}
	var challenge [1 + nonceBytes + 32]byte
	if _, err := io.ReadFull(again, challenge[:]); err != nil {
		t.Fatal(err)
	}
	s := newStream("node1", newBulkConn(again))
	_ = s.writeFrame(frameOpen, appendString(nil, "x"))
	if got, _ := io.ReadAll(again); len(got) > 0 {
		t.Errorf("answered %x", got)
	}
}

func TestKeyOfAnotherSecretIsNotAccepted(t *testing.T) {
	o := options(t, "node1")
	o.Log = nil
	n := world{"tls", New}.node(t, o, nil)
	_, other, err := tlsConfigs(bytes.Repeat([]byte("another!"), 4))
	if err != nil {
		t.Fatal(err)
	}
	_, right, err := tlsConfigs(secret)
	if err != nil {
		t.Fatal(err)
	}
	for name, spoil := range map[string]func(*tls.Config){
		"another key":      func(c *tls.Config) { c.Certificates = other.Certificates },
		"no certificate":   func(c *tls.Config) { c.Certificates = nil },
		"unknown protocol": func(c *tls.Config) { c.NextProtos = []string{"h2"} },
		"TLS 1.2":          func(c *tls.Config) { c.MinVersion, c.MaxVersion = tls.VersionTLS12, tls.VersionTLS12 },
	} {
		c := right.Clone()
		c.NextProtos = []string{string(protoBulk)}
		spoil(c)
		conn := tls.Client(dial(t, n), c)
		err := conn.Handshake()
		if err == nil {
			// In TLS 1.3 the listener's verdict comes with the first read.
			_, err = conn.Read(make([]byte, 1))
		}
		if err == nil || isTimeout(err) { // it was waited for what comes next
			t.Errorf("%s: accepted (%v)", name, err)
		}
	}
	// And the other way round: a listener that has another key.
	c := other.Clone()
	c.NextProtos = []string{string(protoBulk)}
	if err := tls.Client(dial(t, n), c).Handshake(); !errors.Is(err, ErrRefused) {
		t.Errorf("listener of another secret: %v", err)
	}
}

func TestFrozenPeerCostsTimeOnly(t *testing.T) {
	// The kernel of a frozen process accepts connections and takes bytes.
	frozen, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer frozen.Close()
	for _, w := range worlds()[:2] {
		t.Run(w.name, func(t *testing.T) {
			n := w.node(t, options(t, "node0"), nil)
			n.SetMember(Member{"node1", frozen.Addr().String()})
			ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
			defer cancel()
			if _, err := n.Call(ctx, "node1", "x", nil); !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, ErrUnreachable) {
				t.Errorf("call: %v", err)
			}
			ctx, cancel = context.WithTimeout(context.Background(), 50*time.Millisecond)
			defer cancel()
			if _, err := n.Open(ctx, "node1", "x", nil); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("open: %v", err)
			}
			n.Close() // is not held up by it
		})
	}
}

func TestBothSidesMustAgreeAboutTheTransport(t *testing.T) {
	o := options(t, "node1")
	o.Log, o.Plain = nil, true
	plain := world{"plain", New}.node(t, o, nil)
	n := world{"tls", New}.node(t, options(t, "node0"), nil)
	n.SetMember(Member{"node1", plain.Addr()})
	if _, err := n.Call(bg(t), "node1", "x", nil); !errors.Is(err, ErrUnreachable) {
		t.Errorf("TLS to plain: %v", err)
	}
}

func FuzzGreeting(f *testing.F) {
	g, err := newGreeter(secret, true)
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte(greetMagic))
	f.Add(append([]byte(greetMagic+"b"+string(make([]byte, nonceBytes))+"\x05node0\x05node1"), make([]byte, 32)...))
	said := []byte(greetMagic + "g" + string(make([]byte, nonceBytes)) + "\x05node0\x05node1")
	f.Add(append(said, g.mac("hello", said)...))
	f.Fuzz(func(t *testing.T, b []byte) {
		h, heard, err := g.readHello(bytes.NewReader(b))
		if err != nil {
			return
		}
		// Only who holds the key gets here.
		if !bytes.HasPrefix(b, heard) || h.from == "" || !bytes.HasSuffix(heard, g.mac("hello", heard[:len(heard)-32])) {
			t.Errorf("accepted %x as %+v", b, h)
		}
	})
}
