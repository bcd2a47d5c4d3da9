package peer

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sort"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"github.com/scrfs/scrfs/scr"
)

// What a Transport itself has to say.
var (
	// ErrUnreachable: no connection to the peer, or it was lost during the
	// call; whether the call was carried out is not known.
	ErrUnreachable = errors.New("peer cannot be reached")
	// ErrDown: the peer was found to be down while a stream was open.
	ErrDown = errors.New("peer is down")
	// ErrClosed: the transport or the stream is closed.
	ErrClosed = errors.New("transport is closed")
	// ErrUnknownMember: the name is not among the members.
	ErrUnknownMember = errors.New("no such member")
	// ErrNoHandler: the peer has no handler of that name.
	ErrNoHandler = errors.New("peer has no handler for this")
	// ErrTooLarge: a message is larger than the limit.
	ErrTooLarge = errors.New("message is too large")
	// ErrFrame: a frame of a stream was damaged or makes no sense.
	ErrFrame = errors.New("damaged frame")
	// ErrRefused: the other side did not prove the job's secret, or is not
	// the node that was asked for.
	ErrRefused = errors.New("peer is not a member of this job")
)

// RemoteError is an error that a handler on another node returned. Its text is
// that of the original; errors.Is finds the sentinels that RegisterError knows
// and the syscall.Errno, if the original had one. The sentinels of scr, io/fs, io
// and context are known from the start.
type RemoteError struct {
	From    NodeID
	Message string
	is      []error
}

// Error names the node, then says what the handler said.
func (e *RemoteError) Error() string { return fmt.Sprintf("%s: %s", e.From, e.Message) }

// Unwrap returns the sentinels that the original error wrapped.
func (e *RemoteError) Unwrap() []error { return e.is }

var registry = struct {
	sync.RWMutex
	byName map[string]error
}{byName: map[string]error{
	"peer.unreachable":   ErrUnreachable,
	"peer.down":          ErrDown,
	"peer.closed":        ErrClosed,
	"peer.unknownMember": ErrUnknownMember,
	"peer.noHandler":     ErrNoHandler,
	"peer.tooLarge":      ErrTooLarge,
	"peer.frame":         ErrFrame,
	"peer.refused":       ErrRefused,
	"scr.notFound":       scr.ErrNotFound,
	"scr.exists":         scr.ErrExists,
	"scr.invalid":        scr.ErrInvalid,
	"scr.corrupt":        scr.ErrCorrupt,
	"scr.incomplete":     scr.ErrIncomplete,
	"scr.unrecoverable":  scr.ErrUnrecoverable,
	"scr.escape":         scr.ErrEscape,
	"scr.ambiguous":      scr.ErrAmbiguous,
	"scr.noSpace":        scr.ErrNoSpace,
	"scr.busy":           scr.ErrBusy,
	"scr.unsupported":    scr.ErrUnsupported,
	"fs.exist":           fs.ErrExist,
	"fs.notExist":        fs.ErrNotExist,
	"fs.permission":      fs.ErrPermission,
	"fs.invalid":         fs.ErrInvalid,
	"fs.closed":          fs.ErrClosed,
	"io.eof":             io.EOF,
	"io.unexpectedEOF":   io.ErrUnexpectedEOF,
	"context.canceled":   context.Canceled,
	"context.deadline":   context.DeadlineExceeded,
}}

// RegisterError makes errors.Is work over the wire for err: both sides must
// know it under the same name. It is meant for package initialisation and
// panics when the name stands for another error already.
func RegisterError(name string, err error) {
	if err == nil || name == "" || len(name) > maxName || strings.HasPrefix(name, errnoPrefix) {
		panic(fmt.Sprintf("BUG: register error %q: %v", name, err))
	}
	registry.Lock()
	defer registry.Unlock()
	if old, ok := registry.byName[name]; ok && !errors.Is(old, err) {
		panic(fmt.Sprintf("BUG: error name %q stands for %q, not for %q", name, old, err))
	}
	registry.byName[name] = err
}

// An errno travels as its number: all nodes of a job run the same kernel ABI.
const errnoPrefix = "errno."

const (
	maxErrorNames = 64
	maxErrorText  = 64 << 10
)

// encodeError gives the wire form: count of names (1 byte), each with its
// length (1 byte), then the text.
func encodeError(err error) []byte {
	names := sentinelsOf(err)
	text := err.Error()
	// An error that came from a third node keeps the node's name in its text.
	if len(text) > maxErrorText {
		text = text[:maxErrorText]
	}
	b := make([]byte, 0, 64+len(text))
	b = append(b, byte(len(names)))
	for _, n := range names {
		b = append(b, byte(len(n)))
		b = append(b, n...)
	}
	return append(b, text...)
}

func sentinelsOf(err error) []string {
	var names []string
	var errno syscall.Errno
	if errors.As(err, &errno) {
		names = append(names, errnoPrefix+strconv.Itoa(int(errno)))
	}
	registry.RLock()
	defer registry.RUnlock()
	for name, sentinel := range registry.byName {
		if errors.Is(err, sentinel) {
			names = append(names, name)
		}
	}
	sort.Strings(names)
	return names[:min(len(names), maxErrorNames)]
}

// decodeError reads the wire form. Names it does not know are skipped: the
// text still says what happened.
func decodeError(from NodeID, b []byte) error {
	bad := fmt.Errorf("%s: error message of %d bytes: %w", from, len(b), ErrFrame)
	if len(b) == 0 || int(b[0]) > maxErrorNames {
		return bad
	}
	e := &RemoteError{From: from}
	n, b := int(b[0]), b[1:]
	for range n {
		if len(b) == 0 || int(b[0]) > len(b)-1 {
			return bad
		}
		name := string(b[1 : 1+int(b[0])])
		b = b[1+int(b[0]):]
		if sentinel := sentinel(name); sentinel != nil {
			e.is = append(e.is, sentinel)
		}
	}
	if len(b) > maxErrorText {
		return bad
	}
	e.Message = string(b)
	return e
}

func sentinel(name string) error {
	if number, ok := strings.CutPrefix(name, errnoPrefix); ok {
		// 4095 is the largest errno the kernel can return.
		if n, err := strconv.ParseUint(number, 10, 16); err == nil && n > 0 && n <= 4095 {
			return syscall.Errno(n)
		}
		return nil
	}
	registry.RLock()
	defer registry.RUnlock()
	return registry.byName[name]
}

// The answer to a call: one byte says what the rest is.
const (
	answerOK    = 0
	answerError = 1
)

// answer is a call's result on its way through a wire.
type answer struct {
	kind byte
	body []byte
}

func (a answer) open(from NodeID) ([]byte, error) {
	switch a.kind {
	case answerOK:
		return a.body, nil
	case answerError:
		return nil, decodeError(from, a.body)
	}
	return nil, fmt.Errorf("%s: answer of kind %d: %w", from, a.kind, ErrFrame)
}

func appendString(b []byte, s string) []byte {
	b = binary.BigEndian.AppendUint16(b, uint16(len(s)))
	return append(b, s...)
}

func cutString(b []byte) (s string, rest []byte, ok bool) {
	if len(b) < 2 {
		return "", nil, false
	}
	n := int(binary.BigEndian.Uint16(b))
	if n > len(b)-2 {
		return "", nil, false
	}
	return string(b[2 : 2+n]), b[2+n:], true
}
