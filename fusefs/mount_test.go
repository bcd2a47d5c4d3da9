package fusefs_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/scrfs/scrfs/fusefs"
	"golang.org/x/sys/unix"
)

func mounted(tb testing.TB, dir string) (fstype string) {
	tb.Helper()
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		tb.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(line)
		if words[4] == dir {
			for i, w := range words {
				if w == "-" {
					fstype = words[i+1]
				}
			}
		}
	}
	return fstype
}

func TestMountOverThePrefixItself(t *testing.T) {
	dir := scratch(t)
	write(t, filepath.Join(dir, "in"), pattern(100))
	mkdir(t, filepath.Join(dir, "sub"))
	m := startMount(t, serverConfig{Mountpoint: dir, Prefix: dir})
	if got := mounted(t, dir); got != "fuse.scrfs" {
		t.Errorf("mount type: got %q, want fuse.scrfs", got)
	}
	wantContent(t, filepath.Join(dir, "in"), pattern(100))
	write(t, filepath.Join(dir, "sub", "out"), pattern(3000))
	write(t, filepath.Join(dir, "ckpt"), pattern(5000))
	if err := os.Rename(filepath.Join(dir, "in"), filepath.Join(dir, "sub", "in2")); err != nil {
		t.Fatal(err)
	}
	if st := m.ask(t, "unmount"); st.Err != "" {
		t.Fatal(st.Err)
	}
	if got := mounted(t, dir); got != "" {
		t.Errorf("still mounted: %s", got)
	}
	wantContent(t, filepath.Join(dir, "sub", "out"), pattern(3000))
	wantContent(t, filepath.Join(dir, "sub", "in2"), pattern(100))
	if _, err := os.Stat(filepath.Join(dir, "ckpt")); !os.IsNotExist(err) {
		t.Errorf("the cached file is on the prefix: %v", err)
	}
}

func TestUnmountSaysWhatIsInUse(t *testing.T) {
	m := startMount(t, serverConfig{})
	f, err := os.Create(filepath.Join(m.dir, "ckpt"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if st := m.ask(t, "unmount"); !strings.Contains(st.Err, "busy") {
		t.Errorf("unmount with an open file: got %q, want busy", st.Err)
	}
	if _, err := f.WriteString("still there"); err != nil {
		t.Error(err)
	}
	if st := m.ask(t, "lazy"); st.Err != "" {
		t.Error(st.Err)
	}
	if got := mounted(t, m.dir); got != "" {
		t.Errorf("still mounted: %s", got)
	}
	// Whoever has a file open goes on.
	if _, err := f.WriteAt([]byte("S"), 0); err != nil {
		t.Error(err)
	}
	if fi, err := f.Stat(); err != nil || fi.Size() != 11 {
		t.Errorf("size after lazy unmount: %v, %v", fi, err)
	}
}

func TestDeadDaemonsMountIsFoundAndCleaned(t *testing.T) {
	m := startMount(t, serverConfig{})
	if fusefs.StaleMount(m.dir) {
		t.Error("a living mount is called stale")
	}
	if err := m.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	m.cmd.Wait()
	if !fusefs.StaleMount(m.dir) {
		t.Error("a dead mount is not found")
	}
	if err := fusefs.CleanStaleMount(m.dir); err != nil {
		t.Error(err)
	}
	if got := mounted(t, m.dir); got != "" {
		t.Errorf("still mounted: %s", got)
	}
	if err := fusefs.CleanStaleMount(m.dir); err != nil {
		t.Errorf("nothing to clean: %v", err)
	}
}

func TestMountErrorsNameTheCause(t *testing.T) {
	for _, c := range []struct{ mountpoint, want string }{
		{"none", "no such file or directory"},
		{"file", "not a directory"},
	} {
		dir := scratch(t)
		write(t, filepath.Join(dir, "file"), nil)
		err := mountOnce(t, dir, filepath.Join(dir, c.mountpoint))
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), c.mountpoint) {
			t.Errorf("mount on %s: got %v, want %q", c.mountpoint, err, c.want)
		}
	}
}

func TestOnlyTheUserAndRootAreServed(t *testing.T) {
	m := startMount(t, serverConfig{AllowUID: 1234})
	if err := os.Chmod(m.prefix, 0o777); err != nil {
		t.Fatal(err)
	}
	as := func(uid, gid uint32, script string) (string, error) {
		cmd := exec.Command("/bin/sh", "-c", script)
		cmd.Dir = "/"
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: gid}}
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	parent := filepath.Dir(m.dir)
	if err := os.Chmod(parent, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, uid := range []uint32{1235, 65534} {
		for _, script := range []string{"ls %s", "echo hi > %s/x", "stat %s/in", "cat %s/in", "mkdir %s/ckpt", "df %s"} {
			out, err := as(uid, 100, fmt.Sprintf(script, m.dir))
			if err == nil || !strings.Contains(out, "ermission denied") {
				t.Errorf("uid %d: %s: got %q, %v, want permission denied", uid, script, out, err)
			}
		}
	}
	// Another primary group is no matter.
	if out, err := as(1234, 77, fmt.Sprintf("umask 027; cd %s && echo hi > out && mkdir ckpt && echo ho > ckpt/f && cat out ckpt/f", m.dir)); err != nil || out != "hi\nho\n" {
		t.Fatalf("the user: got %q, %v", out, err)
	}
	for _, file := range []string{filepath.Join(m.prefix, "out"), filepath.Join(m.dir, "out"), filepath.Join(m.dir, "ckpt", "f")} {
		if st := inodeOf(t, file); st.Uid != 1234 || st.Gid != 77 || st.Mode&0o7777 != 0o640 {
			t.Errorf("%s: owner %d:%d mode %o, want 1234:77 and 640", file, st.Uid, st.Gid, st.Mode&0o7777)
		}
	}
	wantContent(t, filepath.Join(m.dir, "ckpt", "f"), []byte("ho\n"))
}

func TestNothingIsLeftAfterUnmount(t *testing.T) {
	m := startMount(t, serverConfig{})
	before := m.ask(t, "stats").OpenFds
	for i := range 50 {
		for _, name := range []string{"plain", "ckpt"} {
			file := filepath.Join(m.dir, fmt.Sprintf("%s%d", name, i))
			write(t, file, pattern(100))
			if err := os.Remove(file); err != nil {
				t.Fatal(err)
			}
		}
	}
	// The kernel releases and forgets in its own time.
	after := before + 1
	for range 1000 {
		if after = m.ask(t, "stats").OpenFds; after <= before+1 {
			break
		}
	}
	if after > before+1 {
		t.Errorf("descriptors of the server: %d before, %d after", before, after)
	}
	if st := m.ask(t, "unmount"); st.Err != "" {
		t.Error(st.Err)
	}
	if got := mounted(t, m.dir); got != "" {
		t.Errorf("still mounted: %s", got)
	}
}

func TestChangesToThePrefixAreTold(t *testing.T) {
	m := startMount(t, serverConfig{})
	mkdir(t, filepath.Join(m.dir, "d"))
	write(t, filepath.Join(m.dir, "d", "f"), pattern(1))
	want := []string{"mkdir d", "close d/f", "rename d/g", "unlink d/g", "rmdir d"}
	var got []string
	events := func() []string {
		got = nil
		for _, ev := range m.ask(t, "stats").Events {
			got = append(got, ev.Op+" "+ev.Path)
		}
		return got
	}
	for len(events()) < 2 { // closing is not waited for
	}
	if err := os.Rename(filepath.Join(m.dir, "d", "f"), filepath.Join(m.dir, "d", "g")); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(m.dir, "d", "g")); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Rmdir(filepath.Join(m.dir, "d")); err != nil {
		t.Fatal(err)
	}
	if events(); strings.Join(got, ", ") != strings.Join(want, ", ") {
		t.Errorf("events: got %q, want %q", got, want)
	}
}

func TestHundredThousandNames(t *testing.T) {
	const count = 100_000
	m := startMount(t, serverConfig{Descriptors: 64})
	dir := mkdir(t, filepath.Join(m.prefix, "many"))
	for i := range count {
		if err := unix.Mknod(filepath.Join(dir, fmt.Sprintf("file%06d", i)), syscall.S_IFREG|0o644, 0); err != nil {
			t.Fatal(err)
		}
	}
	seen := names(t, filepath.Join(m.dir, "many"))
	if len(seen) != count {
		t.Fatalf("got %d names, want %d", len(seen), count)
	}
	for i := 0; i < count; i += 20 {
		if want := fmt.Sprintf("file%06d", i); seen[i] != want {
			t.Fatalf("name %d: got %s, want %s", i, seen[i], want)
		}
		if st := inodeOf(t, filepath.Join(m.dir, "many", seen[i])); st.Ino != inodeOf(t, filepath.Join(dir, seen[i])).Ino {
			t.Fatalf("%s has another inode number through the mount", seen[i])
		}
	}
	if fds := m.ask(t, "stats").OpenFds; fds > 64+40 {
		t.Errorf("the server has %d descriptors open, want about 64", fds)
	}
}

func TestInvalidateShowsWhatChangedBehindTheKernel(t *testing.T) {
	m := startMount(t, serverConfig{})
	mkdir(t, filepath.Join(m.dir, "d"))
	file := filepath.Join(m.dir, "d", "ckpt")
	write(t, file, pattern(100))
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if fi, err := f.Stat(); err != nil || fi.Size() != 100 {
		t.Fatal(fi, err)
	}
	ino := inodeOf(t, file).Ino
	if err := os.Truncate(filepath.Join(m.cache, fmt.Sprintf("%x", ino)), 7000); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"/d", "/", "/none"} {
		m.ask(t, fmt.Sprintf("invalidate %d %s ckpt", ino, dir))
	}
	if fi, err := f.Stat(); err != nil || fi.Size() != 7000 {
		t.Errorf("size after Invalidate: %v, %v, want 7000", fi.Size(), err)
	}
}
