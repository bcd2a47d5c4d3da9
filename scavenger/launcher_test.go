package scavenger

import (
	"errors"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/scrfs/scrfs/scr"
)

func TestLauncherMakesOneArgumentOfTheCommand(t *testing.T) {
	argv := []string{"/opt/scr postrun", "copy", "--prefix", "/p/it's $HOME"}
	command := `'/opt/scr postrun' copy --prefix '/p/it'\''s $HOME'`
	for _, c := range []struct {
		launcher string
		want     []string
	}{
		{"ssh", []string{"ssh", "-o", "BatchMode=yes", "n7", command}},
		{"local", []string{"sh", "-c", command}},
		{"srun", []string{"srun", "--overlap", "--nodes=1", "--ntasks=1", "--nodelist=n7", "sh", "-c", command}},
		{`my\ ssh "-l me" root@{node} 'cd /tmp; {command}' ""`, []string{"my ssh", "-l me", "root@n7", "cd /tmp; " + command, ""}},
	} {
		l, err := ParseLauncher(c.launcher)
		if err != nil {
			t.Errorf("%s: %v", c.launcher, err)
			continue
		}
		if got := l.Command("n7", argv); !slices.Equal(got, c.want) {
			t.Errorf("%s: got %q, want %q", c.launcher, got, c.want)
		}
	}
}

func TestLauncherRefusesWhatCannotRun(t *testing.T) {
	for _, text := range []string{"", "rsh", "ssh {node}", "ssh '{command}", `ssh "{command}`, `{command} \`} {
		if _, err := ParseLauncher(text); !errors.Is(err, scr.ErrInvalid) {
			t.Errorf("%q: got %v, want ErrInvalid", text, err)
		}
	}
}

func TestNodeNamesHoldNoSurprise(t *testing.T) {
	for _, good := range []string{"atlas7", "n0", "a.b-c_d", "10.0.0.1", "fe80::1%eth0", "me@host"} {
		if err := CheckNode(good); err != nil {
			t.Error(err)
		}
	}
	for _, bad := range []string{"", "-oProxyCommand=x", "a b", "a;b", "$(x)", "a/b", "a\nb", "a'b", "{node}", "a|b", "é"} {
		if err := CheckNode(bad); !errors.Is(err, scr.ErrInvalid) {
			t.Errorf("%q: got %v, want ErrInvalid", bad, err)
		}
	}
}

// A shell and our own reader of words get back what Quote was given.
func TestQuotedWordsSurviveTheShell(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.StringOf(rapid.Rune().Filter(func(r rune) bool { return r != 0 })).Draw(t, "word")
		words, err := splitWords(Quote(word))
		if err != nil || len(words) != 1 || words[0] != word {
			t.Fatalf("%q: read as %q, %v", word, words, err)
		}
	})
	for _, word := range []string{"", " ", "'", `'"'`, "a b", "$HOME", "`id`", "*", "~", "a\nb", `\`, "!!", "é", "-n", "{a,b}", ";", "a=b"} {
		out, err := exec.Command("sh", "-c", "printf '<%s>' "+Quote(word)).Output()
		if err != nil || string(out) != "<"+word+">" {
			t.Errorf("%q: the shell has %q, %v", word, out, err)
		}
	}
}

func FuzzSplitWords(f *testing.F) {
	for _, s := range []string{"a b", `'a b'`, `"a\"b"`, `a\ b`, `"`, `'`, `\`, "''", "\"\\\n\""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		words, err := splitWords(s)
		if err != nil {
			return
		}
		quoted := make([]string, len(words))
		for i, w := range words {
			quoted[i] = Quote(w)
		}
		again, err := splitWords(strings.Join(quoted, " "))
		if err != nil || !slices.Equal(again, words) {
			t.Fatalf("%q: %q became %q, %v", s, words, again, err)
		}
	})
}
