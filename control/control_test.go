package control

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func echo(_ context.Context, args json.RawMessage) (any, error) {
	var s string
	if err := json.Unmarshal(args, &s); err != nil {
		return nil, err
	}
	if s == "" {
		return nil, errors.New("nothing to say")
	}
	return s, nil
}

func TestCall(t *testing.T) {
	// Deeper than a socket address could name.
	dir := filepath.Join(t.TempDir(), strings.Repeat("deep/", 60))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	if err := Call(ctx, dir, "echo", "hi", nil); !errors.Is(err, ErrNoDaemon) {
		t.Errorf("without a daemon: %v, want %v", err, ErrNoDaemon)
	}
	s, err := Listen(dir, map[string]Handler{"echo": echo})
	if err != nil {
		t.Fatal(err)
	}
	var got string
	if err := Call(ctx, dir, "echo", "hi\nthere", &got); err != nil || got != "hi\nthere" {
		t.Errorf("echo gave %q, %v", got, err)
	}
	if err := Call(ctx, dir, "echo", "", &got); err == nil || !strings.Contains(err.Error(), "nothing to say") {
		t.Errorf("failing command gave %v", err)
	}
	if err := Call(ctx, dir, "dance", nil, nil); err == nil || !strings.Contains(err.Error(), "dance") {
		t.Errorf("unknown command gave %v", err)
	}
	if _, err := Listen(dir, nil); err == nil {
		t.Error("a second daemon could listen on the same socket")
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := Call(ctx, dir, "echo", "hi", nil); !errors.Is(err, ErrNoDaemon) {
		t.Errorf("after Close: %v, want %v", err, ErrNoDaemon)
	}
}

// TestListenAfterCrash: the socket file of a killed daemon is in nobody's way.
func TestListenAfterCrash(t *testing.T) {
	dir := t.TempDir()
	s, err := Listen(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	s.listener.SetUnlinkOnClose(false)
	if err := os.Rename(filepath.Join(dir, SocketName), filepath.Join(dir, "left")); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := os.Rename(filepath.Join(dir, "left"), filepath.Join(dir, SocketName)); err != nil {
		t.Fatal(err)
	}
	if s, err = Listen(dir, nil); err != nil {
		t.Fatalf("listen over the socket of a dead daemon: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
