package peer

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"sync"
	"testing"

	"github.com/scrfs/scrfs/internal/disk"
	"github.com/scrfs/scrfs/scr"
)

func TestNodesThatRaceGetOneSecret(t *testing.T) {
	real, err := disk.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	noLink := disk.Inject(disk.NewMem(), disk.Faults(disk.Fault{Kind: disk.OpLink}))
	for name, f := range map[string]disk.FS{"memory": disk.NewMem(), "real": real, "no link": noLink} {
		t.Run(name, func(t *testing.T) {
			const nodes = 8
			var got [nodes][]byte
			var wg sync.WaitGroup
			for i := range nodes {
				wg.Go(func() {
					var err error
					if got[i], err = LoadOrCreateSecret(f); err != nil {
						t.Error(err)
					}
				})
			}
			wg.Wait()
			for _, s := range got {
				if len(s) != SecretBytes || !bytes.Equal(s, got[0]) {
					t.Fatalf("secrets differ: %x", got)
				}
			}
			info, err := f.Stat(SecretName)
			if err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("%v, %v", info, err)
			}
			if list, err := f.ReadDir(".scr"); err != nil || len(list) != 1 {
				t.Errorf("left behind: %v, %v", list, err)
			}
		})
	}
}

func TestSecretSurvivesCrashAtEveryStep(t *testing.T) {
	for step := 1; ; step++ {
		mem := disk.NewMem()
		op, crashed := 0, (*disk.Mem)(nil)
		f := disk.Inject(mem, func(disk.Op) error {
			if op++; op == step {
				crashed = mem.CrashClone()
			}
			return nil
		})
		s, err := LoadOrCreateSecret(f)
		if err != nil {
			t.Fatal(err)
		}
		if crashed == nil {
			if step < 10 {
				t.Fatalf("only %d steps", step)
			}
			return
		}
		after, err := LoadOrCreateSecret(crashed)
		if err != nil || len(after) != SecretBytes {
			t.Fatalf("crash before step %d: %x, %v", step, after, err)
		}
		// What was returned is durable.
		if kept, err := LoadOrCreateSecret(mem.CrashClone()); err != nil || !bytes.Equal(kept, s) {
			t.Fatalf("crash after the end: %x, want %x, %v", kept, s, err)
		}
	}
}

func TestSecretThatCannotBeTrustedIsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		data []byte
		mode fs.FileMode
		want error
	}{
		"others may read": {make([]byte, SecretBytes), 0o640, fs.ErrPermission},
		"short":           {make([]byte, SecretBytes-1), 0o600, scr.ErrCorrupt},
		"long":            {make([]byte, SecretBytes+1), 0o600, scr.ErrCorrupt},
		"zeros":           {make([]byte, SecretBytes), 0o600, scr.ErrCorrupt},
	} {
		f := disk.NewMem()
		if err := f.Mkdir(".scr", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := disk.WriteFile(f, SecretName, c.data, c.mode); err != nil {
			t.Fatal(err)
		}
		if _, err := LoadOrCreateSecret(f); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
		if got, err := disk.ReadFile(f, SecretName); err != nil || !bytes.Equal(got, c.data) {
			t.Errorf("%s: the file was changed: %x, %v", name, got, err)
		}
	}
	f := disk.NewMem()
	if err := errors.Join(f.Mkdir(".scr", 0o755), f.Symlink("/etc/passwd", SecretName)); err != nil {
		t.Fatal(err)
	}
	if _, err := LoadOrCreateSecret(f); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("symbolic link: %v", err)
	}
	f = disk.NewMem()
	full := disk.Inject(f, disk.Faults(disk.Fault{Kind: disk.OpWrite, Err: os.ErrDeadlineExceeded}))
	if _, err := LoadOrCreateSecret(full); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("write error: %v", err)
	}
	if list, err := f.ReadDir(".scr"); err != nil || len(list) != 0 {
		t.Errorf("left behind: %v, %v", list, err)
	}
}
