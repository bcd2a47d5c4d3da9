package disktest

import (
	"io/fs"
	"strings"
	"syscall"

	"github.com/scrfs/scrfs/internal/disk"
)

// bad names lead nowhere, whatever is there.
var bad = []struct {
	name string
	want error
}{
	{"", fs.ErrInvalid}, {"a\x00b", fs.ErrInvalid},
	{"..", disk.ErrEscape}, {"../x", disk.ErrEscape}, {"a/../../x", disk.ErrEscape}, {"a/..", disk.ErrEscape},
	{"/", disk.ErrEscape}, {"/etc/passwd", disk.ErrEscape},
}

func escapes(w world) {
	w.put("a/", "")
	for _, b := range bad {
		for call, err := range w.callsOn(b.name) {
			if err == nil {
				w.t.Errorf("%s %q: got no error", call, b.name)
			}
			w.fails(err, b.want)
		}
	}
	equal(w, "names", w.names("."), "d a/ ")
}

// callsOn makes every call that takes a name.
func (w world) callsOn(name string) map[string]error {
	_, open := w.OpenFile(name, syscall.O_RDWR|syscall.O_CREAT, 0o644)
	_, nofollow := w.OpenFile(name, syscall.O_RDWR|syscall.O_CREAT|syscall.O_NOFOLLOW, 0o644)
	_, stat := w.Stat(name)
	_, lstat := w.Lstat(name)
	_, readlink := w.Readlink(name)
	_, readdir := w.ReadDir(name)
	_, lock := w.Lock(name, true)
	_, sub := w.Sub(name)
	return map[string]error{
		"open": open, "open nofollow": nofollow, "stat": stat, "lstat": lstat, "readlink": readlink,
		"readdir": readdir, "lock": lock, "sub": sub,
		"mkdir": w.Mkdir(name, 0o755), "remove": w.Remove(name),
		"rename from": w.Rename(name, "b"), "rename to": w.Rename("a", name),
		"noreplace from": w.RenameNoReplace(name, "b"), "noreplace to": w.RenameNoReplace("a", name),
		"exchange": w.Exchange(name, "a"), "exchange with": w.Exchange("a", name),
		"link from": w.Link(name, "b"), "link to": w.Link("a", name), "symlink": w.Symlink("a", name),
		"syncdir": w.SyncDir(name), "chmod": w.Chmod(name, 0o600), "chown": w.Chown(name, -1, -1),
		"chtimes": w.Chtimes(name, someTime, someTime),
		"write":   disk.WriteFile(w, name, nil, 0o644), "mkdirall": disk.MkdirAll(w, name, 0o755),
		"removeall": disk.RemoveAll(w, name),
	}
}

func linksEscape(w world) {
	w.put("d/", "")
	for _, target := range []string{"/", "/etc", "..", "../x", "d/../..", "d/../../x"} {
		const link = "link"
		w.ok(w.Symlink(target, link))
		got, err := w.Readlink(link)
		w.ok(err)
		equal(w, "target", got, target)
		for _, name := range []string{link, link + "/passwd"} {
			_, err := w.Stat(name)
			w.fails(err, disk.ErrEscape)
			_, err = w.OpenFile(name, syscall.O_RDWR|syscall.O_CREAT, 0o644)
			w.fails(err, disk.ErrEscape)
			_, err = w.Sub(name)
			w.fails(err, disk.ErrEscape)
			w.fails(w.Chmod(name, 0o777), disk.ErrEscape)
		}
		w.fails(w.Rename("d", link+"/new"), disk.ErrEscape)
		w.fails(w.Remove(link+"/new"), disk.ErrEscape)
		w.fails(w.Mkdir(link+"/new", 0o755), disk.ErrEscape)
		w.ok(w.Remove(link))
	}
}

func linksFollowed(w world) {
	w.put("d/", "")
	w.put("d/e/", "")
	w.put("d/f", "abc")
	w.ok(w.Symlink("../../d/f", "d/e/up"))
	w.ok(w.Symlink("d/e", "e"))
	w.ok(w.Symlink("e/up", "up"))
	w.has("up", "abc")
	w.has("e/up", "abc")
	w.ok(w.Symlink("d/e/../f", "through"))
	w.has("through", "abc")
	w.ok(w.Symlink("e/../f", "around")) // e is d/e: its parent is d
	w.has("around", "abc")
	w.ok(w.Symlink("d/f/", "slash"))
	_, err := w.Stat("slash")
	w.fails(err, syscall.ENOTDIR)
	w.ok(w.Symlink("loop", "loop"))
	_, err = w.Stat("loop")
	w.fails(err, syscall.ELOOP)
	fi, err := w.Lstat("loop")
	w.ok(err)
	equal(w, "mode", fi.Mode().Type(), fs.ModeSymlink)
	_, err = w.Readlink("d")
	w.fails(err, syscall.EINVAL)
	w.fails(w.Symlink("x", "loop"), syscall.EEXIST)
	w.fails(w.Symlink("", "empty"), syscall.ENOENT)
	w.ok(w.Remove("e"))
	w.has("d/e/up", "abc")
}

func hardLinks(w world) {
	w.put("f", "abc")
	w.ok(w.Link("f", "g"))
	w.put("g", "new")
	w.has("f", "new")
	a, err := w.Stat("f")
	w.ok(err)
	b, err := w.Stat("g")
	w.ok(err)
	equal(w, "same file", disk.SameFile(a, b), true)
	equal(w, "links", a.Sys().(*syscall.Stat_t).Nlink, 2)
	w.ok(w.Rename("f", "g")) // POSIX: nothing happens
	w.has("f", "new")
	w.ok(w.Remove("f"))
	w.has("g", "new")
	w.put("d/", "")
	w.fails(w.Link("d", "e"), syscall.EPERM)
	w.fails(w.Link("g", "d"), syscall.EEXIST)
	w.fails(w.Link("none", "e"), syscall.ENOENT)
}

func oddNames(w world) {
	long := strings.Repeat("x", 255)
	names := []string{" ", "a b", "a  b ", "-f", "*", "a\nb", "\xff\xfe", "...", ".x", "ü", long, `a\b`, "a:b"}
	for i, n := range names {
		w.put(n, n)
		w.has(n, n)
		w.ok(w.Mkdir("d"+string(rune('a'+i)), 0o755))
		w.ok(w.Rename(n, "d"+string(rune('a'+i))+"/"+n))
		w.ok(disk.WriteFile(w, "d"+string(rune('a'+i))+"/"+n, []byte("new"), 0o644))
		w.has("./d"+string(rune('a'+i))+"//"+n, "new")
	}
	_, err := w.Stat(long + "x")
	w.fails(err, syscall.ENAMETOOLONG)
}

func renames(w world) {
	w.put("a", "a")
	w.put("b", "b")
	w.put("d/", "")
	w.put("e/", "")
	w.put("e/x", "x")
	w.fails(w.Rename("none", "b"), syscall.ENOENT)
	w.fails(w.Rename("a", "none/b"), syscall.ENOENT)
	w.fails(w.Rename("a", "d"), syscall.EISDIR)
	w.fails(w.Rename("d", "a"), syscall.ENOTDIR)
	w.fails(w.Rename("d", "e"), syscall.ENOTEMPTY)
	w.fails(w.Rename("e", "e/y"), syscall.EINVAL)
	w.fails(w.Rename("e/x", "e"), syscall.ENOTEMPTY)
	w.fails(w.Rename(".", "y"), syscall.EINVAL)
	w.ok(w.Rename("a", "b"))
	w.has("b", "a")
	w.absent("a")
	w.ok(w.Rename("b", "b"))
	w.ok(w.Rename("e", "d"))
	w.has("d/x", "x")
	w.absent("e")
	w.ok(w.Rename("b", "d/x"))
	w.has("d/x", "a")
	equal(w, "names", w.names("."), "d d/ ")
}

func noReplace(w world) {
	w.put("a", "a")
	w.put("b", "b")
	w.put("d/", "")
	w.put("e/", "")
	for _, to := range []string{"a", "b", "d"} {
		w.fails(w.RenameNoReplace("a", to), fs.ErrExist)
	}
	w.fails(w.RenameNoReplace("d", "e"), fs.ErrExist)
	w.fails(w.RenameNoReplace("none", "b"), syscall.ENOENT)
	w.ok(w.RenameNoReplace("a", "c"))
	w.ok(w.RenameNoReplace("d", "e/d"))
	w.has("c", "a")
	w.has("b", "b")
	equal(w, "names", w.names("."), "- b - c d e/ ")
}

func exchanges(w world) {
	w.put("a", "a")
	w.put("d/", "")
	w.put("d/x", "x")
	w.fails(w.Exchange("a", "none"), syscall.ENOENT)
	w.fails(w.Exchange("none", "a"), syscall.ENOENT)
	w.fails(w.Exchange("d", "d/x"), syscall.EINVAL)
	w.fails(w.Exchange("d/x", "d"), syscall.EINVAL)
	w.ok(w.Exchange("a", "a"))
	w.ok(w.Exchange("a", "d"))
	w.has("d", "a")
	w.has("a/x", "x")
	w.ok(w.Exchange("a/x", "d"))
	w.has("d", "x")
	w.has("a/x", "a")
}

func readDir(w world) {
	for _, n := range []string{"b", "a b", "B", "a"} {
		w.put(n, "1")
	}
	w.put("d/", "")
	w.ok(w.Symlink("d", "l"))
	equal(w, "names", w.names("."), "- B - a - a b - b d d/ L l ")
	equal(w, "names below a link", w.names("l"), "")
	list, err := w.ReadDir(".")
	w.ok(err)
	fi, err := list[0].Info()
	w.ok(err)
	equal(w, "size", fi.Size(), 1)
	_, err = w.ReadDir("a")
	w.fails(err, syscall.ENOTDIR)
	w.ok(w.Remove("d"))
	w.fails(w.Remove("d"), syscall.ENOENT)
	_, err = w.ReadDir("d")
	w.fails(err, syscall.ENOENT)
	w.fails(w.Mkdir("a", 0o755), syscall.EEXIST)
	w.fails(w.Mkdir("x/y", 0o755), syscall.ENOENT)
	w.fails(w.Mkdir("a/y", 0o755), syscall.ENOTDIR)
	w.put("e/", "")
	w.put("e/f", "")
	w.fails(w.Remove("e"), syscall.ENOTEMPTY)
}
