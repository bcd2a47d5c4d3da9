package disk_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/scrfs/scrfs/internal/disk"
)

func TestFaultHitsWhatItDescribes(t *testing.T) {
	for _, c := range []struct {
		fault disk.Fault
		want  string // the lines of the script that fail, counted from 0
	}{
		{disk.Fault{}, "01234567"},
		{disk.Fault{N: 3}, "2"},
		{disk.Fault{Kind: disk.OpMkdir}, "01"},
		{disk.Fault{Kind: disk.OpMkdir, N: 2}, "1"},
		{disk.Fault{PathPattern: "f*"}, "23456"},
		{disk.Fault{PathPattern: "d/*"}, "34567"},
		{disk.Fault{PathPattern: "d/g"}, "67"},
		{disk.Fault{PathPattern: "f", Kind: disk.OpSyncDir}, ""},
		{disk.Fault{Tag: "other"}, ""},
		{disk.Fault{Tag: "flush", N: 1}, "0"},
		{disk.Fault{Match: disk.Op.Changes, N: 6}, "6"},
	} {
		m := disk.NewMem()
		f := disk.Tag(disk.Inject(m, disk.Faults(c.fault)), "flush")
		calls := []func(disk.FS) error{
			func(f disk.FS) error { return f.Mkdir("d", 0o755) },
			func(f disk.FS) error { return f.Mkdir("e", 0o755) },
			func(f disk.FS) error { return f.Symlink("x", "f") },
			func(f disk.FS) error { return f.Rename("f", "d/f") },
			func(f disk.FS) error { return f.Link("d/f", "d/f2") },
			func(f disk.FS) error { return second(f.Lstat("d/f")) },
			func(f disk.FS) error { return f.Rename("d/f2", "d/g") },
			func(f disk.FS) error { return f.Remove("d/g") },
		}
		got := ""
		for i, call := range calls {
			err := call(f)
			if errors.Is(err, syscall.EIO) {
				got += fmt.Sprint(i)
				err = call(m) // so that the next ones can be made
			}
			if err != nil {
				t.Fatalf("%+v: call %d: %v", c.fault, i, err)
			}
		}
		if got != c.want {
			t.Errorf("%+v: failed %q, want %q", c.fault, got, c.want)
		}
	}
}

func TestInjectedErrorsLookTrue(t *testing.T) {
	f := disk.Inject(disk.NewMem(), disk.Faults(disk.Fault{Kind: disk.OpRename, Err: syscall.ENOSPC}, disk.Fault{Kind: disk.OpMkdir}))
	var pe *fs.PathError
	if err := f.Mkdir("d", 0o755); !errors.As(err, &pe) || pe.Path != "d" || !errors.Is(err, syscall.EIO) {
		t.Errorf("got %v", err)
	}
	var le *os.LinkError
	if err := f.Rename("a", "b"); !errors.As(err, &le) || le.Old != "a" || le.New != "b" || !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("got %v", err)
	}
}

func TestShortWriteWritesItsPart(t *testing.T) {
	m := disk.NewMem()
	f := disk.Inject(m, disk.Faults(disk.Fault{Kind: disk.OpWrite, N: 2, ShortWrite: 2, Err: syscall.ENOSPC}))
	o, err := f.OpenFile("f", os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []int{3, 2, 3} {
		n, err := o.Write([]byte("abc"))
		if n != want || (want == 3) != (err == nil) || err != nil && !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("write %d: got %d, %v", i, n, err)
		}
	}
	if got, err := disk.ReadFile(m, "f"); string(got) != "abcababc" {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestFailedSyncAndCloseLoseNothingElse(t *testing.T) {
	m := disk.NewMem()
	f := disk.Inject(m, disk.Faults(disk.Fault{Kind: disk.OpSync, N: 1}, disk.Fault{Kind: disk.OpClose, N: 1}))
	o, err := f.OpenFile("f", os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := o.Write([]byte("abc")); err != nil {
		t.Fatal(err)
	}
	if err := o.Sync(); !errors.Is(err, syscall.EIO) {
		t.Errorf("sync: got %v", err)
	}
	script(t, m, "syncdir .")
	if got := dump(t, m.CrashClone(), "."); got != "f=" {
		t.Errorf("after a failed sync a crash leaves %q", got)
	}
	if err := o.Close(); !errors.Is(err, syscall.EIO) {
		t.Errorf("close: got %v", err)
	}
	if err := o.Close(); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("the failed close did not close: %v", err)
	}
}

func TestFullMemHasNoSpace(t *testing.T) {
	m := disk.NewMem()
	m.SetCapacity(10)
	if err := disk.WriteFile(m, "a", []byte("12345"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := disk.WriteFile(m, "b", []byte("123456"), 0o644); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("got %v, want ENOSPC", err)
	}
	if u, err := m.Usage(); err != nil || u.TotalBytes != 10 || u.FreeBytes != 5 {
		t.Errorf("got %+v, %v", u, err)
	}
	if got := dump(t, m, "."); got != "a=12345" {
		t.Errorf("got %q", got)
	}
}

func TestTraceTellsNamesTagsAndErrors(t *testing.T) {
	var b strings.Builder
	f := disk.Trace(disk.NewMem(), func(op disk.Op) { fmt.Fprintln(&b, op) })
	if err := f.Mkdir("d", 0o755); err != nil {
		t.Fatal(err)
	}
	v, err := disk.Tag(f, "flush").Sub("d")
	if err != nil {
		t.Fatal(err)
	}
	o, err := v.OpenFile("f", os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{
		second(o.WriteAt([]byte("abc"), 4)), o.Truncate(6), o.Allocate(0, 9), second(o.Read(make([]byte, 4))), second(o.Seek(6, 0)), o.Close(),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	l, err := v.Lock("l", true)
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	if err := v.Rename("none", "x"); err == nil {
		t.Error("rename: got no error")
	}
	want := `mkdir d
[flush] sub d
[flush] create d/f
[flush] write d/f at 4 bytes 3
[flush] truncate d/f bytes 6
[flush] allocate d/f at 0 bytes 9
[flush] read d/f bytes 4
[flush] seek d/f
[flush] close d/f
[flush] lock d/l
[flush] unlock d/l
[flush] rename d/none -> d/x: no such file or directory
`
	if got := b.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func second[T any](_ T, err error) error { return err }
