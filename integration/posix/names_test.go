package posix

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func init() {
	add(map[string]func(*testing.T, place){
		"names/every call says ENAMETOOLONG": nameTooLong,
		"names/every call says ENOENT":       nameNotThere,
		"names/every call says ENOTDIR":      nameBelowFile,
		"names/every call says ELOOP":        nameLoops,
		"names/every call says EEXIST":       nameThere,
		"names/bytes of any value":           nameBytes,
		"names/path of PATH_MAX":             pathMax,
		"names/empty":                        nameEmpty,
		"names/dot and dotdot":               nameDots,
	})
}

// pathCalls are all calls that take a path, applied to p; other is a file
// beside it.
func pathCalls(p, other string) []call {
	buf := make([]byte, 100)
	var st unix.Stat_t
	var fs unix.Statfs_t
	return []call{
		{what: "open", do: func() error { return tryOpen(p, unix.O_RDONLY) }},
		{what: "create", do: func() error { return tryOpen(p, unix.O_CREAT|unix.O_WRONLY) }},
		{what: "mkdir", do: func() error { return unix.Mkdir(p, 0o777) }},
		{what: "mknod", do: func() error { return unix.Mknod(p, unix.S_IFREG|0o666, 0) }},
		{what: "mkfifo", do: func() error { return unix.Mkfifo(p, 0o666) }},
		{what: "symlink", do: func() error { return unix.Symlink("x", p) }},
		{what: "link from", do: func() error {
			return unix.Linkat(unix.AT_FDCWD, p, unix.AT_FDCWD, other+".new", unix.AT_SYMLINK_FOLLOW)
		}},
		{what: "link to", do: func() error { return unix.Link(other, p) }},
		{what: "rename from", do: func() error { return unix.Rename(p, other+".new") }},
		{what: "rename to", do: func() error { return unix.Rename(other, p) }},
		{what: "unlink", do: func() error { return unix.Unlink(p) }},
		{what: "rmdir", do: func() error { return unix.Rmdir(p) }},
		{what: "stat", do: func() error { return unix.Stat(p, &st) }},
		{what: "lstat", do: func() error { return unix.Lstat(p, &st) }},
		{what: "statfs", do: func() error { return unix.Statfs(p, &fs) }},
		{what: "access", do: func() error { return unix.Access(p, unix.F_OK) }},
		{what: "readlink", do: func() error { _, err := unix.Readlink(p, buf); return err }},
		{what: "chmod", do: func() error { return unix.Chmod(p, 0o600) }},
		{what: "chown", do: func() error { return unix.Chown(p, 0, 0) }},
		{what: "lchown", do: func() error { return unix.Lchown(p, 0, 0) }},
		{what: "truncate", do: func() error { return unix.Truncate(p, 0) }},
		{what: "utimensat", do: func() error { return unix.UtimesNanoAt(unix.AT_FDCWD, p, nil, 0) }},
		{what: "chdir", do: func() error { return tryOpen(p, unix.O_PATH|unix.O_DIRECTORY) }},
		{what: "setxattr", do: func() error { return unix.Setxattr(p, "user.a", []byte("b"), 0) }},
		{what: "getxattr", do: func() error { _, err := unix.Getxattr(p, "user.a", buf); return err }},
	}
}

// all tries the calls, each with the same wanted error; but has exceptions.
func all(t *testing.T, p, other string, want error, but map[string]error) {
	t.Helper()
	for _, c := range pathCalls(p, other) {
		c.want = want
		if w, ok := but[c.what]; ok {
			c.want = w
		}
		try(t, c)
	}
}

func nameTooLong(t *testing.T, p place) {
	other := touch(t, p.at("other"))
	all(t, p.at(tooLong), other, unix.ENAMETOOLONG, nil)
	all(t, p.at(tooLong, "below"), other, unix.ENAMETOOLONG, nil)
	for kind := range kinds {
		makeKind(t, kind, p.at(longest))
		do(t, os.Remove(p.at(longest)))
	}
	do(t, unix.Rename(other, p.at(longest)))
	lstat(t, p.at(longest))
	do(t, unix.Rename(p.at(longest), other))
}

func nameNotThere(t *testing.T, p place) {
	other := touch(t, p.at("other"))
	makes := map[string]bool{"create": true, "mkdir": true, "mknod": true, "mkfifo": true, "symlink": true, "link to": true, "rename to": true}
	for _, c := range pathCalls(p.at("absent"), other) {
		if !makes[c.what] {
			c.want = unix.ENOENT
			try(t, c)
		}
	}
	all(t, p.at("absent", "below"), other, unix.ENOENT, nil)
	do(t, unix.Symlink("nowhere", p.at("dangling")))
	all(t, p.at("dangling", "below"), other, unix.ENOENT, nil)
}

func nameBelowFile(t *testing.T, p place) {
	other := touch(t, p.at("other"))
	for _, kind := range []string{"file", "fifo", "socket"} {
		makeKind(t, kind, p.at(kind))
		all(t, p.at(kind, "below"), other, unix.ENOTDIR, nil)
	}
	do(t, unix.Symlink("file", p.at("link")))
	all(t, p.at("link", "below"), other, unix.ENOTDIR, nil)
}

func nameLoops(t *testing.T, p place) {
	other := touch(t, p.at("other"))
	do(t, unix.Symlink("b", p.at("a")))
	do(t, unix.Symlink("a", p.at("b")))
	all(t, p.at("a", "below"), other, unix.ELOOP, nil)
	for _, c := range pathCalls(p.at("a"), other) {
		switch c.what {
		case "open", "create", "link from", "stat", "statfs", "access", "chmod", "chown", "truncate", "utimensat", "chdir", "setxattr", "getxattr":
			c.want = unix.ELOOP
			try(t, c)
		}
	}
	try(t, call{"open a link with O_NOFOLLOW", unix.ELOOP, func() error { return tryOpen(p.at("a"), unix.O_RDONLY|unix.O_NOFOLLOW) }})
}

func nameThere(t *testing.T, p place) {
	for kind := range kinds {
		name := makeKind(t, kind, p.at("there-"+kind))
		dir := mkdir(t, p.at("dir-"+kind))
		try(t,
			call{"mkdir on a " + kind, unix.EEXIST, func() error { return unix.Mkdir(name, 0o777) }},
			call{"mknod on a " + kind, unix.EEXIST, func() error { return unix.Mknod(name, unix.S_IFREG|0o666, 0) }},
			call{"mkfifo on a " + kind, unix.EEXIST, func() error { return unix.Mkfifo(name, 0o666) }},
			call{"symlink on a " + kind, unix.EEXIST, func() error { return unix.Symlink("x", name) }},
			call{"O_EXCL on a " + kind, unix.EEXIST, func() error { return tryOpen(name, unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY) }},
		)
		if kind != "dir" {
			try(t, call{"rename dir to a " + kind, unix.ENOTDIR, func() error { return unix.Rename(dir, name) }})
		}
	}
}

func nameBytes(t *testing.T, p place) {
	names := []string{" ", "a b", "tab\tnew\nline", "quote\"'`\\", "\x01\x7f", "\xff\xfe", "ünïcode", "-rf", "*?[", "...", "a:b|c<d>", "%s%n", "#", ".hidden"}
	for _, name := range names {
		touch(t, p.at(name))
	}
	list, err := os.ReadDir(p.dir)
	do(t, err)
	got := map[string]bool{}
	for _, e := range list {
		got[e.Name()] = true
	}
	for _, name := range names {
		if !got[name] {
			t.Errorf("%q is not listed", name)
		}
		wantContent(t, p.at(name), []byte("x"))
		do(t, os.Remove(p.at(name)))
	}
	if len(got) != len(names) {
		t.Errorf("%d names are listed, want %d", len(got), len(names))
	}
}

// pathMax goes down as far as a path of 4095 bytes leads, and one further.
func pathMax(t *testing.T, p place) {
	dir := p.dir
	for len(dir)+1+200 < unix.PathMax-200 {
		dir = mkdir(t, filepath.Join(dir, strings.Repeat("d", 200)))
	}
	name := dir + "/" + strings.Repeat("f", min(255, unix.PathMax-1-len(dir)-1))
	name = name + strings.Repeat("/", unix.PathMax-1-len(name))
	if len(strings.TrimRight(name, "/")) < len(name) {
		name = dir + strings.Repeat("/", unix.PathMax-1-len(dir)-1) + "f"
	}
	if len(name) != unix.PathMax-1 {
		t.Fatalf("BUG: path of %d bytes", len(name))
	}
	touch(t, name)
	wantContent(t, name, []byte("x"))
	try(t, call{"one byte more", unix.ENAMETOOLONG, func() error { return tryOpen(name+"f", unix.O_RDONLY) }})
	// Deeper still, from a descriptor.
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY, 0)
	do(t, err)
	for range 3 {
		do(t, unix.Mkdirat(fd, longest, 0o777))
		next, err := unix.Openat(fd, longest, unix.O_RDONLY|unix.O_DIRECTORY, 0)
		do(t, errors.Join(err, unix.Close(fd)))
		fd = next
	}
	file, err := unix.Openat(fd, longest, unix.O_CREAT|unix.O_WRONLY, 0o666)
	do(t, err)
	do(t, errors.Join(unix.Close(file), unix.Close(fd)))
}

func nameEmpty(t *testing.T, p place) {
	all(t, "", touch(t, p.at("other")), unix.ENOENT, nil)
}

func nameDots(t *testing.T, p place) {
	dir := mkdir(t, p.at("dir"))
	mkdir(t, p.at("dir", "sub"))
	try(t,
		call{"rmdir .", unix.EINVAL, func() error { return unix.Rmdir(dir + "/.") }},
		call{"rmdir ..", unix.ENOTEMPTY, func() error { return unix.Rmdir(dir + "/sub/..") }},
		call{"mkdir .", unix.EEXIST, func() error { return unix.Mkdir(dir+"/.", 0o777) }},
		call{"rename .", unix.EBUSY, func() error { return unix.Rename(dir+"/.", p.at("x")) }},
		call{"rename to ..", unix.EBUSY, func() error { return unix.Rename(dir, dir+"/sub/..") }},
		call{"unlink .", unix.EISDIR, func() error { return unix.Unlink(dir + "/.") }},
	)
	if a, b := lstat(t, dir+"/sub/.."), lstat(t, dir); a.Ino != b.Ino {
		t.Errorf(".. of the sub directory is inode %d, want %d", a.Ino, b.Ino)
	}
}
