package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"

	urfave "github.com/urfave/cli/v2"

	"github.com/scrfs/scrfs/cmd/internal/cli"
	"github.com/scrfs/scrfs/daemon"
)

// readyFD names the descriptor on which a daemon in the background tells the
// command that started it how it went.
const readyFD = "SCRFS_INTERNAL_READY_FD"

// inBackground starts the daemon as a process of its own session, so that the
// end of a prolog does not end it, and returns when the mount can be used. Its
// output goes to the log in the control directory: a pipe kept open would keep
// the prolog from ending.
func inBackground(c *urfave.Context, o daemon.Options) error {
	log, err := logTo(o)
	if err != nil {
		return err
	}
	defer log.Close()
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	defer r.Close()
	cmd := exec.Command("/proc/self/exe", append(os.Args[1:len(os.Args):len(os.Args)], "--foreground")...)
	cmd.Args[0] = os.Args[0]
	cmd.Env = append(os.Environ(), readyFD+"=3")
	cmd.ExtraFiles = []*os.File{w}
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return errors.Join(err, w.Close())
	}
	if err := w.Close(); err != nil {
		return err
	}
	answer, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	text := string(answer)
	if rest, ok := strings.CutPrefix(text, "ok\n"); ok && rest == "" {
		fmt.Fprintf(c.App.Writer, "scrfs: %s mounted on %s as node %s of job %s\n", o.Prefix, o.Mountpoint, o.Node, o.JobID)
		return cmd.Process.Release()
	}
	// The daemon has said what is wrong, or died without a word.
	waitErr := cmd.Wait()
	var code *exec.ExitError
	if text == "" || !errors.As(waitErr, &code) {
		return fmt.Errorf("the daemon ended before it was ready (%w); its log is %s", waitErr, log.Name())
	}
	return &childError{text: text, code: cli.Code(code.ExitCode())}
}

// childError is what the daemon said before it ended; it was reported in the
// daemon's own words.
type childError struct {
	text string
	code cli.Code
}

func (e *childError) Error() string      { return strings.TrimSpace(e.text) }
func (e *childError) ExitCode() cli.Code { return e.code }

// readiness tells the starting command; it does nothing in the foreground.
type readiness struct{ w *os.File }

func readyPipe() readiness {
	if os.Getenv(readyFD) != "3" {
		return readiness{}
	}
	syscall.CloseOnExec(3)
	return readiness{os.NewFile(3, "ready")}
}

// done says that the mount can be used.
func (r readiness) done() { r.say("ok\n") }

// failed says why it cannot, with the next step behind it.
func (r readiness) failed(err error) {
	text := err.Error()
	var h *cli.Hinted
	if errors.As(err, &h) {
		text += "\nhint: " + h.Hint
	}
	r.say(text + "\n")
}

func (r readiness) say(text string) {
	if r.w == nil {
		return
	}
	// Who started us may be gone; the mount goes on all the same.
	_, _ = io.WriteString(r.w, text)
	_ = r.w.Close()
}
