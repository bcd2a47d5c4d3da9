package scavenger

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"strings"
	"syscall"

	"github.com/scrfs/scrfs/scr"
)

// Reply is what the command on a node answers: one line of JSON on its standard
// output. Other lines around it are ignored, since a login shell or a launcher
// may have its own to say.
type Reply struct {
	Kind   string     `json:"scr_postrun"` // "list", "copy" or "error"
	Cache  *NodeCache `json:"cache,omitempty"`
	Copied *Copied    `json:"copied,omitempty"`
	// Code and Error are set for an error: an exit code of the commands and the
	// message.
	Code  int    `json:"code,omitempty"`
	Error string `json:"error,omitempty"`
}

// Copied is what Copy brought into the stage.
type Copied struct {
	Ranks []scr.Rank `json:"ranks"` // whole in the stage now, ascending
	Files int        `json:"files"`
	Bytes int64      `json:"bytes"`
	// Failed are ranks whose files are not what the filemap says.
	Failed []FailedRank `json:"failed,omitempty"`
}

// FailedRank is a rank that could not be copied.
type FailedRank struct {
	Rank  scr.Rank `json:"rank"`
	Error string   `json:"error"`
}

// ParseReply finds the answer of a kind in what a command printed. ok is false
// if there is none; an answer that is an error is returned as such.
func ParseReply(kind string, stdout []byte) (r Reply, ok bool, err error) {
	lines := bufio.NewScanner(bytes.NewReader(stdout))
	lines.Buffer(nil, len(stdout)+1)
	for lines.Scan() {
		line := bytes.TrimSpace(lines.Bytes())
		var got Reply
		if !bytes.HasPrefix(line, []byte("{")) || json.Unmarshal(line, &got) != nil {
			continue
		}
		switch got.Kind {
		case "error":
			return got, true, remoteError{got.Code, got.Error}
		case kind:
			return got, true, nil
		}
	}
	return Reply{}, false, nil
}

// remoteError is an error of another node. Its exit code says of which kind it
// is.
type remoteError struct {
	code int
	text string
}

func (e remoteError) Error() string { return e.text }

// kinds are what exit codes of the other node mean here; cmd has the table.
var kinds = map[int]error{
	3: scr.ErrNotFound,
	5: scr.ErrCorrupt,
	6: syscall.ENOSPC,
	7: fs.ErrPermission,
}

// Is makes errors.Is see through to the other node.
func (e remoteError) Is(target error) bool {
	kind, ok := kinds[e.code]
	return ok && target == kind
}

// NodeError is an error with the node on which it happened.
type NodeError struct {
	Node string
	Err  error
}

func (e *NodeError) Error() string { return fmt.Sprintf("node %s: %v", e.Node, e.Err) }
func (e *NodeError) Unwrap() error { return e.Err }

// LastLines shortens what a command said on standard error to the last lines
// of it, in one.
func LastLines(stderr []byte, most int) string {
	lines := strings.Split(strings.TrimSpace(string(stderr)), "\n")
	lines = lines[max(len(lines)-most, 0):]
	for i, l := range lines {
		lines[i] = strings.TrimSpace(l)
	}
	return strings.Join(lines, "; ")
}
