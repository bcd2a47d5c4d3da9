package control

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// SocketName is the socket in a control directory.
const SocketName = "scrfs.sock"

// maxRequestBytes bounds a request line.
const maxRequestBytes = 1 << 20

// Handler carries out one command. The arguments are JSON, and so is what is
// returned.
type Handler func(ctx context.Context, args json.RawMessage) (any, error)

type request struct {
	Command string          `json:"command"`
	Args    json.RawMessage `json:"args,omitempty"`
}

type response struct {
	Error string          `json:"error,omitempty"`
	Value json.RawMessage `json:"value,omitempty"`
}

// Server answers on the socket of one control directory.
type Server struct {
	listener *net.UnixListener
	handlers map[string]Handler
	dir      *os.File // keeps the address short: /proc/self/fd/N/scrfs.sock

	ctx  context.Context
	stop context.CancelFunc
	wg   sync.WaitGroup
}

// Listen begins to answer. A socket that a dead daemon left is replaced; one
// that answers is an error.
func Listen(dir string, handlers map[string]Handler) (*Server, error) {
	if err := Call(context.Background(), dir, "ping", nil, nil); !errors.Is(err, ErrNoDaemon) {
		return nil, fmt.Errorf("control socket %s: another daemon answers there", filepath.Join(dir, SocketName))
	}
	d, err := os.Open(dir)
	if err != nil {
		return nil, fmt.Errorf("control socket: %w", err)
	}
	s := &Server{handlers: handlers, dir: d}
	if err := s.bind(dir); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	s.ctx, s.stop = context.WithCancel(context.Background())
	s.wg.Add(1)
	go s.accept()
	return s, nil
}

func (s *Server) bind(dir string) error {
	if err := os.Remove(filepath.Join(dir, SocketName)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("control socket: %w", err)
	}
	address := short(s.dir)
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: address, Net: "unix"})
	if err != nil {
		return fmt.Errorf("control socket in %s: %w", dir, err)
	}
	s.listener = l
	if err := os.Chmod(address, 0o600); err != nil {
		return errors.Join(fmt.Errorf("control socket in %s: %w", dir, err), l.Close())
	}
	return nil
}

// short is an address of the socket that fits the 107 bytes a socket address
// may have, however deep the directory lies.
func short(dir *os.File) string {
	return fmt.Sprintf("/proc/self/fd/%d/%s", dir.Fd(), SocketName)
}

func (s *Server) accept() {
	defer s.wg.Done()
	for {
		c, err := s.listener.AcceptUnix()
		if err != nil {
			return // closed
		}
		s.wg.Add(1)
		go func() {
			defer s.wg.Done()
			defer context.AfterFunc(s.ctx, func() { c.SetDeadline(time.Unix(1, 0)) })()
			defer c.Close()
			s.serve(c)
		}()
	}
}

// serve answers the requests of one client until it hangs up.
func (s *Server) serve(c *net.UnixConn) {
	lines := bufio.NewScanner(c)
	lines.Buffer(nil, maxRequestBytes)
	for lines.Scan() {
		b, err := json.Marshal(s.answer(lines.Bytes()))
		if err != nil {
			b, _ = json.Marshal(response{Error: err.Error()})
		}
		if _, err := c.Write(append(b, '\n')); err != nil {
			return
		}
	}
}

func (s *Server) answer(line []byte) response {
	var r request
	if err := json.Unmarshal(line, &r); err != nil {
		return response{Error: "request: " + err.Error()}
	}
	if r.Command == "ping" {
		return response{}
	}
	h, ok := s.handlers[r.Command]
	if !ok {
		return response{Error: fmt.Sprintf("the daemon knows no command %q: it may be of another version", r.Command)}
	}
	v, err := h(s.ctx, r.Args)
	if err != nil {
		return response{Error: err.Error()}
	}
	b, err := json.Marshal(v)
	if err != nil {
		return response{Error: err.Error()}
	}
	return response{Value: b}
}

// Close ends all connections and removes the socket.
func (s *Server) Close() error {
	s.stop()
	err := os.Remove(short(s.dir))
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	s.listener.SetUnlinkOnClose(false)
	err = errors.Join(err, s.listener.Close())
	s.wg.Wait()
	return errors.Join(err, s.dir.Close())
}
