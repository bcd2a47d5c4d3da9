package cluster

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
)

// mountMirror mirrors a directory at point with FUSE.
func mountMirror(dir, point string) (*fuse.Server, error) {
	root, err := fs.NewLoopbackRoot(dir)
	if err != nil {
		return nil, err
	}
	return fs.Mount(point, root, &fs.Options{MountOptions: fuse.MountOptions{DirectMount: true, FsName: "scrfs-mirror"}})
}

// mirror is a program that mirrors dir at dir.mirror until it is unmounted.
func mirror(dir string) error {
	server, err := mountMirror(dir, dir+".mirror")
	if err != nil {
		return err
	}
	fmt.Println("listening")
	server.Wait()
	return nil
}

func needFUSE(t *testing.T) {
	t.Helper()
	if _, err := os.Stat("/dev/fuse"); err != nil {
		t.Skip(err)
	}
}

// A FUSE mount of the machine is not held by a node: its daemon ends with its
// unmount.
func TestNodesDoNotHoldTheMachinesMounts(t *testing.T) {
	needFUSE(t)
	dir, point := t.TempDir(), t.TempDir()
	server, err := mountMirror(dir, point)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { server.Wait(); close(ended) }()
	c := up(t, 2)
	for _, n := range append(c.Nodes(), c.Login()) {
		table, err := on(t, n, "cat", "/proc/self/mounts")
		if err != nil {
			t.Error(err)
		}
		if strings.Contains(table, point) {
			t.Errorf("%s has the machine's mount %s", n.Name, point)
		}
	}
	// Not server.Unmount, which waits for the end of the daemon without limit.
	if err := syscall.Unmount(point, 0); err != nil {
		t.Fatal(err)
	}
	await(t, "end of the daemon", func() bool {
		select {
		case <-ended:
			return true
		default:
			return false
		}
	})
}

// A parallel file system that is FUSE itself stays.
func TestAFUSEDirectoryIsShared(t *testing.T) {
	needFUSE(t)
	dir, point := t.TempDir(), t.TempDir()
	server, err := mountMirror(dir, point)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := server.Unmount(); err != nil {
			t.Error(err)
		}
	}()
	if err := Available(); err != nil {
		t.Skip(err)
	}
	c, err := New("", Options{PFS: point})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Up(1); err != nil {
		t.Error(err)
	} else if out, err := on(t, c.Node(1), "sh", "-c", `echo x >"$0/from-node"`, c.PFS); err != nil {
		t.Errorf("%v: %s", err, out)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(c.Dir); !os.IsNotExist(err) {
		t.Errorf("%s is left: %v", c.Dir, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "from-node")); err != nil {
		t.Error(err)
	}
}

// A mount made on a node is that node's, and a node is lost with the daemon and
// with a program that writes through it.
func TestMountsOfANodeAreItsOwn(t *testing.T) {
	needFUSE(t)
	c := up(t, 2)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	point := c.PFS + ".mirror"
	if err := os.Mkdir(point, 0o755); err != nil {
		t.Fatal(err)
	}
	daemon := startSaying(t, c.Node(1).Command(self, "mirror", c.PFS), "listening\n")
	if out, err := on(t, c.Node(1), "sh", "-c", `echo x >"$0/through"`, point); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if _, err := os.Stat(filepath.Join(c.PFS, "through")); err != nil {
		t.Error(err)
	}
	if out, err := on(t, c.Node(2), "ls", point); err != nil || out != "" {
		t.Errorf("the mount of node1 is seen on node2: %q, %v", out, err)
	}
	writer := startSaying(t, c.Node(1).Command("sh", "-c", `echo writing; while echo y; do :; done >"$0/busy"`, point), "writing\n")
	busy := filepath.Join(c.PFS, "busy")
	await(t, "the first bytes", func() bool {
		info, err := os.Stat(busy)
		return err == nil && info.Size() > 0
	})
	if err := c.Node(1).Kill(); err != nil {
		t.Fatal(err)
	}
	if daemon.Wait() == nil || writer.Wait() == nil {
		t.Error("programs of the lost node ended well")
	}
	before, err := os.Stat(busy)
	if err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadFile("/proc/self/mounts"); err != nil || strings.Contains(string(left), c.Dir) {
		t.Errorf("mounts are left below %s (%v)", c.Dir, err)
	}
	if after, err := os.Stat(busy); err != nil || after.Size() != before.Size() {
		t.Error("somebody still writes")
	}
}
