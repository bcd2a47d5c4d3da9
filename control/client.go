package control

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"time"
)

// ErrNoDaemon: nobody answers on the socket.
var ErrNoDaemon = errors.New("no daemon answers")

// Call sends one command to the daemon of a control directory and waits for
// the answer until ctx ends. reply may be nil. Errors: ErrNoDaemon, or the
// daemon's own words.
func Call(ctx context.Context, dir, command string, args, reply any) error {
	d, err := os.Open(dir)
	if errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("control directory %s: %w", dir, ErrNoDaemon)
	}
	if err != nil {
		return fmt.Errorf("control directory: %w", err)
	}
	defer d.Close()
	var dialer net.Dialer
	c, err := dialer.DialContext(ctx, "unix", short(d))
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED) {
		return fmt.Errorf("control directory %s: %w", dir, ErrNoDaemon)
	}
	if err != nil {
		return fmt.Errorf("control directory %s: %w", dir, err)
	}
	defer c.Close()
	defer context.AfterFunc(ctx, func() { c.SetDeadline(time.Unix(1, 0)) })()
	if err := exchange(c, command, args, reply); err != nil {
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		return fmt.Errorf("command %s: %w", command, err)
	}
	return nil
}

func exchange(c io.ReadWriter, command string, args, reply any) error {
	r := request{Command: command}
	if args != nil {
		b, err := json.Marshal(args)
		if err != nil {
			return err
		}
		r.Args = b
	}
	b, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if _, err := c.Write(append(b, '\n')); err != nil {
		return err
	}
	line, err := bufio.NewReader(c).ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("the daemon hung up: %w", err)
	}
	var answer response
	if err := json.Unmarshal(line, &answer); err != nil {
		return fmt.Errorf("answer of the daemon: %w", err)
	}
	if answer.Error != "" {
		return errors.New(answer.Error)
	}
	if reply == nil || answer.Value == nil {
		return nil
	}
	return json.Unmarshal(answer.Value, reply)
}
