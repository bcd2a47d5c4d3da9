package disk_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/scrfs/scrfs/internal/disk"
)

var oldBytes, newBytes = bytes.Repeat([]byte("old "), 700), bytes.Repeat([]byte("NEW! "), 900)

// oldWorld has one durable file and nothing else.
func oldWorld(t *testing.T) *disk.Mem {
	t.Helper()
	m := disk.NewMem()
	if err := disk.MkdirAll(m, "d", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := disk.WriteFile(m, "d/state", oldBytes, 0o644); err != nil {
		t.Fatal(err)
	}
	return m
}

func TestWriteFileOrderIsTheGoldenOne(t *testing.T) {
	var b strings.Builder
	f := disk.Trace(oldWorld(t), func(op disk.Op) { fmt.Fprintln(&b, op) })
	if err := disk.WriteFile(f, "d/state", newBytes, 0o644); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(&b, "# a full disk")
	full := disk.Inject(f, disk.Faults(disk.Fault{Kind: disk.OpWrite, Err: syscall.ENOSPC, ShortWrite: 100}))
	if err := disk.WriteFile(full, "d/state", newBytes, 0o644); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("got %v, want ENOSPC", err)
	}
	want, err := os.ReadFile("testdata/writefile.trace")
	if err != nil {
		t.Fatal(err)
	}
	if got := b.String(); got != string(want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestWriteFileSurvivesCrashAtEveryStep(t *testing.T) {
	const luckyDraws = 50
	m := oldWorld(t)
	steps, sawOld, sawNew := 0, false, false
	check := func(c *disk.Mem, what string) []byte {
		got, err := disk.ReadFile(c, "d/state")
		if err != nil || !bytes.Equal(got, oldBytes) && !bytes.Equal(got, newBytes) {
			t.Errorf("%s: got %d bytes, %v, want all old or all new", what, len(got), err)
		}
		for _, n := range namesIn(t, c, "d") {
			if n != "state" && !disk.IsTemp(n) {
				t.Errorf("%s: found %s", what, n)
			}
		}
		// What a crash leaves behind does not stand in the way of the next.
		if err := disk.WriteFile(c, "d/state", []byte("next"), 0o644); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		return got
	}
	f := disk.Trace(m, func(op disk.Op) {
		steps++
		what := fmt.Sprintf("crash after %s", op)
		got := check(m.CrashClone(), what)
		sawOld = sawOld || bytes.Equal(got, oldBytes)
		sawNew = sawNew || bytes.Equal(got, newBytes)
		for seed := range uint64(luckyDraws) {
			check(m.CrashCloneSeed(seed), fmt.Sprintf("%s, seed %d", what, seed))
		}
	})
	if err := disk.WriteFile(f, "d/state", newBytes, 0o644); err != nil {
		t.Fatal(err)
	}
	if steps < 6 || !sawOld || !sawNew {
		t.Errorf("got %d steps, old %v, new %v: this test saw nothing", steps, sawOld, sawNew)
	}
	if got, _ := disk.ReadFile(m.CrashClone(), "d/state"); !bytes.Equal(got, newBytes) {
		t.Errorf("after success a crash leaves %d bytes, want the new ones", len(got))
	}
}

// The two tests above would be worth nothing if a mistake passed them.
func TestCrashFindsTheForgottenSync(t *testing.T) {
	for _, forgotten := range []disk.Kind{disk.OpSync, disk.OpSyncDir} {
		m := oldWorld(t)
		skipped := errors.New("skipped")
		f := forgetful{disk.Inject(m, disk.Faults(disk.Fault{Kind: forgotten, Err: skipped})), skipped}
		if err := disk.WriteFile(f, "d/state", newBytes, 0o644); err != nil {
			t.Fatal(err)
		}
		damaged := func(c *disk.Mem) bool {
			got, err := disk.ReadFile(c, "d/state")
			return err != nil || !bytes.Equal(got, newBytes)
		}
		found := damaged(m.CrashClone())
		for seed := range uint64(50) {
			found = found || damaged(m.CrashCloneSeed(seed))
		}
		if !found {
			t.Errorf("without %s every crash left the new bytes", forgotten)
		}
	}
}

// forgetful takes one error for success.
type forgetful struct {
	disk.FS
	skipped error
}

func (f forgetful) pass(err error) error {
	if errors.Is(err, f.skipped) {
		return nil
	}
	return err
}

func (f forgetful) SyncDir(name string) error { return f.pass(f.FS.SyncDir(name)) }

func (f forgetful) OpenFile(name string, flag int, perm fs.FileMode) (disk.File, error) {
	o, err := f.FS.OpenFile(name, flag, perm)
	return forgetfulFile{o, f}, err
}

type forgetfulFile struct {
	disk.File
	f forgetful
}

func (o forgetfulFile) Sync() error { return o.f.pass(o.File.Sync()) }

func TestWriteFileLeavesTheOldFileWhenAnOperationFails(t *testing.T) {
	for _, world := range []struct {
		name string
		open func() disk.FS
	}{
		{"Mem", func() disk.FS { return oldWorld(t) }},
		{"Real", func() disk.FS {
			f := openReal(t)
			if err := errors.Join(f.Mkdir("d", 0o755), disk.WriteFile(f, "d/state", oldBytes, 0o644)); err != nil {
				t.Fatal(err)
			}
			return f
		}},
	} {
		t.Run(world.name, func(t *testing.T) {
			kinds := map[disk.Kind]bool{}
			for n := 1; ; n++ {
				var failed disk.Op
				rule := disk.Faults(disk.Fault{N: n, ShortWrite: 3, Match: func(op disk.Op) bool {
					failed = op // the last one matched is the one that fails
					return failed.Kind != ""
				}})
				stop := false
				m := world.open()
				err := disk.WriteFile(disk.Inject(m, func(op disk.Op) error {
					if stop {
						return nil
					}
					err := rule(op)
					stop = err != nil
					return err
				}), "d/state", newBytes, 0o644)
				if err == nil {
					break // fewer than n operations
				}
				kinds[failed.Kind] = true
				want := oldBytes
				if failed.Kind == disk.OpSyncDir {
					want = newBytes // the rename is done: see WriteFile
				}
				if !errors.Is(err, syscall.EIO) || !strings.Contains(err.Error(), "state") {
					t.Errorf("%s: got error %v, want EIO with the name", failed, err)
				}
				got, err := disk.ReadFile(m, "d/state")
				if err != nil || !bytes.Equal(got, want) {
					t.Errorf("%s: got %d bytes, %v", failed, len(got), err)
				}
				if names := namesIn(t, m, "d"); len(names) != 1 {
					t.Errorf("%s: left %q", failed, names)
				}
			}
			for _, k := range []disk.Kind{disk.OpCreate, disk.OpWrite, disk.OpSync, disk.OpClose, disk.OpRename, disk.OpSyncDir} {
				if !kinds[k] {
					t.Errorf("%s never failed", k)
				}
			}
		})
	}
}

func TestMkdirAllIsDurable(t *testing.T) {
	m := disk.NewMem()
	if err := disk.MkdirAll(m, "a/b/c", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := disk.WriteFile(m, "a/b/c/f", []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	if got, err := disk.ReadFile(m.CrashClone(), "a/b/c/f"); string(got) != "x" {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestIsTempKnowsWhatWriteFileMakes(t *testing.T) {
	var made []string
	f := disk.Trace(disk.NewMem(), func(op disk.Op) {
		if op.Kind == disk.OpCreate {
			made = append(made, op.Name)
		}
	})
	for _, name := range []string{"x", "a.tmp-1", strings.Repeat("l", 255)} {
		if err := disk.WriteFile(f, name, nil, 0o644); err != nil {
			t.Error(err)
		}
	}
	if len(made) != 3 {
		t.Errorf("got %q", made)
	}
	for _, n := range made {
		if !disk.IsTemp("d/" + n) {
			t.Errorf("IsTemp(%s): got false", n)
		}
	}
	for _, n := range []string{"", ".", "a.tmp-1", ".tmp-1", ".a.tmp-", ".a.tmp-x", ".a.tmp--1", ".a.tmp-1000", ".a.tmp-1/b"} {
		if disk.IsTemp(n) {
			t.Errorf("IsTemp(%s): got true", n)
		}
	}
}

func namesIn(t *testing.T, f disk.FS, dir string) (names []string) {
	t.Helper()
	list, err := f.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		names = append(names, e.Name())
	}
	return names
}
