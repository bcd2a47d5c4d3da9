package disk_test

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"
	"testing"

	"github.com/scrfs/scrfs/internal/disk"
	"pgregory.net/rapid"
)

// TestMemDoesWhatTheKernelDoes plays one random history on both trees: every
// call has the same result, and the trees look alike after each.
func TestMemDoesWhatTheKernelDoes(t *testing.T) {
	base := t.TempDir()
	runs := 0
	rapid.Check(t, func(rt *rapid.T) {
		runs++
		dir := fmt.Sprintf("%s/%d", base, runs)
		if err := os.Mkdir(dir, 0o755); err != nil {
			rt.Fatal(err)
		}
		onDisk, err := disk.Open(dir)
		if err != nil {
			rt.Fatal(err)
		}
		defer onDisk.(*disk.Real).Close()
		real, mem := &player{fsys: onDisk}, &player{fsys: disk.NewMem()}
		defer real.closeAll()
		// A tree to begin with, so that few calls end at ENOENT.
		for _, s := range []step{
			{call: "mkdir", a: "a", perm: 0o755}, {call: "mkdir", a: "a/b", perm: 0o755}, {call: "mkdir", a: "c", perm: 0o755},
			{call: "symlink", b: "b", target: "a/b"}, {call: "symlink", b: "a/a", target: "../b/b"},
		} {
			real.play(s)
			mem.play(s)
		}
		var history []string
		for range rapid.IntRange(1, 40).Draw(rt, "steps") {
			s := drawStep(rt)
			got, want := mem.play(s), real.play(s)
			history = append(history, fmt.Sprintf("%+v: %s", s, want))
			if got != want {
				rt.Fatalf("mem: %s\nreal: %s\nafter\n%s", got, want, strings.Join(history, "\n"))
			}
			if got, want := look(rt, mem.fsys, "."), look(rt, real.fsys, "."); got != want {
				rt.Fatalf("trees differ:\nmem:\n%s\nreal:\n%s\nafter\n%s", got, want, strings.Join(history, "\n"))
			}
		}
	})
}

// step is one call; what a call does not need is not looked at.
type step struct {
	call         string
	a, b, target string
	flag         int
	perm         fs.FileMode
	file         int // one of the files opened before
	data         string
	off          int64
}

func drawStep(rt *rapid.T) step {
	elem := rapid.SampledFrom([]string{"a", "b", "c"})
	name := rapid.Custom(func(rt *rapid.T) string {
		return path.Join(rapid.SliceOfN(elem, 1, 3).Draw(rt, "elems")...)
	})
	target := rapid.OneOf(name, rapid.SampledFrom([]string{
		"..", "../a", "../b/c", "../../c", "a/..", "b/../c", "/", "/tmp", ".", "./a", "a/", "b//c", "x", "",
	}))
	flag := rapid.SampledFrom([]int{os.O_RDONLY, os.O_WRONLY, os.O_RDWR}).Draw(rt, "access")
	for _, f := range []int{os.O_CREATE, os.O_CREATE, os.O_EXCL, os.O_TRUNC, os.O_APPEND, syscall.O_NOFOLLOW, syscall.O_DIRECTORY} {
		// O_EXCL alone is undefined; O_DIRECTORY with O_CREAT differs between kernels.
		if rapid.IntRange(0, 3).Draw(rt, "flag") == 0 && (f != os.O_EXCL && f != syscall.O_DIRECTORY || (flag&os.O_CREATE != 0) == (f == os.O_EXCL)) {
			flag |= f
		}
	}
	return step{
		call: rapid.SampledFrom([]string{
			"open", "open", "open", "mkdir", "remove", "rename", "rename", "noreplace", "exchange", "link", "symlink",
			"readlink", "stat", "lstat", "readdir", "syncdir", "chmod", "writefile", "removeall", "mkdirall", "sub",
			"read", "write", "write", "readat", "writeat", "seek", "truncate", "sync", "allocate", "close", "fstat",
		}).Draw(rt, "call"),
		a: name.Draw(rt, "a"), b: name.Draw(rt, "b"), target: target.Draw(rt, "target"), flag: flag,
		perm: rapid.SampledFrom([]fs.FileMode{0o644, 0o600, 0o755, 0o700}).Draw(rt, "perm"),
		file: rapid.IntRange(0, 7).Draw(rt, "file"),
		data: rapid.StringMatching("[a-z]{1,9}").Draw(rt, "data"),
		off:  rapid.Int64Range(-1, 12).Draw(rt, "off"),
	}
}

type player struct {
	fsys  disk.FS
	files []disk.File
}

func (p *player) closeAll() {
	for _, f := range p.files {
		f.Close() // many are closed already
	}
}

// play does one step and returns all that can be seen of the result.
func (p *player) play(s step) string {
	f := p.fsys
	switch s.call {
	case "open":
		o, err := f.OpenFile(s.a, s.flag, s.perm)
		if err == nil {
			p.files = append(p.files, o)
		}
		return outcome(err)
	case "mkdir":
		return outcome(f.Mkdir(s.a, s.perm|0o700))
	case "remove":
		return outcome(f.Remove(s.a))
	case "rename":
		return outcome(f.Rename(s.a, s.b))
	case "noreplace":
		return outcome(f.RenameNoReplace(s.a, s.b))
	case "exchange":
		return outcome(f.Exchange(s.a, s.b))
	case "link":
		return outcome(f.Link(s.a, s.b))
	case "symlink":
		return outcome(f.Symlink(s.target, s.b))
	case "readlink":
		target, err := f.Readlink(s.a)
		return outcome(err, target)
	case "stat":
		fi, err := f.Stat(s.a)
		return outcome(err, describe(fi))
	case "lstat":
		fi, err := f.Lstat(s.a)
		return outcome(err, describe(fi))
	case "readdir":
		list, err := f.ReadDir(s.a)
		return outcome(err, fmt.Sprint(list))
	case "syncdir":
		return outcome(f.SyncDir(s.a))
	case "chmod":
		return outcome(f.Chmod(s.a, s.perm|0o700))
	case "writefile":
		return outcome(disk.WriteFile(f, s.a, []byte(s.data), s.perm))
	case "removeall":
		return outcome(disk.RemoveAll(f, s.a))
	case "mkdirall":
		return outcome(disk.MkdirAll(f, s.a, s.perm|0o700))
	case "sub":
		v, err := f.Sub(s.a)
		if err != nil {
			return outcome(err)
		}
		fi, err := v.Stat(s.b)
		return outcome(err, describe(fi))
	}
	if len(p.files) == 0 {
		return "no file"
	}
	return playFile(p.files[s.file%len(p.files)], s)
}

func playFile(o disk.File, s step) string {
	buf := make([]byte, len(s.data))
	fi, err := o.Stat()
	switch s.call {
	case "readat", "writeat", "seek":
		// os.File looks at the arguments first; offsets in a directory mean nothing.
		if err != nil || fi.IsDir() {
			return outcome(err)
		}
	}
	switch s.call {
	case "read":
		n, err := o.Read(buf)
		return outcome(err, string(buf[:n]))
	case "readat":
		n, err := o.ReadAt(buf, s.off)
		return outcome(err, string(buf[:n]))
	case "write":
		n, err := o.Write([]byte(s.data))
		return outcome(err, n)
	case "writeat":
		n, err := o.WriteAt([]byte(s.data), s.off)
		return outcome(err, n)
	case "seek":
		pos, err := o.Seek(s.off, int(s.off+3)%3)
		return outcome(err, pos)
	case "truncate":
		return outcome(o.Truncate(s.off))
	case "sync":
		return outcome(o.Sync())
	case "allocate":
		return outcome(o.Allocate(s.off, int64(len(s.data))))
	case "close":
		return outcome(o.Close())
	case "fstat":
		return outcome(err, describe(fi))
	}
	panic("BUG: call " + s.call)
}

func outcome(err error, results ...any) string {
	var errno syscall.Errno
	switch {
	case err == nil:
		return fmt.Sprintf("ok %q", results)
	case errors.Is(err, io.EOF):
		return fmt.Sprintf("end %q", results)
	case errors.Is(err, disk.ErrEscape), errors.Is(err, fs.ErrClosed), errors.Is(err, fs.ErrInvalid):
		return fmt.Sprint(errors.Is(err, disk.ErrEscape), errors.Is(err, fs.ErrClosed))
	case errors.As(err, &errno):
		return errno.Error()
	}
	// os.File has texts of its own for what it refuses before the kernel.
	return syscall.EINVAL.Error()
}

func describe(fi fs.FileInfo) string {
	if fi == nil {
		return ""
	}
	size, nlink := fi.Size(), fi.Sys().(*syscall.Stat_t).Nlink
	if fi.IsDir() {
		size, nlink = 0, 0 // each file system counts these its own way
	}
	return fmt.Sprintf("%s %s size %d links %d", fi.Name(), fi.Mode(), size, nlink)
}

// look is everything below dir as text.
func look(rt *rapid.T, f disk.FS, dir string) string {
	list, err := f.ReadDir(dir)
	if err != nil {
		rt.Fatal(err)
	}
	var b strings.Builder
	for _, e := range list {
		name := path.Join(dir, e.Name())
		fi, err := e.Info()
		if err != nil {
			rt.Fatal(err)
		}
		fmt.Fprintf(&b, "%s: %s", name, describe(fi))
		switch fi.Mode().Type() {
		case fs.ModeDir:
			fmt.Fprintf(&b, "\n%s", look(rt, f, name))
			continue
		case fs.ModeSymlink:
			target, err := f.Readlink(name)
			fmt.Fprintf(&b, " -> %s %v", target, err)
		default:
			data, err := disk.ReadFile(f, name)
			fmt.Fprintf(&b, " %q %v", data, err)
		}
		b.WriteByte('\n')
	}
	return b.String()
}
