package posix

import (
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"sort"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func init() {
	add(map[string]func(*testing.T, place){
		"dir/very many names":           dirMany,
		"dir/rewound":                   dirRewind,
		"dir/telldir and seekdir":       dirSeek,
		"dir/types and inode numbers":   dirTypes,
		"dir/removed while read":        dirRemoveWhileRead,
		"dir/new names after rewinding": dirChanges,
		"dir/link counts":               dirLinks,
	})
}

// dirent is one record of getdents64(2).
type dirent struct {
	ino  uint64
	off  int64
	kind byte
	name string
}

// records reads from where the descriptor stands to the end, with a buffer of
// size bytes.
func records(t *testing.T, fd, size int) []dirent {
	t.Helper()
	var list []dirent
	buf := make([]byte, size)
	for {
		n, err := unix.Getdents(fd, buf)
		if err != nil {
			t.Fatalf("getdents: %v", err)
		}
		if n == 0 {
			return list
		}
		for b := buf[:n]; len(b) > 0; {
			length := binary.NativeEndian.Uint16(b[16:])
			name, _, _ := strings.Cut(string(b[19:length]), "\x00")
			list = append(list, dirent{binary.NativeEndian.Uint64(b), int64(binary.NativeEndian.Uint64(b[8:])), b[18], name})
			b = b[length:]
		}
	}
}

func dirMany(t *testing.T, p place) {
	count := 100_000
	if p.area == bypassedArea {
		count = 20_000 // its names are the prefix directory's affair
	}
	d := open(t, p.dir, unix.O_RDONLY|unix.O_DIRECTORY)
	fd := int(d.Fd())
	for i := range count {
		// Symbolic links: what is tested is the directory.
		if err := unix.Symlinkat("x", fd, fmt.Sprintf("name-%06d", i)); err != nil {
			t.Fatal(err)
		}
	}
	seen := map[string]bool{}
	for _, e := range records(t, fd, 64<<10) {
		if seen[e.name] {
			t.Fatalf("%s twice", e.name)
		}
		seen[e.name] = true
	}
	if len(seen) != count+2 || !seen["."] || !seen[".."] {
		t.Errorf("%d names, want %d", len(seen), count+2)
	}
	for i := range count {
		if err := unix.Unlinkat(fd, fmt.Sprintf("name-%06d", i), 0); err != nil {
			t.Fatal(err)
		}
	}
	seek(t, fd, 0, io.SeekStart)
	if left := records(t, fd, 4096); len(left) != 2 {
		t.Errorf("%d names are left", len(left))
	}
}

func fill(t *testing.T, p place, n int) {
	t.Helper()
	for i := range n {
		touch(t, p.at("f"+itoa(i)))
	}
}

func sorted(list []dirent) string {
	var names []string
	for _, e := range list {
		names = append(names, e.name)
	}
	sort.Strings(names)
	return strings.Join(names, " ")
}

func dirRewind(t *testing.T, p place) {
	fill(t, p, 50)
	fd := int(open(t, p.dir, unix.O_RDONLY).Fd())
	first := sorted(records(t, fd, 300))
	if more := records(t, fd, 300); len(more) != 0 {
		t.Errorf("at the end there are %d names", len(more))
	}
	seek(t, fd, 0, io.SeekStart)
	if again := sorted(records(t, fd, 4096)); again != first {
		t.Errorf("rewound: %s\nfirst: %s", again, first)
	}
}

func dirSeek(t *testing.T, p place) {
	fill(t, p, 50)
	fd := int(open(t, p.dir, unix.O_RDONLY).Fd())
	list := records(t, fd, 300)
	for _, i := range []int{0, 10, 25, len(list) - 2, len(list) - 1} {
		seek(t, fd, list[i].off, io.SeekStart)
		rest := records(t, fd, 300)
		if len(rest) != len(list)-i-1 || len(rest) > 0 && rest[0].name != list[i+1].name {
			t.Errorf("from behind name %d: %d names, want %d", i, len(rest), len(list)-i-1)
		}
	}
}

func dirTypes(t *testing.T, p place) {
	for kind := range kinds {
		makeKind(t, kind, p.at(kind))
	}
	want := map[string]byte{"file": unix.DT_REG, "dir": unix.DT_DIR, "symlink": unix.DT_LNK, "fifo": unix.DT_FIFO, "socket": unix.DT_SOCK, ".": unix.DT_DIR, "..": unix.DT_DIR}
	for _, e := range records(t, int(open(t, p.dir, unix.O_RDONLY).Fd()), 4096) {
		if e.kind != want[e.name] && e.kind != unix.DT_UNKNOWN {
			t.Errorf("%s has type %d, want %d", e.name, e.kind, want[e.name])
		}
		if st := lstat(t, p.at(e.name)); e.name[0] != '.' && st.Ino != e.ino {
			t.Errorf("%s is listed with inode %d, stat says %d", e.name, e.ino, st.Ino)
		}
	}
}

// dirRemoveWhileRead removes what was read so far, as rm -r does.
func dirRemoveWhileRead(t *testing.T, p place) {
	fill(t, p, 500)
	fd := int(open(t, p.dir, unix.O_RDONLY).Fd())
	buf := make([]byte, 500)
	removed := 0
	for {
		n, err := unix.Getdents(fd, buf)
		do(t, err)
		if n == 0 {
			break
		}
		_, _, names := unix.ParseDirent(buf[:n], -1, nil)
		for _, name := range names {
			do(t, unix.Unlinkat(fd, name, 0))
			removed++
		}
	}
	if removed != 500 {
		t.Errorf("%d of 500 were seen", removed)
	}
}

func dirChanges(t *testing.T, p place) {
	d := open(t, p.dir, unix.O_RDONLY)
	fd := int(d.Fd())
	records(t, fd, 4096)
	touch(t, p.at("new"))
	seek(t, fd, 0, io.SeekStart)
	if got := sorted(records(t, fd, 4096)); got != ". .. new" {
		t.Errorf("lists %s", got)
	}
	do(t, os.Remove(p.at("new")))
	seek(t, fd, 0, io.SeekStart)
	if got := sorted(records(t, fd, 4096)); got != ". .." {
		t.Errorf("lists %s", got)
	}
}

// dirLinks: a directory has a link for each sub directory, or 1 throughout.
func dirLinks(t *testing.T, p place) {
	if n := lstat(t, p.dir).Nlink; n != 2 && n != 1 {
		t.Errorf("empty: %d links", n)
	}
	mkdir(t, p.at("a"))
	mkdir(t, p.at("b"))
	touch(t, p.at("f"))
	if n := lstat(t, p.dir).Nlink; n != 4 && n != 1 {
		t.Errorf("two sub directories: %d links", n)
	}
	do(t, os.Remove(p.at("a")))
	do(t, os.Rename(p.at("b"), p.at("c")))
	if n := lstat(t, p.dir).Nlink; n != 3 && n != 1 {
		t.Errorf("one sub directory: %d links", n)
	}
}
