package scavenger

import (
	"errors"
	"fmt"
	"strings"

	"github.com/scrfs/scrfs/scr"
)

// Launcher is how a command gets to a node: the words of a program and its
// arguments, in which {node} stands for the node and {command} for the command,
// written for a shell and always part of one single argument. No shell reads
// the words themselves.
type Launcher struct{ words []string }

// launchers are those that have a name. ssh joins its arguments and hands them
// to a shell of the node, as pdsh does; srun starts a program, which is to be
// the shell then.
var launchers = map[string]string{
	"ssh":   "ssh -o BatchMode=yes {node} {command}",
	"srun":  "srun --overlap --nodes=1 --ntasks=1 --nodelist={node} sh -c {command}",
	"pdsh":  "pdsh -N -S -R ssh -w {node} {command}",
	"local": "sh -c {command}",
}

// ParseLauncher reads the name of a launcher (ssh, srun, pdsh, local) or a
// template. A template is cut into words as a shell does it: blanks separate,
// quotes and backslashes hold together. It must contain {command}. Errors wrap
// scr.ErrInvalid.
func ParseLauncher(text string) (Launcher, error) {
	template, named := launchers[text]
	if !named {
		template = text
	}
	words, err := splitWords(template)
	if err != nil {
		return Launcher{}, fmt.Errorf("launcher %q: %w: %w", text, err, scr.ErrInvalid)
	}
	for _, w := range words {
		if strings.Contains(w, "{command}") {
			return Launcher{words}, nil
		}
	}
	return Launcher{}, fmt.Errorf("launcher %q: neither a name (local, pdsh, srun, ssh) nor a template with {command}: %w", text, scr.ErrInvalid)
}

// Command returns program and arguments that run argv on a node.
func (l Launcher) Command(node string, argv []string) []string {
	quoted := make([]string, len(argv))
	for i, a := range argv {
		quoted[i] = Quote(a)
	}
	r := strings.NewReplacer("{node}", node, "{command}", strings.Join(quoted, " "))
	out := make([]string, len(l.words))
	for i, w := range l.words {
		out[i] = r.Replace(w)
	}
	return out
}

// Quote writes a word so that a POSIX shell reads it back as it is, whatever
// bytes but NUL it has.
func Quote(word string) string {
	if word != "" && strings.IndexFunc(word, special) < 0 {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// special tells whether a shell may see more in a character than itself. What
// is not known to be plain is special: the tilde, braces, and all beyond ASCII.
func special(r rune) bool {
	plain := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:,@%+", r)
	return !plain
}

// CheckNode refuses a node name that a launcher or a shell could take for
// something else: an option, a redirection, a second command. Host names have
// none of that. Errors wrap scr.ErrInvalid.
func CheckNode(node string) error {
	if node == "" || node[0] == '-' || strings.IndexFunc(node, special) >= 0 || strings.Contains(node, "/") {
		return fmt.Errorf("node name %q: only letters, digits and . _ : @ %% + - may be in it, the last not in front: %w", node, scr.ErrInvalid)
	}
	return nil
}

var (
	errQuote     = errors.New("a quote is not closed")
	errBackslash = errors.New("a backslash at the end")
)

// splitWords cuts as a POSIX shell does, without expanding anything.
func splitWords(s string) (words []string, err error) {
	var word strings.Builder
	inWord := false
	for i := 0; i < len(s); i++ {
		switch c := s[i]; c {
		case ' ', '\t', '\n':
			if inWord {
				words = append(words, word.String())
				word.Reset()
				inWord = false
			}
			continue
		case '\'':
			end := strings.IndexByte(s[i+1:], '\'')
			if end < 0 {
				return nil, errQuote
			}
			word.WriteString(s[i+1 : i+1+end])
			i += end + 1
		case '"':
			n, err := doubleQuoted(&word, s[i+1:])
			if err != nil {
				return nil, err
			}
			i += n
		case '\\':
			if i++; i == len(s) {
				return nil, errBackslash
			}
			word.WriteByte(s[i])
		default:
			word.WriteByte(c)
		}
		inWord = true
	}
	if inWord {
		words = append(words, word.String())
	}
	return words, nil
}

// doubleQuoted reads up to the closing quote and returns the bytes read, that
// quote included.
func doubleQuoted(word *strings.Builder, s string) (int, error) {
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"':
			return i + 1, nil
		case c == '\\' && i+1 < len(s) && strings.IndexByte("\"\\$`\n", s[i+1]) >= 0:
			i++
			if s[i] != '\n' {
				word.WriteByte(s[i])
			}
		default:
			word.WriteByte(c)
		}
	}
	return 0, errQuote
}
