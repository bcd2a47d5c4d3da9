package disk_test

import (
	"bytes"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/scrfs/scrfs/internal/disk"
	"pgregory.net/rapid"
)

// script does one thing after the other: "write f abc", "sync f", "syncdir d",
// "mkdir d", "rm f", "mv a b", "swap a b", "ln a b", "trunc f".
func script(t *testing.T, f disk.FS, lines ...string) {
	t.Helper()
	for _, line := range lines {
		w := append(strings.Fields(line), "")
		var err error
		switch w[0] {
		case "write":
			err = withFile(f, w[1], os.O_WRONLY|os.O_CREATE, func(o disk.File) error {
				_, err := o.Write([]byte(w[2]))
				return err
			})
		case "trunc":
			err = withFile(f, w[1], os.O_WRONLY|os.O_TRUNC, func(disk.File) error { return nil })
		case "sync":
			err = withFile(f, w[1], os.O_WRONLY, disk.File.Sync)
		case "syncdir":
			err = f.SyncDir(w[1])
		case "mkdir":
			err = f.Mkdir(w[1], 0o755)
		case "rm":
			err = f.Remove(w[1])
		case "mv":
			err = f.Rename(w[1], w[2])
		case "swap":
			err = f.Exchange(w[1], w[2])
		case "ln":
			err = f.Link(w[1], w[2])
		default:
			t.Fatalf("script: %s", line)
		}
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
	}
}

func withFile(f disk.FS, name string, flag int, do func(disk.File) error) error {
	o, err := f.OpenFile(name, flag, 0o644)
	if err != nil {
		return err
	}
	defer o.Close()
	return do(o)
}

// dump is the whole tree in one line: "d/ d/f=abc".
func dump(t *testing.T, f disk.FS, dir string) string {
	t.Helper()
	var out []string
	for _, n := range namesIn(t, f, dir) {
		name := strings.TrimPrefix(dir+"/"+n, "./")
		fi, err := f.Lstat(name)
		if err != nil {
			t.Fatal(err)
		}
		if fi.IsDir() {
			out = append(out, name+"/")
			if sub := dump(t, f, name); sub != "" {
				out = append(out, sub)
			}
			continue
		}
		b, err := disk.ReadFile(f, name)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, fmt.Sprintf("%s=%s", name, b))
	}
	return strings.Join(out, " ")
}

func TestCrashKeepsOnlyWhatWasSynced(t *testing.T) {
	base := []string{"mkdir d", "write f old", "sync f", "write d/g g", "sync d/g", "syncdir d", "syncdir ."}
	const baseTree = "d/ d/g=g f=old"
	for _, c := range []struct{ do, want string }{
		{"", baseTree},
		{"write f NEW", baseTree},
		{"write f NEW;sync f", "d/ d/g=g f=NEW"},
		{"write f NEW;sync f;write f XX", "d/ d/g=g f=NEW"},
		{"trunc f", baseTree},
		{"trunc f;sync f", "d/ d/g=g f="},
		{"write n n;sync n", baseTree},
		{"write n n;syncdir .", "d/ d/g=g f=old n="},
		{"write n n;sync n;syncdir .", "d/ d/g=g f=old n=n"},
		{"rm f", baseTree},
		{"rm f;syncdir .", "d/ d/g=g"},
		{"write n n;sync n;syncdir .;mv n f", "d/ d/g=g f=old n=n"},
		{"write n n;sync n;mv n f;syncdir .", "d/ d/g=g f=n"},
		{"write n n;mv n f;syncdir .", "d/ d/g=g f="},
		{"mv f d/f", baseTree},
		{"mv f d/f;syncdir d", "d/ d/f=old d/g=g f=old"},
		{"mv f d/f;syncdir .", "d/ d/g=g"},
		{"mv f d/f;syncdir d;syncdir .", "d/ d/f=old d/g=g"},
		{"ln f d/f;syncdir d;write f NEW;sync d/f", "d/ d/f=NEW d/g=g f=NEW"},
		{"swap f d/g;syncdir d;syncdir .", "d/ d/g=old f=g"},
		{"mv d e", baseTree},
		{"mv d e;syncdir .", "e/ e/g=g f=old"},
		{"mkdir e;syncdir .;mv d e/d;syncdir e", "e/ e/d/ e/d/g=g f=old"},
		{"mkdir e;syncdir .;mv d e/d", "d/ d/g=g e/ f=old"},
		{"mkdir e;mkdir e/x;syncdir e", baseTree},
		{"rm d/g;rm d;syncdir .", "f=old"},
		{"rm d/g;syncdir d;rm d", "d/ f=old"},
	} {
		m := disk.NewMem()
		script(t, m, base...)
		if c.do != "" {
			script(t, m, strings.Split(c.do, ";")...)
		}
		before := dump(t, m, ".")
		clone := m.CrashClone()
		if got := dump(t, clone, "."); got != c.want {
			t.Errorf("%s: got %q, want %q", c.do, got, c.want)
		}
		// A clone stands for itself: what it has is durable, what it does is
		// not seen by the other.
		if got := dump(t, clone.CrashClone(), "."); got != c.want {
			t.Errorf("%s, crashed twice: got %q, want %q", c.do, got, c.want)
		}
		script(t, clone, "write f QQQQ", "write new n", "sync f", "syncdir .")
		if got := dump(t, m, "."); got != before {
			t.Errorf("%s: the clone changed the original from %q to %q", c.do, before, got)
		}
	}
}

func TestCrashOfAViewClonesTheView(t *testing.T) {
	m := disk.NewMem()
	script(t, m, "mkdir d", "write d/f abc", "sync d/f", "syncdir d")
	v, err := m.Sub("d")
	if err != nil {
		t.Fatal(err)
	}
	if got := dump(t, v.(*disk.Mem).CrashClone(), "."); got != "f=abc" {
		t.Errorf("got %q", got)
	}
}

func TestLuckyCrashMixesOldAndNew(t *testing.T) {
	m := disk.NewMem()
	old, fresh := strings.Repeat("o", 4000), strings.Repeat("N", 6000)
	script(t, m, "write f "+old, "sync f", "syncdir .", "write f "+fresh, "write a a", "write b b")
	seen := map[string]bool{}
	for seed := range uint64(300) {
		c := m.CrashCloneSeed(seed)
		if again := dump(t, m.CrashCloneSeed(seed), "."); again != dump(t, c, ".") {
			t.Fatalf("seed %d: two different trees", seed)
		}
		b, err := disk.ReadFile(c, "f")
		if err != nil || len(b) < len(old) || len(b) > len(fresh) {
			t.Fatalf("seed %d: got %d bytes, %v", seed, len(b), err)
		}
		hasOld, hasNew := bytes.Contains(b, []byte("o")), bytes.Contains(b, []byte("N"))
		seen[fmt.Sprintf("old %v new %v", hasOld, hasNew)] = true
		names := namesIn(t, c, ".")
		seen[fmt.Sprint(names)] = true
		if slices.Contains(names, "b") && !slices.Contains(names, "a") {
			t.Errorf("seed %d: b was made after a but survived alone", seed)
		}
	}
	for _, want := range []string{"old true new true", "[f]", "[a f]", "[a b f]"} {
		if !seen[want] {
			t.Errorf("300 seeds never gave %s: %v", want, seen)
		}
	}
}

func TestDirectoryMovedByAHalfSyncedRenameHasOnePlace(t *testing.T) {
	m := disk.NewMem()
	script(t, m, "mkdir a", "mkdir a/x", "mkdir b", "write a/x/f 1", "sync a/x/f", "syncdir a/x", "syncdir a", "syncdir b", "syncdir .",
		"mv a/x b/x", "syncdir b")
	if got, want := dump(t, m.CrashClone(), "."), "a/ b/ b/x/ b/x/f=1"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	script(t, m, "mkdir c", "mv b/x c/x", "syncdir c", "syncdir .")
	if got, want := dump(t, m.CrashClone(), "."), "a/ b/ c/ c/x/ c/x/f=1"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestAnyHistoryCrashesWell: whatever was done, each crash leaves a tree that
// can be walked and used, and once all is synced nothing is lost.
func TestAnyHistoryCrashesWell(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		m := disk.NewMem()
		p := &player{fsys: m}
		for range rapid.IntRange(1, 60).Draw(rt, "steps") {
			p.play(drawStep(rt))
			look(rt, m.CrashClone(), ".")
			c := m.CrashCloneSeed(rapid.Uint64().Draw(rt, "seed"))
			look(rt, c, ".")
			if err := disk.RemoveAll(c, "a"); err != nil {
				rt.Fatal(err)
			}
		}
		syncAll(rt, m, ".")
		want := look(rt, m, ".")
		for _, c := range []*disk.Mem{m.CrashClone(), m.CrashCloneSeed(1)} {
			if got := look(rt, c, "."); got != want {
				rt.Fatalf("got\n%s\nwant\n%s", got, want)
			}
		}
	})
}

func syncAll(rt *rapid.T, f disk.FS, dir string) {
	list, err := f.ReadDir(dir)
	if err != nil {
		rt.Fatal(err)
	}
	for _, e := range list {
		name := path.Join(dir, e.Name())
		switch {
		case e.IsDir():
			syncAll(rt, f, name)
		case e.Type().IsRegular():
			if err := withFile(f, name, os.O_RDONLY, disk.File.Sync); err != nil {
				rt.Fatal(err)
			}
		}
	}
	if err := f.SyncDir(dir); err != nil {
		rt.Fatal(err)
	}
}
