package posix

import (
	"errors"
	"io"
	"os"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

func init() {
	add(map[string]func(*testing.T, place){
		"open/flags against kinds":        openKinds,
		"open/creation and truncation":    openCreates,
		"open/exclusive among many":       openExclusive,
		"open/append":                     openAppend,
		"open/append of many processes":   openAppendMany,
		"open/access mode holds":          openAccess,
		"open/direct":                     openDirect,
		"open/file without a name":        openTmpfile,
		"open/unlinked file lives on":     openUnlinked,
		"open/replaced file lives on":     openReplaced,
		"open/removed directory is empty": openRemovedDir,
		"open/racing with removal":        openRaces,
		"open/path descriptors":           openPath,
	})
}

func openKinds(t *testing.T, p place) {
	for kind := range kinds {
		makeKind(t, kind, p.at(kind))
	}
	flags := func(name string, flags int) func() error {
		return func() error { return tryOpen(p.at(name), flags) }
	}
	try(t,
		call{"directory for writing", unix.EISDIR, flags("dir", unix.O_WRONLY)},
		call{"directory for both", unix.EISDIR, flags("dir", unix.O_RDWR)},
		call{"directory with O_CREAT", unix.EISDIR, flags("dir", unix.O_RDONLY|unix.O_CREAT)},
		call{"directory with O_TRUNC", unix.EISDIR, flags("dir", unix.O_RDONLY|unix.O_TRUNC)},
		call{"file as directory", unix.ENOTDIR, flags("file", unix.O_RDONLY|unix.O_DIRECTORY)},
		call{"dangling link", unix.ENOENT, flags("symlink", unix.O_RDONLY)},
		call{"dangling link exclusively", unix.EEXIST, flags("symlink", unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL)},
		call{"link itself", unix.ELOOP, flags("symlink", unix.O_RDONLY|unix.O_NOFOLLOW)},
		call{"socket", unix.ENXIO, flags("socket", unix.O_RDONLY)},
		call{"FIFO without a reader", unix.ENXIO, flags("fifo", unix.O_WRONLY|unix.O_NONBLOCK)},
		call{"FIFO for reading", nil, flags("fifo", unix.O_RDONLY|unix.O_NONBLOCK)},
		call{"name with a slash", unix.ENOTDIR, func() error { return tryOpen(p.at("file")+"/", unix.O_RDONLY) }},
		call{"new name with a slash", unix.EISDIR, func() error { return tryOpen(p.at("new")+"/", unix.O_WRONLY|unix.O_CREAT) }},
		call{"through a dangling link", nil, flags("symlink", unix.O_WRONLY|unix.O_CREAT)},
	)
	if got := kindOf(t, p.at("nowhere")); got != "file" {
		t.Errorf("what the link leads to is a %s", got)
	}
	passThroughFIFO(t, p.at("fifo"))
}

func passThroughFIFO(t *testing.T, path string) {
	r := open(t, path, unix.O_RDONLY|unix.O_NONBLOCK)
	w := open(t, path, unix.O_WRONLY)
	if _, err := w.WriteString("through the pipe"); err != nil {
		t.Error(err)
	}
	do(t, w.Close())
	if got, err := io.ReadAll(r); err != nil || string(got) != "through the pipe" {
		t.Errorf("FIFO gave %q, %v", got, err)
	}
}

func openCreates(t *testing.T, p place) {
	old := unix.Umask(0o027)
	err := os.WriteFile(p.at("f"), pattern(100), 0o777)
	err2 := os.Mkdir(p.at("d"), 0o777)
	unix.Umask(old)
	do(t, err)
	do(t, err2)
	for _, name := range []string{"f", "d"} {
		if st := lstat(t, p.at(name)); st.Mode&0o7777 != 0o750 {
			t.Errorf("%s has mode %o, want 0750", name, st.Mode&0o7777)
		}
	}
	before := lstat(t, p.at("f"))
	do(t, tryOpen(p.at("f"), unix.O_WRONLY|unix.O_CREAT))
	if st := lstat(t, p.at("f")); st.Size != 100 || st.Ino != before.Ino {
		t.Errorf("O_CREAT on a file that is there: %d bytes, inode %d (%d before)", st.Size, st.Ino, before.Ino)
	}
	do(t, tryOpen(p.at("f"), unix.O_WRONLY|unix.O_TRUNC))
	if st := lstat(t, p.at("f")); st.Size != 0 || st.Ino != before.Ino {
		t.Errorf("O_TRUNC: %d bytes, inode %d (%d before)", st.Size, st.Ino, before.Ino)
	}
	// The mode of a new file does not bind who made it.
	fd, err := unix.Open(p.at("readonly"), unix.O_CREAT|unix.O_RDWR, 0o400)
	do(t, err)
	if _, err := unix.Write(fd, []byte("abc")); err != nil {
		t.Error(err)
	}
	do(t, unix.Close(fd))
}

func openExclusive(t *testing.T, p place) {
	for range 20 {
		var mu sync.Mutex
		won := 0
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				if tryOpen(p.at("f"), unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY) == nil {
					mu.Lock()
					won++
					mu.Unlock()
				}
			})
		}
		wg.Wait()
		if won != 1 {
			t.Errorf("%d made the file exclusively", won)
		}
		do(t, os.Remove(p.at("f")))
	}
}

func openAppend(t *testing.T, p place) {
	write(t, p.at("f"), pattern(10))
	f := open(t, p.at("f"), unix.O_RDWR|unix.O_APPEND)
	if _, err := unix.Pwrite(int(f.Fd()), []byte("end"), 2); err != nil { // Linux appends
		t.Error(err)
	}
	if _, err := unix.Seek(int(f.Fd()), 1, io.SeekStart); err != nil {
		t.Error(err)
	}
	if _, err := f.WriteString("s"); err != nil {
		t.Error(err)
	}
	if at, err := unix.Seek(int(f.Fd()), 0, io.SeekCurrent); at != 14 || err != nil {
		t.Errorf("after appending at %d, %v; want 14", at, err)
	}
	wantContent(t, p.at("f"), append(pattern(10), "ends"...))
}

func openAppendMany(t *testing.T, p place) {
	const writers, lines = 4, 200
	var wg sync.WaitGroup
	for i := range writers {
		f := open(t, p.at("f"), unix.O_WRONLY|unix.O_APPEND|unix.O_CREAT)
		wg.Go(func() {
			for range lines {
				if _, err := f.Write([]byte{byte('a' + i), byte('a' + i), byte('a' + i), '\n'}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	got, err := os.ReadFile(p.at("f"))
	do(t, err)
	if len(got) != writers*lines*4 {
		t.Fatalf("%d bytes, want %d", len(got), writers*lines*4)
	}
	for i := 0; i < len(got); i += 4 {
		if got[i] != got[i+1] || got[i] != got[i+2] || got[i+3] != '\n' {
			t.Fatalf("line at %d is torn: %q", i, got[i:i+4])
		}
	}
}

func openAccess(t *testing.T, p place) {
	write(t, p.at("f"), pattern(10))
	buf := make([]byte, 5)
	r, w := open(t, p.at("f"), unix.O_RDONLY), open(t, p.at("f"), unix.O_WRONLY)
	path := open(t, p.at("f"), unix.O_PATH)
	rfd, wfd, pfd := int(r.Fd()), int(w.Fd()), int(path.Fd())
	try(t,
		call{"write to a reader", unix.EBADF, func() error { _, err := unix.Write(rfd, buf); return err }},
		call{"read from a writer", unix.EBADF, func() error { _, err := unix.Read(wfd, buf); return err }},
		call{"truncate a reader", unix.EINVAL, func() error { return unix.Ftruncate(rfd, 0) }},
		call{"fallocate a reader", unix.EBADF, func() error { return unix.Fallocate(rfd, 0, 0, 1) }},
		call{"fallocate nothing", unix.EINVAL, func() error { return unix.Fallocate(wfd, 0, 0, 0) }},
		call{"read from a path", unix.EBADF, func() error { _, err := unix.Read(pfd, buf); return err }},
		call{"read before the start", unix.EINVAL, func() error { _, err := unix.Pread(rfd, buf, -1); return err }},
		call{"seek before the start", unix.EINVAL, func() error { _, err := unix.Seek(rfd, -1, io.SeekStart); return err }},
		call{"truncate to less than nothing", unix.EINVAL, func() error { return unix.Truncate(p.at("f"), -1) }},
		call{"truncate a directory", unix.EISDIR, func() error { return unix.Truncate(p.dir, 0) }},
		call{"read a directory", unix.EISDIR, func() error { _, err := unix.Read(int(open(t, p.dir, unix.O_RDONLY).Fd()), buf); return err }},
	)
	if n, err := unix.Pread(rfd, buf, 100); n != 0 || err != nil {
		t.Errorf("read behind the end: %d, %v", n, err)
	}
}

func openDirect(t *testing.T, p place) {
	fd, err := unix.Open(p.at("f"), unix.O_CREAT|unix.O_RDWR|unix.O_DIRECT, 0o666)
	do(t, err)
	defer unix.Close(fd)
	page, err := unix.Mmap(-1, 0, 8192, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	do(t, err)
	defer unix.Munmap(page)
	copy(page, pattern(8192))
	if n, err := unix.Pwrite(fd, page, 4096); n != 8192 || err != nil {
		t.Errorf("write: %d, %v", n, err)
	}
	wantContent(t, p.at("f"), append(make([]byte, 4096), pattern(8192)...))
	if n, err := unix.Pread(fd, page, 8192); n != 4096 || err != nil || page[0] != pattern(8192)[4096] {
		t.Errorf("read: %d, %v", n, err)
	}
}

func openTmpfile(t *testing.T, p place) {
	fd, err := unix.Open(p.dir, unix.O_TMPFILE|unix.O_RDWR, 0o600)
	do(t, err)
	defer unix.Close(fd)
	if _, err := unix.Write(fd, []byte("abc")); err != nil {
		t.Error(err)
	}
	list, err := os.ReadDir(p.dir)
	if len(list) != 0 || err != nil {
		t.Errorf("directory lists %v, %v", list, err)
	}
	do(t, unix.Linkat(fd, "", unix.AT_FDCWD, p.at("named"), unix.AT_EMPTY_PATH))
	wantContent(t, p.at("named"), []byte("abc"))
}

func openUnlinked(t *testing.T, p place) {
	write(t, p.at("f"), pattern(5000))
	f := open(t, p.at("f"), unix.O_RDWR)
	r := open(t, p.at("f"), unix.O_RDONLY)
	fd := int(f.Fd())
	do(t, unix.Fchmod(fd, 0o640))
	before := lstat(t, p.at("f"))
	do(t, os.Remove(p.at("f")))
	touch(t, p.at("f")) // the name is free again
	if _, err := unix.Pwrite(fd, []byte("more"), 5000); err != nil {
		t.Error(err)
	}
	var st unix.Stat_t
	do(t, unix.Fstat(fd, &st))
	if st.Nlink != 0 || st.Size != 5004 || st.Mode != before.Mode || st.Ino != before.Ino {
		t.Errorf("fstat: %d links, %d bytes, mode %o, inode %d; want 0, 5004, %o, %d", st.Nlink, st.Size, st.Mode, st.Ino, before.Mode, before.Ino)
	}
	do(t, unix.Ftruncate(fd, 3))
	do(t, unix.Fchmod(fd, 0o600))
	do(t, unix.Fchown(fd, 7, 8))
	do(t, unix.Futimes(fd, []unix.Timeval{{Sec: 1000}, {Sec: 2000}}))
	do(t, unix.Fsync(fd))
	do(t, unix.Fstat(int(r.Fd()), &st))
	if st.Size != 3 || st.Mode&0o777 != 0o600 || st.Uid != 7 || st.Gid != 8 || st.Mtim.Sec != 2000 {
		t.Errorf("changed: %d bytes, mode %o, %d:%d, mtime %d", st.Size, st.Mode, st.Uid, st.Gid, st.Mtim.Sec)
	}
	if got, err := io.ReadAll(r); string(got) != string(pattern(5000)[:3]) || err != nil {
		t.Errorf("the other descriptor reads %d bytes, %v", len(got), err)
	}
	// A descriptor made of the open one.
	again, err := os.OpenFile("/proc/self/fd/"+itoa(fd), os.O_RDWR, 0)
	if err != nil {
		t.Errorf("open again: %v", err)
	} else {
		if _, err := again.WriteAt([]byte("xyz"), 0); err != nil {
			t.Errorf("write again: %v", err)
		}
		again.Close()
	}
	wantContent(t, p.at("f"), []byte("x"))
}

func openReplaced(t *testing.T, p place) {
	write(t, p.at("f"), []byte("old"))
	write(t, p.at("g"), []byte("new"))
	f := open(t, p.at("f"), unix.O_RDWR)
	do(t, os.Rename(p.at("g"), p.at("f")))
	if _, err := f.WriteAt([]byte("OLD"), 0); err != nil {
		t.Error(err)
	}
	if got, err := io.ReadAll(f); string(got) != "OLD" || err != nil {
		t.Errorf("replaced file reads %q, %v", got, err)
	}
	wantContent(t, p.at("f"), []byte("new"))
}

func openRemovedDir(t *testing.T, p place) {
	mkdir(t, p.at("d"))
	d := open(t, p.at("d"), unix.O_RDONLY|unix.O_DIRECTORY)
	do(t, os.Remove(p.at("d")))
	fd := int(d.Fd())
	var st unix.Stat_t
	do(t, unix.Fstat(fd, &st))
	if st.Nlink != 0 {
		t.Errorf("%d links", st.Nlink)
	}
	if names, err := d.Readdirnames(0); len(names) != 0 || err != nil && !errors.Is(err, unix.ENOENT) {
		t.Errorf("lists %v, %v", names, err)
	}
	try(t,
		call{"create in it", unix.ENOENT, func() error { _, err := unix.Openat(fd, "x", unix.O_CREAT|unix.O_WRONLY, 0o666); return err }},
		call{"mkdir in it", unix.ENOENT, func() error { return unix.Mkdirat(fd, "x", 0o777) }},
	)
}

// openRaces opens what another thread replaces all the time: it is there, old
// or new.
func openRaces(t *testing.T, p place) {
	touch(t, p.at("f"))
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			if err := os.WriteFile(p.at("new"), []byte("y"), 0o666); err != nil {
				t.Error(err)
			}
			if err := os.Rename(p.at("new"), p.at("f")); err != nil {
				t.Error(err)
			}
		}
	})
	for range 2000 {
		f, err := os.Open(p.at("f"))
		if err != nil {
			t.Error(err)
			break
		}
		var st unix.Stat_t
		if err := unix.Fstat(int(f.Fd()), &st); err != nil {
			t.Error(err)
		}
		if b, err := io.ReadAll(f); len(b) != 1 || err != nil {
			t.Errorf("read %q, %v", b, err)
		}
		f.Close()
	}
	close(stop)
	wg.Wait()
}

func openPath(t *testing.T, p place) {
	do(t, unix.Symlink("target", p.at("l")))
	fd, err := unix.Open(p.at("l"), unix.O_PATH|unix.O_NOFOLLOW, 0)
	do(t, err)
	defer unix.Close(fd)
	buf := make([]byte, 100)
	if n, err := unix.Readlinkat(fd, "", buf); string(buf[:max(n, 0)]) != "target" || err != nil {
		t.Errorf("readlink: %q, %v", buf[:max(n, 0)], err)
	}
}
