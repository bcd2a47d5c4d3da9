package posix

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

func init() {
	add(map[string]func(*testing.T, place){
		"permission/modes of files":            permFiles,
		"permission/modes of directories":      permDirs,
		"permission/sticky directory":          permSticky,
		"permission/owner alone may change":    permOwner,
		"permission/group of the caller":       permGroups,
		"permission/set-id bits on chown":      permChownBits,
		"permission/set-id bits on write":      permWriteBits,
		"permission/set-group-id of others":    permForeignGroup,
		"permission/set-group-id directory":    permGroupDir,
		"permission/new names belong to maker": permMaker,
		"permission/times by a writer":         permTimes,
		"permission/extended attributes":       permXattr,
	})
}

const otherGroup = 4242

// asUser runs f as the user the mount serves.
func asUser(t *testing.T, f func()) {
	t.Helper()
	as(t, userID, []int{userID}, f)
}

func own(t *testing.T, path string, uid, gid int, mode uint32) string {
	t.Helper()
	do(t, unix.Lchown(path, uid, gid))
	do(t, unix.Chmod(path, mode))
	return path
}

func permFiles(t *testing.T, p place) {
	for _, c := range []struct {
		uid, gid          int
		mode              uint32
		read, write, exec bool
	}{
		{0, 0, 0o004, true, false, false},
		{0, 0, 0o002, false, true, false},
		{0, 0, 0o001, false, false, true},
		{0, 0, 0o770, false, false, false},
		{0, userID, 0o040, true, false, false},
		{0, userID, 0o707, false, false, false},
		{0, userID, 0o020, false, true, false},
		{userID, 0, 0o400, true, false, false},
		{userID, 0, 0o200, false, true, false},
		{userID, userID, 0o077, false, false, false},
		{userID, 0, 0o700, true, true, true},
	} {
		f := own(t, touch(t, p.at("f")), c.uid, c.gid, c.mode)
		denied := func(ok bool) error {
			if ok {
				return nil
			}
			return unix.EACCES
		}
		asUser(t, func() {
			try(t,
				call{"read", denied(c.read), func() error { return tryOpen(f, unix.O_RDONLY) }},
				call{"write", denied(c.write), func() error { return tryOpen(f, unix.O_WRONLY) }},
				call{"both", denied(c.read && c.write), func() error { return tryOpen(f, unix.O_RDWR) }},
				call{"truncate", denied(c.write), func() error { return unix.Truncate(f, 0) }},
				call{"access R", denied(c.read), func() error { return unix.Faccessat(unix.AT_FDCWD, f, unix.R_OK, unix.AT_EACCESS) }},
				call{"access W", denied(c.write), func() error { return unix.Faccessat(unix.AT_FDCWD, f, unix.W_OK, unix.AT_EACCESS) }},
				call{"access X", denied(c.exec), func() error { return unix.Faccessat(unix.AT_FDCWD, f, unix.X_OK, unix.AT_EACCESS) }},
			)
		})
		if t.Failed() {
			t.Fatalf("with %d:%d %o", c.uid, c.gid, c.mode)
		}
		do(t, os.Remove(f))
	}
}

func permDirs(t *testing.T, p place) {
	d := mkdir(t, p.at("d"))
	touch(t, p.at("d", "f"))
	list := func() error { _, err := os.ReadDir(d); return err }
	search := func() error { return unix.Access(p.at("d", "f"), unix.F_OK) }
	makes := func() error { return tryOpen(p.at("d", "new"), unix.O_CREAT|unix.O_WRONLY) }
	own(t, d, 0, 0, 0o755)
	asUser(t, func() {
		try(t, call{"list 755", nil, list}, call{"search 755", nil, search}, call{"create 755", unix.EACCES, makes})
		try(t,
			call{"mkdir", unix.EACCES, func() error { return unix.Mkdir(p.at("d", "n"), 0o777) }},
			call{"symlink", unix.EACCES, func() error { return unix.Symlink("x", p.at("d", "n")) }},
			call{"mkfifo", unix.EACCES, func() error { return unix.Mkfifo(p.at("d", "n"), 0o666) }},
			call{"unlink", unix.EACCES, func() error { return unix.Unlink(p.at("d", "f")) }},
			call{"rename", unix.EACCES, func() error { return unix.Rename(p.at("d", "f"), p.at("d", "g")) }},
			call{"rename out", unix.EACCES, func() error { return unix.Rename(p.at("d", "f"), p.at("g")) }},
		)
	})
	own(t, d, 0, 0, 0o711)
	asUser(t, func() { try(t, call{"list 711", unix.EACCES, list}, call{"search 711", nil, search}) })
	own(t, d, 0, 0, 0o744)
	asUser(t, func() { try(t, call{"list 744", nil, list}, call{"search 744", unix.EACCES, search}) })
	own(t, d, 0, 0, 0o777)
	asUser(t, func() { try(t, call{"create 777", nil, makes}) })
}

func permSticky(t *testing.T, p place) {
	d := own(t, mkdir(t, p.at("d")), 0, 0, 0o1777)
	dir2 := own(t, mkdir(t, p.at("plain")), 0, 0, 0o777)
	for kind := range kinds {
		a := makeKind(t, kind, d+"/root-"+kind)
		makeKind(t, kind, dir2+"/root-"+kind)
		asUser(t, func() {
			mine := d + "/mine-" + kind
			if err := kinds[kind](mine); err != nil {
				t.Error(err)
			}
			remove := unix.Unlink
			if kind == "dir" {
				remove = unix.Rmdir
			}
			try(t,
				call{kind + ": remove another's", unix.EPERM, func() error { return remove(a) }},
				call{kind + ": rename another's", unix.EPERM, func() error { return unix.Rename(a, d+"/x") }},
				call{kind + ": rename over another's", unix.EPERM, func() error { return unix.Rename(mine, a) }},
				call{kind + ": rename one's own", nil, func() error { return unix.Rename(mine, d+"/mine") }},
				call{kind + ": remove one's own", nil, func() error { return remove(d + "/mine") }},
				call{kind + ": remove another's without the bit", nil, func() error { return remove(dir2 + "/root-" + kind) }},
			)
		})
	}
	own(t, d, userID, 0, 0o1777)
	asUser(t, func() {
		try(t, call{"remove another's from one's own directory", nil, func() error { return unix.Unlink(d + "/root-file") }})
	})
}

func permOwner(t *testing.T, p place) {
	f := own(t, touch(t, p.at("f")), 0, 0, 0o666)
	mine := own(t, touch(t, p.at("mine")), userID, userID, 0o600)
	ts := []unix.Timespec{{Sec: 1}, {Sec: 2}}
	asUser(t, func() {
		try(t,
			call{"chmod another's", unix.EPERM, func() error { return unix.Chmod(f, 0o600) }},
			call{"chown another's", unix.EPERM, func() error { return unix.Chown(f, userID, -1) }},
			call{"chgrp another's", unix.EPERM, func() error { return unix.Chown(f, -1, userID) }},
			call{"set times of another's", unix.EPERM, func() error { return unix.UtimesNanoAt(unix.AT_FDCWD, f, ts, 0) }},
			call{"give away", unix.EPERM, func() error { return unix.Chown(mine, 0, -1) }},
			call{"to a strange group", unix.EPERM, func() error { return unix.Chown(mine, -1, otherGroup) }},
			call{"to oneself", nil, func() error { return unix.Chown(mine, userID, userID) }},
			call{"chmod one's own", nil, func() error { return unix.Chmod(mine, 0o640) }},
			call{"set times of one's own", nil, func() error { return unix.UtimesNanoAt(unix.AT_FDCWD, mine, ts, 0) }},
		)
	})
	if st := lstat(t, f); st.Mode&0o7777 != 0o666 || st.Uid != 0 {
		t.Errorf("mode %o, owner %d", st.Mode&0o7777, st.Uid)
	}
}

func permGroups(t *testing.T, p place) {
	f := own(t, touch(t, p.at("f")), 0, otherGroup, 0o660)
	mine := own(t, touch(t, p.at("mine")), userID, userID, 0o600)
	asUser(t, func() { try(t, call{"not a member", unix.EACCES, func() error { return tryOpen(f, unix.O_RDWR) }}) })
	as(t, userID, []int{userID, otherGroup}, func() {
		try(t,
			call{"a member", nil, func() error { return tryOpen(f, unix.O_RDWR) }},
			call{"chgrp to another of one's groups", nil, func() error { return unix.Chown(mine, -1, otherGroup) }},
		)
	})
	as(t, userID, []int{otherGroup}, func() {
		try(t, call{"of another primary group", nil, func() error { return tryOpen(p.at("n"), unix.O_CREAT|unix.O_RDWR) }})
	})
	if st := lstat(t, p.at("n")); st.Gid != otherGroup || st.Uid != userID {
		t.Errorf("new file is of %d:%d", st.Uid, st.Gid)
	}
}

// bitsAfter makes a file of a mode, does something as the user, and returns
// the mode it has then.
func bitsAfter(t *testing.T, p place, mode uint32, change func(string) error) uint32 {
	t.Helper()
	f := own(t, touch(t, p.at("f")), userID, userID, mode)
	as(t, userID, []int{userID, otherGroup}, func() {
		if err := change(f); err != nil {
			t.Error(err)
		}
	})
	st := lstat(t, f)
	do(t, os.Remove(f))
	return st.Mode & 0o7777
}

func permChownBits(t *testing.T, p place) {
	chgrp := func(f string) error { return unix.Chown(f, -1, otherGroup) }
	none := func(f string) error { return unix.Chown(f, -1, -1) }
	for _, c := range []struct{ mode, want uint32 }{
		{0o6755, 0o0755}, {0o4755, 0o0755}, {0o2755, 0o0755}, {0o2745, 0o2745}, {0o0644, 0o0644}, {0o1755, 0o1755},
	} {
		want := c.want
		if c.mode == 0o2745 {
			continue // kernels differ
		}
		if got := bitsAfter(t, p, c.mode, chgrp); got != want {
			t.Errorf("%o becomes %o, want %o", c.mode, got, want)
		}
	}
	if got := bitsAfter(t, p, 0o6755, none); got != 0o755 && got != 0o6755 {
		t.Errorf("chown to nobody: 6755 becomes %o", got)
	}
	// Root's chown takes them as well, from files but not from directories.
	f := own(t, touch(t, p.at("root")), 0, 0, 0o6755)
	do(t, unix.Chown(f, 5, 5))
	if st := lstat(t, f); st.Mode&0o7777 != 0o755 {
		t.Errorf("root: 6755 becomes %o", st.Mode&0o7777)
	}
	d := own(t, mkdir(t, p.at("dir")), 0, 0, 0o6755)
	do(t, unix.Chown(d, 5, 5))
	if st := lstat(t, d); st.Mode&0o7777 != 0o6755 {
		t.Errorf("directory: 6755 becomes %o", st.Mode&0o7777)
	}
}

func permWriteBits(t *testing.T, p place) {
	with := func(flags int, f func(fd int) error) func(string) error {
		return func(path string) error {
			fd, err := unix.Open(path, flags, 0)
			if err != nil {
				return err
			}
			defer unix.Close(fd)
			return f(fd)
		}
	}
	for what, change := range map[string]func(string) error{
		"write":     with(unix.O_WRONLY, func(fd int) error { _, err := unix.Write(fd, []byte("x")); return err }),
		"append":    with(unix.O_WRONLY|unix.O_APPEND, func(fd int) error { _, err := unix.Write(fd, []byte("x")); return err }),
		"O_TRUNC":   with(unix.O_WRONLY|unix.O_TRUNC, func(int) error { return nil }),
		"truncate":  func(f string) error { return unix.Truncate(f, 1000) },
		"ftruncate": with(unix.O_WRONLY, func(fd int) error { return unix.Ftruncate(fd, 1000) }),
		"fallocate": with(unix.O_WRONLY, func(fd int) error { return unix.Fallocate(fd, 0, 0, 10000) }),
	} {
		for mode, want := range map[uint32]uint32{0o6777: 0o0777, 0o4777: 0o0777, 0o2777: 0o0777, 0o1777: 0o1777} {
			if got := bitsAfter(t, p, mode, change); got != want {
				t.Errorf("%s: %o becomes %o, want %o", what, mode, got, want)
			}
		}
	}
}

// permForeignGroup: who is not of the file's group cannot set its bit.
func permForeignGroup(t *testing.T, p place) {
	f := own(t, touch(t, p.at("f")), userID, otherGroup, 0o644)
	asUser(t, func() {
		if err := unix.Chmod(f, 0o2755); err != nil {
			t.Error(err)
		}
	})
	if st := lstat(t, f); st.Mode&0o7777 != 0o755 {
		t.Errorf("mode %o, want 0755", st.Mode&0o7777)
	}
}

func permGroupDir(t *testing.T, p place) {
	d := own(t, mkdir(t, p.at("d")), userID, otherGroup, 0o2777)
	asUser(t, func() {
		for kind, f := range kinds {
			if err := f(d + "/" + kind); err != nil {
				t.Error(err)
			}
		}
	})
	for kind := range kinds {
		st := lstat(t, d+"/"+kind)
		if st.Uid != userID || st.Gid != otherGroup {
			t.Errorf("%s is of %d:%d", kind, st.Uid, st.Gid)
		}
		if want := kind == "dir"; st.Mode&unix.S_ISGID != 0 != want {
			t.Errorf("%s has mode %o", kind, st.Mode&0o7777)
		}
	}
	plain := own(t, mkdir(t, p.at("plain")), userID, otherGroup, 0o777)
	asUser(t, func() {
		if err := unix.Mkdir(plain+"/sub", 0o777); err != nil {
			t.Error(err)
		}
	})
	if st := lstat(t, plain+"/sub"); st.Gid != userID {
		t.Errorf("in a plain directory the group is %d", st.Gid)
	}
}

func permMaker(t *testing.T, p place) {
	asUser(t, func() {
		for kind, f := range kinds {
			if err := f(p.at(kind)); err != nil {
				t.Error(err)
			}
		}
	})
	for kind := range kinds {
		if st := lstat(t, p.at(kind)); st.Uid != userID || st.Gid != userID {
			t.Errorf("%s is of %d:%d", kind, st.Uid, st.Gid)
		}
	}
}

func permTimes(t *testing.T, p place) {
	f := own(t, touch(t, p.at("f")), 0, 0, 0o666)
	do(t, unix.UtimesNanoAt(unix.AT_FDCWD, f, []unix.Timespec{{Sec: 1}, {Sec: 1}}, 0))
	now := unix.Timespec{Nsec: unix.UTIME_NOW}
	omit := unix.Timespec{Nsec: unix.UTIME_OMIT}
	utimes := func(a, m unix.Timespec) func() error {
		return func() error { return unix.UtimesNanoAt(unix.AT_FDCWD, f, []unix.Timespec{a, m}, 0) }
	}
	asUser(t, func() {
		try(t,
			call{"present time", nil, utimes(now, now)},
			call{"one of two", unix.EPERM, utimes(now, omit)},
			call{"none of two", nil, utimes(omit, omit)},
			call{"another time", unix.EPERM, utimes(unix.Timespec{Sec: 5}, unix.Timespec{Sec: 5})},
		)
	})
	if st := lstat(t, f); st.Mtim.Sec < 1000 {
		t.Errorf("mtime %d", st.Mtim.Sec)
	}
	own(t, f, 0, 0, 0o644)
	asUser(t, func() { try(t, call{"present time of a file one may not write", unix.EACCES, utimes(now, now)}) })
}

func permXattr(t *testing.T, p place) {
	f := own(t, touch(t, p.at("f")), 0, 0, 0o644)
	do(t, unix.Setxattr(f, "user.a", []byte("1"), 0))
	buf := make([]byte, 10)
	asUser(t, func() {
		try(t,
			call{"set", unix.EACCES, func() error { return unix.Setxattr(f, "user.a", []byte("2"), 0) }},
			call{"remove", unix.EACCES, func() error { return unix.Removexattr(f, "user.a") }},
			call{"get", nil, func() error { _, err := unix.Getxattr(f, "user.a", buf); return err }},
		)
	})
	own(t, f, 0, 0, 0o600)
	asUser(t, func() {
		try(t, call{"get unreadable", unix.EACCES, func() error { _, err := unix.Getxattr(f, "user.a", buf); return err }})
	})
}
