package posix

import (
	"bytes"
	"os"
	"sort"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func init() {
	add(map[string]func(*testing.T, place){
		"attr/times of what changes":      attrTimes,
		"attr/times set by hand":          attrSetTimes,
		"attr/modes of every kind":        attrModes,
		"attr/blocks":                     attrBlocks,
		"attr/statfs":                     attrStatfs,
		"attr/statx":                      attrStatx,
		"attr/chown to nobody keeps":      attrChownKeeps,
		"xattr/set, list, get and remove": xattrBasics,
		"xattr/flags and sizes":           xattrFlags,
		"xattr/names that are not ours":   xattrNames,
		"xattr/of directories and links":  xattrKinds,
		"xattr/size asked for":            xattrSizes,
	})
}

// stamps are times of a path: of modification and of change.
func stamps(t *testing.T, path string) (m, c time.Time) {
	t.Helper()
	st := lstat(t, path)
	return time.Unix(st.Mtim.Unix()), time.Unix(st.Ctim.Unix())
}

// attrTimes checks which times each call moves. The clock of file systems ticks
// some hundred times a second, so what is to move is set back before; what is
// to move later is repeated until the clock has moved.
func attrTimes(t *testing.T, p place) {
	d := mkdir(t, p.at("d"))
	f := touch(t, p.at("d", "f"))
	moved := func(what, path string, mtime, ctime bool, f func() error) {
		t.Helper()
		m, c := stamps(t, path)
		end := time.Now().Add(10 * time.Second)
		do(t, f())
		m2, c2 := stamps(t, path)
		for (mtime && !m2.After(m) || ctime && !c2.After(c)) && time.Now().Before(end) {
			do(t, f())
			m2, c2 = stamps(t, path)
		}
		if m2.After(m) != mtime {
			t.Errorf("%s: mtime from %v to %v", what, m, m2)
		}
		if c2.After(c) != ctime {
			t.Errorf("%s: ctime from %v to %v", what, c, c2)
		}
	}
	w := open(t, f, unix.O_RDWR)
	moved("write", f, true, true, func() error { _, err := w.WriteAt([]byte("y"), 0); return err })
	moved("chmod", f, false, true, func() error { return unix.Chmod(f, 0o640) })
	moved("chown", f, false, true, func() error { return unix.Chown(f, 1, 1) })
	moved("truncate", f, true, true, func() error { return unix.Truncate(f, 5) })
	moved("setxattr", f, false, true, func() error { return unix.Setxattr(f, "user.a", []byte("b"), 0) })
	moved("utimes", f, true, true, func() error {
		return unix.UtimesNanoAt(unix.AT_FDCWD, f, nil, 0)
	})
	n := 0
	name := func(s string) string { return p.at("d", s+itoa(n)) }
	moved("create", d, true, true, func() error { n++; return tryOpen(name("c"), unix.O_CREAT|unix.O_WRONLY) })
	moved("mkdir", d, true, true, func() error { n++; return unix.Mkdir(name("m"), 0o777) })
	moved("symlink", d, true, true, func() error { n++; return unix.Symlink("x", name("s")) })
	moved("rename", d, true, true, func() error { old := name("s"); n++; return unix.Rename(old, name("s")) })
	moved("unlink", d, true, true, func() error {
		n++
		if err := unix.Symlink("x", p.at("other")); err != nil {
			return err
		}
		if err := unix.Rename(p.at("other"), name("u")); err != nil {
			return err
		}
		return unix.Unlink(name("u"))
	})
	moved("open again", f, false, false, func() error { return tryOpen(f, unix.O_RDWR) })
	moved("write elsewhere", d, false, false, func() error { _, err := w.WriteAt([]byte("z"), 0); return err })
	moved("O_TRUNC", f, true, true, func() error { return tryOpen(f, unix.O_WRONLY|unix.O_TRUNC) })
	before := time.Now().Add(-time.Second)
	touch(t, p.at("new"))
	if m, c := stamps(t, p.at("new")); m.Before(before) || c.Before(before) || m.After(time.Now().Add(time.Second)) {
		t.Errorf("new file: %v and %v", m, c)
	}
}

func attrSetTimes(t *testing.T, p place) {
	for kind := range kinds {
		f := makeKind(t, kind, p.at(kind))
		for _, sec := range []int64{0, 1, 1<<31 - 1, 1 << 31, 1 << 33} {
			ts := []unix.Timespec{{Sec: sec, Nsec: 123456789}, {Sec: sec + 1, Nsec: 999999999}}
			do(t, unix.UtimesNanoAt(unix.AT_FDCWD, f, ts, unix.AT_SYMLINK_NOFOLLOW))
			if st := lstat(t, f); st.Atim != ts[0] || st.Mtim != ts[1] {
				t.Errorf("%s: %v and %v, want %v", kind, st.Atim, st.Mtim, ts)
			}
		}
		omit := []unix.Timespec{{Nsec: unix.UTIME_OMIT}, {Sec: 77}}
		do(t, unix.UtimesNanoAt(unix.AT_FDCWD, f, omit, unix.AT_SYMLINK_NOFOLLOW))
		if st := lstat(t, f); st.Atim.Sec != 1<<33 || st.Mtim.Sec != 77 {
			t.Errorf("%s: %v and %v", kind, st.Atim, st.Mtim)
		}
	}
	// A file that is open keeps what is set, until it is written.
	f := open(t, p.at("file"), unix.O_RDWR)
	old := []unix.Timespec{{Sec: 1000}, {Sec: 2000}}
	do(t, unix.UtimesNanoAt(unix.AT_FDCWD, p.at("file"), old, 0))
	var st unix.Stat_t
	do(t, unix.Fstat(int(f.Fd()), &st))
	if st.Mtim.Sec != 2000 {
		t.Errorf("mtime of an open file: %d", st.Mtim.Sec)
	}
	do(t, f.Close())
	if st := lstat(t, p.at("file")); st.Mtim.Sec != 2000 {
		t.Errorf("mtime after close: %d", st.Mtim.Sec)
	}
	try(t, call{"nanoseconds out of range", unix.EINVAL, func() error {
		return unix.UtimesNanoAt(unix.AT_FDCWD, p.at("file"), []unix.Timespec{{Nsec: 1e9}, {}}, 0)
	}})
}

func attrModes(t *testing.T, p place) {
	for kind := range kinds {
		if kind == "symlink" {
			continue
		}
		f := makeKind(t, kind, p.at(kind))
		for _, mode := range []uint32{0, 0o111, 0o777, 0o1777, 0o4711, 0o2711, 0o7777, 0o644} {
			do(t, unix.Chmod(f, mode))
			if st := lstat(t, f); st.Mode&0o7777 != mode || kindOf(t, f) != kind {
				t.Errorf("%s: mode %o, want %o", kind, st.Mode, mode)
			}
		}
		do(t, unix.Chmod(f, 0o777))
	}
}

func attrBlocks(t *testing.T, p place) {
	f := open(t, p.at("f"), unix.O_RDWR|unix.O_CREAT)
	do(t, f.Truncate(1<<20))
	if st := lstat(t, p.at("f")); st.Blocks != 0 || st.Size != 1<<20 {
		t.Errorf("a hole has %d blocks of %d bytes", st.Blocks, st.Size)
	}
	if _, err := f.WriteAt(pattern(100_000), 0); err != nil {
		t.Error(err)
	}
	if st := lstat(t, p.at("f")); st.Blocks < 100_000/512 || st.Blocks > 200_000/512 {
		t.Errorf("100000 bytes have %d blocks", st.Blocks)
	}
	if st := lstat(t, p.at("f")); st.Blksize < 512 || st.Nlink != 1 {
		t.Errorf("block size %d, %d links", st.Blksize, st.Nlink)
	}
}

func attrStatfs(t *testing.T, p place) {
	var st unix.Statfs_t
	do(t, unix.Statfs(p.dir, &st))
	if st.Blocks == 0 || st.Bavail == 0 || st.Bsize == 0 || st.Namelen != 255 {
		t.Errorf("%+v", st)
	}
}

func attrStatx(t *testing.T, p place) {
	touch(t, p.at("f"))
	var st unix.Statx_t
	do(t, unix.Statx(unix.AT_FDCWD, p.at("f"), 0, unix.STATX_BASIC_STATS, &st))
	if st.Size != 1 || st.Mask&unix.STATX_BASIC_STATS != unix.STATX_BASIC_STATS {
		t.Errorf("%d bytes, mask %x", st.Size, st.Mask)
	}
	plain := lstat(t, p.at("f"))
	if st.Ino != plain.Ino || uint32(st.Mode) != plain.Mode || st.Mtime.Nsec != uint32(plain.Mtim.Nsec) {
		t.Errorf("statx %+v, stat %+v", st, plain)
	}
}

func attrChownKeeps(t *testing.T, p place) {
	f := touch(t, p.at("f"))
	do(t, unix.Chown(f, 10, 20))
	do(t, unix.Chown(f, -1, 21))
	do(t, unix.Chown(f, 11, -1))
	do(t, unix.Chown(f, -1, -1))
	if st := lstat(t, f); st.Uid != 11 || st.Gid != 21 {
		t.Errorf("%d:%d, want 11:21", st.Uid, st.Gid)
	}
}

func names(t *testing.T, path string) string {
	t.Helper()
	buf := make([]byte, 64<<10)
	n, err := unix.Llistxattr(path, buf)
	do(t, err)
	var list []string
	for _, name := range strings.Split(string(buf[:n]), "\x00") {
		if name != "" && !strings.HasPrefix(name, "user.scr.") {
			list = append(list, name)
		}
	}
	sort.Strings(list)
	return strings.Join(list, " ")
}

func xattrBasics(t *testing.T, p place) {
	f := touch(t, p.at("f"))
	values := map[string][]byte{"user.a": []byte("1"), "user.empty": {}, "user.bytes": {0, 255, 10, 0}, "user.ü b": []byte("x")}
	for name, value := range values {
		do(t, unix.Setxattr(f, name, value, 0))
	}
	if got := names(t, f); got != "user.a user.bytes user.empty user.ü b" {
		t.Errorf("list: %q", got)
	}
	buf := make([]byte, 100)
	for name, value := range values {
		if n, err := unix.Getxattr(f, name, buf); err != nil || !bytes.Equal(buf[:n], value) {
			t.Errorf("%s: %q, %v", name, buf[:max(n, 0)], err)
		}
	}
	do(t, unix.Setxattr(f, "user.a", []byte("longer"), 0))
	do(t, unix.Removexattr(f, "user.empty"))
	if got := names(t, f); got != "user.a user.bytes user.ü b" {
		t.Errorf("list: %q", got)
	}
	fd := int(open(t, f, unix.O_RDONLY).Fd())
	if n, err := unix.Fgetxattr(fd, "user.a", buf); err != nil || string(buf[:n]) != "longer" {
		t.Errorf("through a descriptor: %q, %v", buf[:max(n, 0)], err)
	}
}

func xattrFlags(t *testing.T, p place) {
	f := touch(t, p.at("f"))
	set := func(name string, size, flags int) func() error {
		return func() error { return unix.Setxattr(f, name, make([]byte, size), flags) }
	}
	buf := make([]byte, 100)
	try(t,
		call{"replace what is not there", unix.ENODATA, set("user.a", 1, unix.XATTR_REPLACE)},
		call{"create", nil, set("user.a", 50, unix.XATTR_CREATE)},
		call{"create again", unix.EEXIST, set("user.a", 1, unix.XATTR_CREATE)},
		call{"replace", nil, set("user.a", 60, unix.XATTR_REPLACE)},
		call{"get into too little", unix.ERANGE, func() error { _, err := unix.Getxattr(f, "user.a", buf[:10]); return err }},
		call{"list into too little", unix.ERANGE, func() error { _, err := unix.Listxattr(f, buf[:3]); return err }},
		call{"get what is not there", unix.ENODATA, func() error { _, err := unix.Getxattr(f, "user.b", buf); return err }},
		call{"remove what is not there", unix.ENODATA, func() error { return unix.Removexattr(f, "user.b") }},
		call{"too large", unix.E2BIG, set("user.big", 65537, 0)},
		call{"name too long", unix.ERANGE, set("user."+longest, 1, 0)},
		call{"largest", nil, set("user.big", 60000, 0)},
		call{"unknown flag", unix.EINVAL, set("user.a", 1, 8)},
	)
}

func xattrNames(t *testing.T, p place) {
	f := touch(t, p.at("f"))
	buf := make([]byte, 100)
	try(t,
		call{"no name space", unix.EOPNOTSUPP, func() error { return unix.Setxattr(f, "bare", []byte("x"), 0) }},
		call{"unknown name space", unix.EOPNOTSUPP, func() error { return unix.Setxattr(f, "other.a", []byte("x"), 0) }},
		call{"get of an unknown name space", unix.EOPNOTSUPP, func() error { _, err := unix.Getxattr(f, "other.a", buf); return err }},
		call{"capability that is not there", unix.ENODATA, func() error { _, err := unix.Getxattr(f, "security.capability", buf); return err }},
	)
}

func xattrKinds(t *testing.T, p place) {
	d := mkdir(t, p.at("d"))
	do(t, unix.Setxattr(d, "user.a", []byte("b"), 0))
	if got := names(t, d); got != "user.a" {
		t.Errorf("directory: %q", got)
	}
	do(t, unix.Symlink("d", p.at("l")))
	try(t, call{"user attribute of a link", unix.EPERM, func() error { return unix.Lsetxattr(p.at("l"), "user.a", []byte("b"), 0) }})
	makeKind(t, "fifo", p.at("fifo"))
	try(t, call{"user attribute of a FIFO", unix.EPERM, func() error { return unix.Setxattr(p.at("fifo"), "user.a", []byte("b"), 0) }})
}

func xattrSizes(t *testing.T, p place) {
	f := touch(t, p.at("f"))
	do(t, unix.Setxattr(f, "user.a", make([]byte, 50), 0))
	if n, err := unix.Getxattr(f, "user.a", nil); n != 50 || err != nil {
		t.Errorf("size of the value: %d, %v", n, err)
	}
	n, err := unix.Listxattr(f, nil)
	buf := make([]byte, 1000)
	m, err2 := unix.Listxattr(f, buf)
	if n != m || n < len("user.a")+1 || err != nil || err2 != nil {
		t.Errorf("size of the list: %d and %d, %v, %v", n, m, err, err2)
	}
	do(t, os.Remove(f))
}
