package fusefs_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// pattern is n bytes that differ from place to place.
func pattern(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i*7 + i>>8)
	}
	return b
}

func write(tb testing.TB, file string, data []byte) {
	tb.Helper()
	if err := os.WriteFile(file, data, 0o644); err != nil {
		tb.Fatal(err)
	}
}

func wantContent(tb testing.TB, file string, want []byte) {
	tb.Helper()
	got, err := os.ReadFile(file)
	if err != nil {
		tb.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		tb.Errorf("%s: got %d bytes, want %d, or they differ", file, len(got), len(want))
	}
}

func TestCachedFileIsWrittenByTheKernelAlone(t *testing.T) {
	m := startMount(t, serverConfig{})
	if !m.first.Passthrough {
		t.Skip("no passthrough here: " + m.first.Reason)
	}
	data := pattern(3<<20 + 17)
	if err := os.Mkdir(filepath.Join(m.dir, "ckpt.1"), 0o755); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(m.dir, "ckpt.1", "rank_0")
	write(t, file, data)
	wantContent(t, file, data)
	st := m.ask(t, "stats")
	if st.Writes != 0 || st.Reads != 0 {
		t.Errorf("the server saw %d writes and %d reads, want none", st.Writes, st.Reads)
	}
	if names, _ := os.ReadDir(m.prefix); len(names) != 0 {
		t.Errorf("the prefix directory holds %v, want nothing", names)
	}
}

func TestBypassedFileLiesOnThePrefix(t *testing.T) {
	m := startMount(t, serverConfig{})
	data := pattern(1<<20 + 5)
	write(t, filepath.Join(m.dir, "out.log"), data)
	wantContent(t, filepath.Join(m.prefix, "out.log"), data)
	wantContent(t, filepath.Join(m.dir, "out.log"), data)
}
