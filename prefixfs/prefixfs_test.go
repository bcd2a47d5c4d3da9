package prefixfs

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/scrfs/scrfs/internal/disk"
	"golang.org/x/sys/unix"
)

func openDir(t *testing.T, opts Options) (*FS, string) {
	t.Helper()
	dir := t.TempDir()
	f, err := Open(dir, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
	return f, dir
}

func put(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func lookup(t *testing.T, n *Node, name string) *Node {
	t.Helper()
	c, _, err := n.Lookup(name)
	if err != nil {
		t.Fatalf("look up %s: %v", name, err)
	}
	return c
}

func openFds(t *testing.T) int {
	t.Helper()
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(fds)
}

func wantPath(t *testing.T, n *Node, want string) {
	t.Helper()
	if got, ok := n.Path(); !ok || got != want {
		t.Errorf("path: got %q, %v, want %q", got, ok, want)
	}
}

func TestOpenErrorsNameTheDirectory(t *testing.T) {
	dir := t.TempDir()
	put(t, filepath.Join(dir, "file"), "")
	for _, c := range []struct {
		name string
		want error
	}{{"none", unix.ENOENT}, {"file", unix.ENOTDIR}} {
		_, err := Open(filepath.Join(dir, c.name), Options{})
		if !errors.Is(err, c.want) || !bytes.Contains([]byte(err.Error()), []byte(c.name)) {
			t.Errorf("%s: got %v, want %v", c.name, err, c.want)
		}
	}
}

func TestANodeIsTheSameByEachOfItsNames(t *testing.T) {
	f, dir := openDir(t, Options{})
	put(t, filepath.Join(dir, "a"), "x")
	if err := os.Link(filepath.Join(dir, "a"), filepath.Join(dir, "b")); err != nil {
		t.Fatal(err)
	}
	a, b := lookup(t, f.Root(), "a"), lookup(t, f.Root(), "b")
	if a != b {
		t.Error("two nodes for one file")
	}
	wantPath(t, a, "b") // as it was seen last
	a.Release()
	b.Release()
	if len(f.byKey) != 1 || len(f.names) != 0 {
		t.Errorf("after release: %d nodes and %d names, want the root alone", len(f.byKey), len(f.names))
	}
}

func TestPathsFollowRenames(t *testing.T) {
	f, dir := openDir(t, Options{})
	if err := os.MkdirAll(filepath.Join(dir, "one", "two"), 0o755); err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(dir, "one", "two", "file"), "x")
	one := lookup(t, f.Root(), "one")
	two := lookup(t, one, "two")
	file := lookup(t, two, "file")
	wantPath(t, f.Root(), "")
	wantPath(t, file, "one/two/file")
	if err := one.Rename("two", f.Root(), "zwei", 0); err != nil {
		t.Fatal(err)
	}
	wantPath(t, file, "zwei/file")
	if err := f.Root().Rename("one", f.Root(), "zwei", unix.RENAME_EXCHANGE); err != nil {
		t.Fatal(err)
	}
	wantPath(t, file, "one/file")
	wantPath(t, one, "zwei")
	if err := two.Unlink("file"); err != nil {
		t.Fatal(err)
	}
	if p, ok := file.Path(); ok {
		t.Errorf("a removed file has the path %q", p)
	}
	if st, err := file.Stat(); err != nil || st.Nlink != 0 {
		t.Errorf("stat of a removed file: %d links, %v", st.Nlink, err)
	}
	// Released from the top down: a node keeps its directory.
	one.Release()
	two.Release()
	file.Release()
	if len(f.byKey) != 1 || len(f.names) != 0 {
		t.Errorf("after release: %d nodes and %d names, want the root alone", len(f.byKey), len(f.names))
	}
}

func TestIdleDescriptorsAreBoundedAndComeBack(t *testing.T) {
	f, dir := openDir(t, Options{Descriptors: 3})
	before := openFds(t)
	var nodes []*Node
	for i := range 50 {
		sub := fmt.Sprintf("d%d", i)
		if err := os.Mkdir(filepath.Join(dir, sub), 0o755); err != nil {
			t.Fatal(err)
		}
		put(t, filepath.Join(dir, sub, "f"), sub)
		d := lookup(t, f.Root(), sub)
		nodes = append(nodes, lookup(t, d, "f"))
		d.Release()
	}
	if got := openFds(t); got > before+3 {
		t.Errorf("%d descriptors open, want at most %d", got, before+3)
	}
	for i, n := range nodes {
		file, err := n.Open(os.O_RDONLY)
		if err != nil {
			t.Fatal(err)
		}
		buf := make([]byte, 10)
		got, err := file.ReadAt(buf, 0)
		if want := fmt.Sprintf("d%d", i); err != nil || string(buf[:got]) != want {
			t.Errorf("file %d: got %q, %v, want %q", i, buf[:got], err, want)
		}
		if err := file.Close(); err != nil {
			t.Error(err)
		}
		n.Release()
	}
	if got := openFds(t); got != before {
		t.Errorf("%d descriptors after release, %d before", got, before)
	}
}

func TestAClosedNodeWhoseNameLeadsElsewhereIsStale(t *testing.T) {
	f, dir := openDir(t, Options{Descriptors: 1})
	put(t, filepath.Join(dir, "a"), "first")
	put(t, filepath.Join(dir, "b"), "other")
	a := lookup(t, f.Root(), "a")
	b := lookup(t, f.Root(), "b") // takes the only descriptor
	defer a.Release()
	defer b.Release()
	if err := os.Rename(filepath.Join(dir, "b"), filepath.Join(dir, "a")); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Stat(); err != unix.ESTALE {
		t.Errorf("replaced behind our back: got %v, want ESTALE", err)
	}
	if st, err := b.Stat(); err != nil || st.Size != 5 {
		t.Errorf("moved but open: %v", err)
	}
	n := lookup(t, f.Root(), "a")
	defer n.Release()
	if n != b {
		t.Error("the file is not known by its new name")
	}
}

func TestARemovedNodeStaysUsableThoughItsDescriptorWasClosed(t *testing.T) {
	f, dir := openDir(t, Options{Descriptors: 1})
	put(t, filepath.Join(dir, "a"), "text")
	put(t, filepath.Join(dir, "b"), "")
	put(t, filepath.Join(dir, "over"), "")
	a := lookup(t, f.Root(), "a")
	over := lookup(t, f.Root(), "over")
	b := lookup(t, f.Root(), "b")
	for _, n := range []*Node{a, b, over} {
		defer n.Release()
	}
	if err := f.Root().Unlink("a"); err != nil {
		t.Fatal(err)
	}
	if err := f.Root().Rename("b", f.Root(), "over", 0); err != nil {
		t.Fatal(err)
	}
	for name, n := range map[string]*Node{"unlinked": a, "replaced": over} {
		if st, err := n.Stat(); err != nil || st.Nlink != 0 {
			t.Errorf("%s: %d links, %v", name, st.Nlink, err)
		}
	}
	wantPath(t, b, "over")
}

func TestCreateOpensOrMakes(t *testing.T) {
	f, dir := openDir(t, Options{})
	n, file, st, err := f.Root().Create("new", os.O_RDWR, 0o640, Owner{})
	if err != nil {
		t.Fatal(err)
	}
	if st.Mode&0o7777 != 0o640 {
		t.Errorf("mode: got %o, want 640", st.Mode&0o7777)
	}
	if _, err := file.Write([][]byte{[]byte("one "), []byte("two")}, 0, false); err != nil {
		t.Error(err)
	}
	if _, err := file.Write([][]byte{[]byte(" end")}, 0, true); err != nil {
		t.Error(err)
	}
	if got, _ := os.ReadFile(filepath.Join(dir, "new")); string(got) != "one two end" {
		t.Errorf("content: %q", got)
	}
	_, _, _, err = f.Root().Create("new", os.O_RDWR|os.O_EXCL, 0o640, Owner{})
	if err != unix.EEXIST {
		t.Errorf("exclusive: got %v, want EEXIST", err)
	}
	again, file2, _, err := f.Root().Create("new", os.O_RDWR, 0o600, Owner{})
	if err != nil || again != n {
		t.Errorf("existing: %v, same node %v", err, again == n)
	}
	for _, f := range []*File{file, file2} {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
	n.Release()
	again.Release()
	if err := os.Symlink("new", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	if _, _, _, err := f.Root().Create("link", os.O_RDWR, 0o600, Owner{}); err != unix.ELOOP {
		t.Errorf("through a symbolic link: got %v, want ELOOP", err)
	}
}

func TestReadDirGivesAllNames(t *testing.T) {
	f, dir := openDir(t, Options{})
	var want []string
	for i := range 3000 {
		name := fmt.Sprintf("name-%04d", i)
		want = append(want, name)
		put(t, filepath.Join(dir, name), "")
	}
	d, err := f.Root().OpenDir()
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	for range 2 { // it starts anew each time
		entries, err := d.ReadDir()
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, e := range entries {
			got = append(got, e.Name)
			if e.Mode != syscall.S_IFREG || e.Ino == 0 {
				t.Fatalf("%+v", e)
			}
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("got %d names, want %d, or they differ", len(got), len(want))
		}
	}
}

func TestHungSaysHowLongTheOldestCallTakes(t *testing.T) {
	f, _ := openDir(t, Options{Calls: 2})
	if got := f.Hung(); got != 0 {
		t.Errorf("idle: %v", got)
	}
	started, goOn, done := make(chan bool), make(chan bool), make(chan error)
	for range 3 {
		go func() {
			done <- f.Do(func() error {
				started <- true
				<-goOn
				return nil
			})
		}()
	}
	<-started
	<-started
	select {
	case <-started:
		t.Error("three calls at once, want two")
	default:
	}
	first := f.Hung()
	for f.Hung() < first+time.Millisecond { // it grows
	}
	close(goOn)
	<-started
	for range 3 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if got := f.Hung(); got != 0 {
		t.Errorf("idle again: %v", got)
	}
}

func TestFSIsTheTreeBelow(t *testing.T) {
	f, dir := openDir(t, Options{})
	tree, err := f.FS()
	if err != nil {
		t.Fatal(err)
	}
	if err := disk.WriteFile(tree, "file", []byte("text"), 0o644); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(filepath.Join(dir, "file")); err != nil || string(got) != "text" {
		t.Errorf("got %q, %v", got, err)
	}
	_, err = tree.Stat("none")
	if err == nil || !bytes.Contains([]byte(err.Error()), []byte(dir)) {
		t.Errorf("error does not name the directory: %v", err)
	}
}

func FuzzDirents(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte("\x01\x00\x00\x00\x00\x00\x00\x00\x02\x00\x00\x00\x00\x00\x00\x00\x18\x00\x08ab\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, buf []byte) {
		for _, e := range appendDirents(nil, buf) {
			if e.Name == "" || e.Name == "." || e.Name == ".." || len(e.Name) > len(buf) {
				t.Errorf("name %q", e.Name)
			}
		}
	})
}
