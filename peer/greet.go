package peer

import (
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"io"
)

// The greeting opens every connection, inside TLS or in clear. The caller says
// what it wants, who it is and whom it means, and proves the secret at once; so
// whoever lacks it gets no answer at all. The listener proves it over both
// sides' random numbers, the caller again: a recorded greeting is of no use.
//
//	caller → magic(8) protocol(1) nonce(32) len(1) from len(1) to mac(32)
//	listener → verdict(1) nonce(32) mac(32)
//	caller → mac(32)
//
// Each mac is HMAC-SHA-256 over everything sent before it and a label.
const greetMagic = "scrfs/1\n"

// What a connection is for; also the names that ALPN separates.
type protocol string

const (
	protoCalls protocol = "scrfs-grpc"
	protoBulk  protocol = "scrfs-bulk"
)

func (p protocol) code() byte {
	if p == protoCalls {
		return 'g'
	}
	return 'b'
}

const (
	nonceBytes = 32
	verdictYes = 1
	verdictNot = 2 // the listener is another node than the one meant
)

// greeter knows the key of the greeting: one for TLS, another in clear, so that
// nothing heard of one is of use in the other.
type greeter struct{ key []byte }

func newGreeter(secret []byte, plain bool) (greeter, error) {
	use := "scrfs greeting tls"
	if plain {
		use = "scrfs greeting plain"
	}
	key, err := hkdf.Key(sha256.New, secret, nil, use, sha256.Size)
	return greeter{key}, err
}

func (g greeter) mac(label string, said []byte) []byte {
	m := hmac.New(sha256.New, g.key)
	m.Write([]byte(label))
	m.Write([]byte{0})
	m.Write(said)
	return m.Sum(nil)
}

// call greets as the caller. The connection's deadline is the caller's affair.
func (g greeter) call(c io.ReadWriter, p protocol, from, to NodeID) error {
	said := append([]byte(greetMagic), p.code())
	said = append(said, nonce()...)
	said = append(said, byte(len(from)))
	said = append(said, from...)
	said = append(said, byte(len(to)))
	said = append(said, to...)
	said = append(said, g.mac("hello", said)...)
	if _, err := c.Write(said); err != nil {
		return fmt.Errorf("greet %s: %w", to, err)
	}
	var heard [1 + nonceBytes + sha256.Size]byte
	if _, err := io.ReadFull(c, heard[:]); err != nil {
		return fmt.Errorf("greet %s: no answer (another secret, or another transport?): %w", to, err)
	}
	said = append(said, heard[:1+nonceBytes]...)
	if !hmac.Equal(heard[1+nonceBytes:], g.mac("challenge", said)) {
		return fmt.Errorf("greet %s: wrong proof of the secret: %w", to, ErrRefused)
	}
	if heard[0] != verdictYes {
		return fmt.Errorf("greet %s: another node listens there: %w", to, ErrRefused)
	}
	if _, err := c.Write(g.mac("proof", said)); err != nil {
		return fmt.Errorf("greet %s: %w", to, err)
	}
	return nil
}

// answer greets as the listener and returns what the caller wants and its name.
// It answers nothing to a caller that does not prove the secret first.
func (g greeter) answer(c io.ReadWriter, self NodeID) (p protocol, from NodeID, err error) {
	h, said, err := g.readHello(c)
	if err != nil {
		return "", "", err
	}
	verdict := byte(verdictYes)
	if h.to != self {
		verdict = verdictNot
	}
	said = append(said, verdict)
	said = append(said, nonce()...)
	challenge := said[len(said)-1-nonceBytes:]
	challenge = append(challenge[:len(challenge):len(challenge)], g.mac("challenge", said)...)
	if _, err := c.Write(challenge); err != nil {
		return "", "", fmt.Errorf("answer %s: %w", h.from, err)
	}
	if verdict != verdictYes {
		return "", "", fmt.Errorf("%s looked for node %s here: %w", h.from, h.to, ErrRefused)
	}
	var proof [sha256.Size]byte
	if _, err := io.ReadFull(c, proof[:]); err != nil {
		return "", "", fmt.Errorf("%s gave no proof: %w", h.from, err)
	}
	if !hmac.Equal(proof[:], g.mac("proof", said)) {
		return "", "", fmt.Errorf("%s repeated a greeting of another: %w", h.from, ErrRefused)
	}
	return h.protocol, h.from, nil
}

type hello struct {
	protocol protocol
	from, to NodeID
}

// readHello reads the first message and checks its proof; said is its bytes.
func (g greeter) readHello(r io.Reader) (h hello, said []byte, err error) {
	said = make([]byte, len(greetMagic)+1+nonceBytes, 256)
	if _, err := io.ReadFull(r, said); err != nil {
		return h, nil, fmt.Errorf("no greeting: %w", err)
	}
	if string(said[:len(greetMagic)]) != greetMagic {
		return h, nil, fmt.Errorf("no greeting of scrfs: %w", ErrRefused)
	}
	switch said[len(greetMagic)] {
	case protoCalls.code():
		h.protocol = protoCalls
	case protoBulk.code():
		h.protocol = protoBulk
	default:
		return h, nil, fmt.Errorf("unknown protocol %q: %w", said[len(greetMagic)], ErrRefused)
	}
	for _, name := range []*NodeID{&h.from, &h.to} {
		if said, err = readMore(r, said, 1); err != nil {
			return h, nil, err
		}
		n := int(said[len(said)-1])
		if said, err = readMore(r, said, n); err != nil {
			return h, nil, err
		}
		*name = NodeID(said[len(said)-n:])
	}
	mac := g.mac("hello", said)
	if said, err = readMore(r, said, len(mac)); err != nil {
		return h, nil, err
	}
	if !hmac.Equal(said[len(said)-len(mac):], mac) || h.from == "" {
		return h, nil, fmt.Errorf("no proof of the job's secret: %w", ErrRefused)
	}
	return h, said, nil
}

func readMore(r io.Reader, b []byte, n int) ([]byte, error) {
	b = append(b, make([]byte, n)...)
	if _, err := io.ReadFull(r, b[len(b)-n:]); err != nil {
		return nil, fmt.Errorf("greeting broke off: %w", err)
	}
	return b, nil
}

func nonce() []byte {
	b := make([]byte, nonceBytes)
	rand.Read(b) // never fails; crashes the process if the kernel has none
	return b
}
