package tools

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/scrfs/scrfs/integration/cluster"
)

func TestMain(m *testing.M) {
	cluster.Init()
	os.Exit(m.Run())
}

// shop is a node with a mount over the prefix directory.
type shop struct {
	t      *testing.T
	ctx    context.Context
	node   *cluster.Node
	scrfs  string
	prefix string
}

func open(t *testing.T) *shop {
	t.Helper()
	if err := cluster.Available(); err != nil {
		t.Skip(err)
	}
	bin := filepath.Join(t.TempDir(), "scrfs")
	if out, err := exec.Command("go", "build", "-o", bin, "../../cmd/scrfs").CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	c, err := cluster.New("", cluster.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := c.Up(1); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	t.Cleanup(cancel)
	s := &shop{t: t, ctx: ctx, node: c.Node(1), scrfs: bin, prefix: filepath.Join(c.PFS, "sim")}
	if err := os.Mkdir(s.prefix, 0o755); err != nil {
		t.Fatal(err)
	}
	// The quiet time is so long that only the test ends a dataset.
	s.on(bin, "mount", "--prefix", s.prefix, "--job-id", "tools", "--node", "node1", "--cache-base", c.Local, "--control-base", c.Local,
		"--set", "SCRFS_QUIET=1h", "--set", "SCR_CACHE_SIZE=4")
	return s
}

// on runs a command on the node and returns what it printed; its failure is
// the test's.
func (s *shop) on(args ...string) string {
	s.t.Helper()
	cmd := s.node.CommandContext(s.ctx, args...)
	var messages strings.Builder
	cmd.Stderr = &messages
	out, err := cmd.Output()
	if err != nil {
		s.t.Fatalf("%s: %v\n%s%s", strings.Join(args, " "), err, out, messages.String())
	}
	if messages.Len() > 0 {
		s.t.Errorf("%s says %q", strings.Join(args, " "), messages.String())
	}
	return string(out)
}

// sh runs a script in the prefix directory as programs see it.
func (s *shop) sh(script string) string {
	s.t.Helper()
	return s.on("sh", "-e", "-c", `cd "$1"; `+script, "sh", s.prefix)
}

// seen is what tools tell of the tree: names, inode numbers, modes, sizes,
// times, contents.
func (s *shop) seen() string {
	s.t.Helper()
	return s.sh(`find . -name .scr -prune -o -printf '%p %y %i %m %U %G %n\n' | sort
find . -name .scr -prune -o -type f -printf '%p %s %T@\n' | sort
find . -name .scr -prune -o -type f -print0 | sort -z | xargs -0 sha256sum
find . -name .scr -prune -o -type l -printf '%p %l\n'`)
}

func TestToolsSeeTheSameBeforeAndAfterPublication(t *testing.T) {
	s := open(t)
	s.sh(`mkdir -p ckpt.10/sub src
for i in 1 2 3; do head -c 70000 /dev/urandom >ckpt.10/sub/rank_$i.dat; done
ln -s sub/rank_1.dat ckpt.10/newest
chmod 640 ckpt.10/sub/rank_2.dat
touch -d '2020-02-03 04:05:06.789' ckpt.10/sub/rank_3.dat
echo 'int main;' >src/main.c`)
	open := s.seen()
	copies := func(stage string) {
		t.Helper()
		s.sh(`tar -cf "../` + stage + `.tar" ckpt.10 src && mkdir "../` + stage + `" && tar -xf "../` + stage + `.tar" -C "../` + stage + `"
diff -r --no-dereference ckpt.10 "../` + stage + `/ckpt.10"
cp -a ckpt.10 "../` + stage + `.cp" && diff -r --no-dereference ckpt.10 "../` + stage + `.cp"
test "$(stat -c '%a %Y' ckpt.10/sub/rank_3.dat)" = "$(stat -c '%a %Y' "../` + stage + `.cp/sub/rank_3.dat")"
test "$(du -s --apparent-size -B1 ckpt.10/sub/rank_1.dat | cut -f1)" = 70000
test "$(ls ckpt.10/sub | wc -l)" = 3`)
		if _, err := exec.LookPath("rsync"); err == nil {
			s.sh(`rsync -a ckpt.10 src "../` + stage + `.rsync/" && test -z "$(rsync -ani ckpt.10 src "../` + stage + `.rsync/")"`)
		}
	}
	copies("open")
	s.on(s.scrfs, "complete", filepath.Join(s.prefix, "ckpt.10"))
	s.on(s.scrfs, "wait", "--for", "flushed", "--timeout", "1m", s.prefix)
	if _, err := os.Stat(filepath.Join(s.prefix, "ckpt.10", "sub", "rank_1.dat")); err != nil {
		t.Errorf("beneath the mount: %v", err)
	}
	if got := s.seen(); got != open {
		t.Errorf("after publication the tools see\n%s\nwant as before\n%s", got, open)
	}
	copies("published")
}

func TestToolsChangeClaimedAndBypassedDirectories(t *testing.T) {
	s := open(t)
	// A copy into the mount is a dataset like any other, also one of a tree
	// that was unpacked.
	s.sh(`mkdir plain && for i in 1 2 3; do head -c 50000 /dev/urandom >plain/$i; done
cp -a plain ckpt.1 && diff -r plain ckpt.1
tar -cf ../a.tar plain && mkdir ckpt.2 && tar -xf ../a.tar -C ckpt.2 && diff -r plain ckpt.2/plain
mv ckpt.2/plain/1 ckpt.2/plain/one && cmp plain/1 ckpt.2/plain/one && test ! -e ckpt.2/plain/1
mv ckpt.2/plain/2 plain/moved && cmp plain/2 plain/moved && test ! -e ckpt.2/plain/2
mv plain/moved ckpt.2/back && cmp plain/2 ckpt.2/back && test ! -e plain/moved
rm -r ckpt.1 && test ! -e ckpt.1
find . -name .scr -prune -o -type f -print | sort | tr '\n' ' ' >../names
test "$(cat ../names)" = './ckpt.2/back ./ckpt.2/plain/3 ./ckpt.2/plain/one ./plain/1 ./plain/2 ./plain/3 '`)
	s.on(s.scrfs, "complete", filepath.Join(s.prefix, "ckpt.2"))
	s.on(s.scrfs, "wait", "--for", "flushed", "--timeout", "1m", s.prefix)
	s.sh(`cp plain/1 ../a.one && cmp plain/1 ckpt.2/plain/one && cmp plain/2 ckpt.2/back
mv ckpt.2 ckpt.3 && cmp plain/2 ckpt.3/back && test ! -e ckpt.2 && mv ckpt.3 ckpt.2
rm -r ckpt.2/back plain && test "$(ls)" = ckpt.2 && cmp ../a.one ckpt.2/plain/one`)
	for name, there := range map[string]bool{"ckpt.2/plain/one": true, "ckpt.2/back": false, "ckpt.3": false, "plain": false} {
		if _, err := os.Stat(filepath.Join(s.prefix, name)); os.IsNotExist(err) == there {
			t.Errorf("beneath the mount %s is there: %v, want %v (%v)", name, !there, there, err)
		}
	}
	// What is published and renamed goes whole, with what scrfs keeps in it.
	s.sh(`mv ckpt.2 ckpt.4 && rm -r ckpt.4 && test ! -e ckpt.4 && test -z "$(ls)"`)
}

func TestGitWorksBesideDatasets(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip(err)
	}
	s := open(t)
	s.sh(`export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null
git init -q . && git config user.email t@example.org && git config user.name t
mkdir src ckpt.1 && echo 'int main;' >src/main.c && head -c 9000 /dev/urandom >ckpt.1/rank_0.dat
printf '.scr\nckpt.*\n' >.gitignore
git add . && git commit -q -m first && test -z "$(git status --porcelain)"
echo more >>src/main.c && test "$(git status --porcelain)" = ' M src/main.c'
git checkout -q -- src/main.c && test -z "$(git status --porcelain)"
git gc -q && git fsck --no-progress && test -z "$(git status --porcelain)"`)
}
