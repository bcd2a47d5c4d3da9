package posix

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

func init() {
	add(map[string]func(*testing.T, place){
		"rename/every kind over every kind": renameKinds,
		"rename/not replacing":              renameNoReplace,
		"rename/exchanging":                 renameExchange,
		"rename/errors":                     renameErrors,
		"rename/directories with content":   renameTrees,
		"rename/keeps the file":             renameKeeps,
		"remove/errors":                     removeErrors,
		"remove/files of every kind":        removeKinds,
		"symlink/text":                      symlinkText,
		"symlink/followed":                  symlinkFollowed,
		"link/names of one file":            linkNames,
		"link/errors":                       linkErrors,
		"link/removed and renamed":          linkMoves,
	})
}

// renameOver is what rename(2) says of two kinds.
func renameOver(from, to string) error {
	switch {
	case from == "dir" && to != "dir" && to != "":
		return unix.ENOTDIR
	case from != "dir" && to == "dir":
		return unix.EISDIR
	}
	return nil
}

func renameKinds(t *testing.T, p place) {
	for from := range kinds {
		for to := range kinds {
			a, b := p.at("a"), p.at("b")
			makeKind(t, from, a)
			makeKind(t, to, b)
			want := renameOver(from, to)
			ino := lstat(t, a).Ino
			try(t, call{from + " over " + to, want, func() error { return unix.Rename(a, b) }})
			if want == nil {
				if st := lstat(t, b); st.Ino != ino || kindOf(t, b) != from {
					t.Errorf("%s over %s: a %s, inode %d instead of %d", from, to, kindOf(t, b), st.Ino, ino)
				}
				if _, err := os.Lstat(a); !os.IsNotExist(err) {
					t.Errorf("%s over %s: the old name is there", from, to)
				}
			} else {
				do(t, os.Remove(a))
			}
			do(t, os.Remove(b))
		}
	}
}

func renameat2(from, to string, flags uint) error {
	return unix.Renameat2(unix.AT_FDCWD, from, unix.AT_FDCWD, to, flags)
}

func renameNoReplace(t *testing.T, p place) {
	for from := range kinds {
		a := makeKind(t, from, p.at("a"))
		for to := range kinds {
			b := makeKind(t, to, p.at("b"))
			try(t, call{from + " over " + to, unix.EEXIST, func() error { return renameat2(a, b, unix.RENAME_NOREPLACE) }})
			do(t, os.Remove(b))
		}
		do(t, renameat2(a, p.at("c"), unix.RENAME_NOREPLACE))
		do(t, os.Remove(p.at("c")))
	}
}

func renameExchange(t *testing.T, p place) {
	mkdir(t, p.at("sub"))
	for from := range kinds {
		for to := range kinds {
			a, b := makeKind(t, from, p.at("a")), makeKind(t, to, p.at("sub", "b"))
			inoA, inoB := lstat(t, a).Ino, lstat(t, b).Ino
			try(t, call{from + " with " + to, nil, func() error { return renameat2(a, b, unix.RENAME_EXCHANGE) }})
			if lstat(t, a).Ino != inoB || lstat(t, b).Ino != inoA {
				t.Errorf("%s with %s: not exchanged", from, to)
			}
			do(t, os.Remove(a))
			do(t, os.Remove(b))
		}
	}
	a := touch(t, p.at("a"))
	try(t,
		call{"with nothing", unix.ENOENT, func() error { return renameat2(a, p.at("none"), unix.RENAME_EXCHANGE) }},
		call{"with itself", nil, func() error { return renameat2(a, a, unix.RENAME_EXCHANGE) }},
		call{"both flags", unix.EINVAL, func() error { return renameat2(a, p.at("b"), unix.RENAME_EXCHANGE|unix.RENAME_NOREPLACE) }},
		call{"unknown flag", unix.EINVAL, func() error { return renameat2(a, p.at("b"), 64) }},
	)
	// Contents follow.
	mkdir(t, p.at("d1"))
	mkdir(t, p.at("d2"))
	write(t, p.at("d1", "f"), []byte("one"))
	write(t, p.at("d2", "f"), []byte("two"))
	do(t, renameat2(p.at("d1"), p.at("d2"), unix.RENAME_EXCHANGE))
	wantContent(t, p.at("d1", "f"), []byte("two"))
	wantContent(t, p.at("d2", "f"), []byte("one"))
	do(t, renameat2(p.at("d1", "f"), p.at("a"), unix.RENAME_EXCHANGE))
	wantContent(t, p.at("a"), []byte("two"))
	do(t, renameat2(p.at("d2"), p.at("a"), unix.RENAME_EXCHANGE))
	wantContent(t, p.at("a", "f"), []byte("one"))
	wantContent(t, p.at("d2"), []byte("two"))
}

func renameErrors(t *testing.T, p place) {
	mkdir(t, p.at("d"))
	mkdir(t, p.at("d", "e"))
	mkdir(t, p.at("full"))
	touch(t, p.at("full", "f"))
	touch(t, p.at("f"))
	ren := func(a, b string) func() error { return func() error { return unix.Rename(p.at(a), p.at(b)) } }
	try(t,
		call{"into itself", unix.EINVAL, ren("d", "d/x")},
		call{"into its own child", unix.EINVAL, ren("d", "d/e/x")},
		call{"over its ancestor", unix.ENOTEMPTY, ren("d/e", "d")},
		call{"over a full directory", unix.ENOTEMPTY, ren("d", "full")},
		call{"onto itself", nil, ren("f", "f")},
		call{"from nothing", unix.ENOENT, ren("none", "x")},
		call{"file to a name with a slash", unix.ENOTDIR, func() error { return unix.Rename(p.at("f"), p.at("x")+"/") }},
		call{"directory to a name with a slash", nil, func() error { return unix.Rename(p.at("d", "e"), p.at("x")+"/") }},
		call{"over an empty directory", nil, ren("d", "x")},
	)
}

func renameTrees(t *testing.T, p place) {
	mkdir(t, p.at("a"))
	mkdir(t, p.at("a", "b"))
	write(t, p.at("a", "b", "f"), pattern(1000))
	do(t, unix.Symlink("f", p.at("a", "b", "l")))
	f := open(t, p.at("a", "b", "f"), unix.O_RDWR)
	d := open(t, p.at("a", "b"), unix.O_RDONLY|unix.O_DIRECTORY)
	mkdir(t, p.at("c"))
	before := lstat(t, p.at("a", "b"))
	do(t, os.Rename(p.at("a"), p.at("c", "z")))
	wantContent(t, p.at("c", "z", "b", "l"), pattern(1000))
	if _, err := f.WriteAt([]byte("written after"), 1000); err != nil {
		t.Error(err)
	}
	wantContent(t, p.at("c", "z", "b", "f"), append(pattern(1000), "written after"...))
	fd, err := unix.Openat(int(d.Fd()), "new", unix.O_CREAT|unix.O_WRONLY, 0o666)
	do(t, err)
	do(t, unix.Close(fd))
	lstat(t, p.at("c", "z", "b", "new"))
	if st := lstat(t, p.at("c", "z", "b")); st.Ino != before.Ino {
		t.Errorf("inode %d became %d", before.Ino, st.Ino)
	}
	up := lstat(t, p.at("c", "z")+"/..")
	if st := lstat(t, p.at("c")); st.Ino != up.Ino {
		t.Errorf(".. is inode %d, want %d", up.Ino, st.Ino)
	}
	// A link count of a directory counts its sub directories.
	a, b := lstat(t, p.dir), lstat(t, p.at("c"))
	if p.area == plainArea && (a.Nlink != 3 || b.Nlink != 3) {
		t.Errorf("links: %d and %d", a.Nlink, b.Nlink)
	}
}

func renameKeeps(t *testing.T, p place) {
	write(t, p.at("f"), pattern(10))
	do(t, unix.Chmod(p.at("f"), 0o4751))
	do(t, unix.Setxattr(p.at("f"), "user.a", []byte("b"), 0))
	before := lstat(t, p.at("f"))
	do(t, os.Rename(p.at("f"), p.at("g")))
	after := lstat(t, p.at("g"))
	if after.Mode != before.Mode || after.Mtim != before.Mtim || after.Ino != before.Ino || after.Size != 10 {
		t.Errorf("before %+v, after %+v", before, after)
	}
	buf := make([]byte, 10)
	if n, err := unix.Getxattr(p.at("g"), "user.a", buf); n != 1 || err != nil {
		t.Errorf("attribute: %d, %v", n, err)
	}
}

func removeErrors(t *testing.T, p place) {
	mkdir(t, p.at("d"))
	touch(t, p.at("d", "f"))
	mkdir(t, p.at("e"))
	do(t, unix.Symlink("e", p.at("l")))
	try(t,
		call{"unlink a directory", unix.EISDIR, func() error { return unix.Unlink(p.at("e")) }},
		call{"rmdir a file", unix.ENOTDIR, func() error { return unix.Rmdir(p.at("d", "f")) }},
		call{"rmdir a link to a directory", unix.ENOTDIR, func() error { return unix.Rmdir(p.at("l")) }},
		call{"rmdir a full directory", unix.ENOTEMPTY, func() error { return unix.Rmdir(p.at("d")) }},
		call{"rmdir it", nil, func() error { return unix.Rmdir(p.at("e")) }},
		call{"rmdir it again", unix.ENOENT, func() error { return unix.Rmdir(p.at("e")) }},
		call{"unlink a name with a slash", unix.ENOTDIR, func() error { return unix.Unlink(p.at("d", "f") + "/") }},
	)
}

func removeKinds(t *testing.T, p place) {
	for kind := range kinds {
		makeKind(t, kind, p.at(kind))
		do(t, os.Remove(p.at(kind)))
		if _, err := os.Lstat(p.at(kind)); !os.IsNotExist(err) {
			t.Errorf("%s: %v", kind, err)
		}
	}
	if list, err := os.ReadDir(p.dir); len(list) != 0 || err != nil {
		t.Errorf("left: %v, %v", list, err)
	}
}

func symlinkText(t *testing.T, p place) {
	for _, text := range []string{"x", "/", "../..", "a b\n\xff", longest + "/" + longest, string(pattern4095())} {
		do(t, unix.Symlink(text, p.at("l")))
		if got, err := os.Readlink(p.at("l")); got != text || err != nil {
			t.Errorf("%d bytes of text come back as %d, %v", len(text), len(got), err)
		}
		if st := lstat(t, p.at("l")); st.Size != int64(len(text)) || st.Mode != unix.S_IFLNK|0o777 {
			t.Errorf("lstat: %d bytes, mode %o", st.Size, st.Mode)
		}
		do(t, os.Remove(p.at("l")))
	}
	buf := make([]byte, 10)
	try(t,
		call{"text too long", unix.ENAMETOOLONG, func() error { return unix.Symlink(string(pattern4095())+"x", p.at("l")) }},
		call{"no text", unix.ENOENT, func() error { return unix.Symlink("", p.at("l")) }},
		call{"readlink of a directory", unix.EINVAL, func() error { _, err := unix.Readlink(p.dir, buf); return err }},
	)
}

func pattern4095() []byte {
	b := make([]byte, unix.PathMax-1)
	for i := range b {
		b[i] = 'a' + byte(i%26)
	}
	return b
}

func symlinkFollowed(t *testing.T, p place) {
	write(t, p.at("f"), pattern(10))
	do(t, unix.Symlink("f", p.at("l0")))
	for i := range 39 {
		do(t, unix.Symlink("l"+itoa(i), p.at("l"+itoa(i+1))))
	}
	wantContent(t, p.at("l39"), pattern(10))
	do(t, unix.Symlink("l39", p.at("l40")))
	try(t, call{"41 links", unix.ELOOP, func() error { return tryOpen(p.at("l40"), unix.O_RDONLY) }})
	do(t, unix.Chmod(p.at("l5"), 0o741))
	if st := lstat(t, p.at("f")); st.Mode&0o777 != 0o741 {
		t.Errorf("chmod of a link: target has %o", st.Mode&0o777)
	}
	do(t, unix.Lchown(p.at("l0"), 5, 6))
	if st := lstat(t, p.at("l0")); st.Uid != 5 || st.Gid != 6 {
		t.Errorf("lchown: %d:%d", st.Uid, st.Gid)
	}
	ts := []unix.Timespec{{Sec: 100}, {Sec: 200}}
	do(t, unix.UtimesNanoAt(unix.AT_FDCWD, p.at("l0"), ts, unix.AT_SYMLINK_NOFOLLOW))
	if st := lstat(t, p.at("l0")); st.Mtim.Sec != 200 {
		t.Errorf("mtime of the link: %d", st.Mtim.Sec)
	}
}

func linkNames(t *testing.T, p place) {
	write(t, p.at("a"), pattern(10))
	mkdir(t, p.at("d"))
	do(t, unix.Link(p.at("a"), p.at("d", "b")))
	a, b := lstat(t, p.at("a")), lstat(t, p.at("d", "b"))
	if a.Ino != b.Ino || a.Nlink != 2 || b.Nlink != 2 {
		t.Errorf("inodes %d and %d, links %d and %d", a.Ino, b.Ino, a.Nlink, b.Nlink)
	}
	write(t, p.at("d", "b"), pattern(20))
	wantContent(t, p.at("a"), pattern(20))
	do(t, unix.Chmod(p.at("a"), 0o604))
	if st := lstat(t, p.at("d", "b")); st.Mode&0o777 != 0o604 {
		t.Errorf("mode of the other name: %o", st.Mode&0o777)
	}
	do(t, os.Remove(p.at("a")))
	wantContent(t, p.at("d", "b"), pattern(20))
	if st := lstat(t, p.at("d", "b")); st.Nlink != 1 || st.Ino != a.Ino {
		t.Errorf("after removal: %d links, inode %d", st.Nlink, st.Ino)
	}
	do(t, unix.Symlink("nowhere", p.at("l")))
	do(t, unix.Link(p.at("l"), p.at("l2")))
	if text, err := os.Readlink(p.at("l2")); text != "nowhere" || err != nil {
		t.Errorf("link to a symbolic link: %q, %v", text, err)
	}
}

func linkErrors(t *testing.T, p place) {
	touch(t, p.at("a"))
	mkdir(t, p.at("d"))
	for kind := range kinds {
		b := makeKind(t, kind, p.at("there-"+kind))
		try(t, call{"onto a " + kind, unix.EEXIST, func() error { return unix.Link(p.at("a"), b) }})
	}
	try(t,
		call{"of a directory", unix.EPERM, func() error { return unix.Link(p.at("d"), p.at("b")) }},
		call{"of nothing", unix.ENOENT, func() error { return unix.Link(p.at("none"), p.at("b")) }},
		call{"to another file system", unix.EXDEV, func() error { return unix.Link("/proc/self/status", p.at("b")) }},
	)
}

func linkMoves(t *testing.T, p place) {
	write(t, p.at("a"), pattern(10))
	do(t, unix.Link(p.at("a"), p.at("b")))
	do(t, unix.Rename(p.at("a"), p.at("b"))) // two names of one file: nothing is done
	if st := lstat(t, p.at("a")); st.Nlink != 2 {
		t.Errorf("after renaming one name over the other: %d links", st.Nlink)
	}
	mkdir(t, p.at("d"))
	do(t, unix.Rename(p.at("a"), p.at("d", "c")))
	do(t, unix.Rename(p.at("d"), p.at("e")))
	wantContent(t, p.at("e", "c"), pattern(10))
	f := open(t, p.at("b"), unix.O_RDWR)
	do(t, os.Remove(p.at("b")))
	if _, err := f.WriteAt([]byte("Z"), 0); err != nil {
		t.Error(err)
	}
	wantContent(t, p.at("e", "c"), append([]byte("Z"), pattern(10)[1:]...))
	write(t, p.at("n"), []byte("new"))
	do(t, unix.Link(p.at("e", "c"), p.at("x")))
	do(t, unix.Rename(p.at("n"), p.at("x")))
	if st := lstat(t, p.at("e", "c")); st.Nlink != 1 {
		t.Errorf("after another file replaced a name: %d links", st.Nlink)
	}
	do(t, os.RemoveAll(p.at("e")))
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil || st.Nlink != 0 {
		t.Errorf("after all names are gone: %d links, %v", st.Nlink, err)
	}
}
