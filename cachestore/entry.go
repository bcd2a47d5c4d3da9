package cachestore

import (
	"bytes"
	"fmt"
	"hash/crc32"
	"strconv"
	"strings"

	"github.com/scrfs/scrfs/scr"
)

// kind is what a line of the journal says.
type kind byte

const (
	kindEnter  kind = '+' // the file may be there
	kindDrop   kind = '-' // the file is gone
	kindMove   kind = 'm' // what is at or below path may be at to
	kindMoved  kind = 'M' // nothing is at or below path any more
	kindTouch  kind = 'w' // a sealed file was opened for writing
	kindCRC    kind = 'c' // number is the checksum of a sealed file
	kindForget kind = 'R' // the dataset is gone
	kindMark   kind = '#' // number of a filemap that is about to be written
)

// entry is one line of the journal. It has the fields that its kind needs.
type entry struct {
	kind    kind
	dataset scr.DatasetID
	path    string
	to      string
	number  int64
}

// line is the entry as it is written: the CRC32 of the rest in eight
// hexadecimal digits, a blank, and the fields with blanks between them. Paths
// are quoted, so a line never holds a line feed but at its end.
//
//	5e0b6e9c + 18 "run/ckpt.18/rank_0"
func (e entry) line() []byte {
	b := make([]byte, 9, 64+len(e.path)+len(e.to))
	b = append(b, byte(e.kind))
	if e.kind != kindMark {
		b = append(b, ' ')
		b = strconv.AppendInt(b, int64(e.dataset), 10)
	}
	if e.hasPath() {
		b = append(b, ' ')
		b = strconv.AppendQuote(b, e.path)
	}
	if e.kind == kindMove {
		b = append(b, ' ')
		b = strconv.AppendQuote(b, e.to)
	}
	if e.hasNumber() {
		b = append(b, ' ')
		b = strconv.AppendInt(b, e.number, 10)
	}
	copy(b, fmt.Sprintf("%08x ", crc32.ChecksumIEEE(b[9:])))
	return append(b, '\n')
}

func (e entry) hasPath() bool {
	switch e.kind {
	case kindEnter, kindDrop, kindMove, kindMoved, kindTouch, kindCRC:
		return true
	}
	return false
}

func (e entry) hasNumber() bool { return e.kind == kindCRC || e.kind == kindMark }

// parseEntry reads a line without its line feed. Errors wrap scr.ErrCorrupt; a
// path that leads out of the dataset wraps scr.ErrEscape.
func parseEntry(line []byte) (entry, error) {
	if len(line) < 10 || line[8] != ' ' {
		return entry{}, fmt.Errorf("line of %d bytes: %w", len(line), scr.ErrCorrupt)
	}
	if want := fmt.Sprintf("%08x", crc32.ChecksumIEEE(line[9:])); string(line[:8]) != want {
		return entry{}, fmt.Errorf("checksum is %q, want %s: %w", line[:8], want, scr.ErrCorrupt)
	}
	e := entry{kind: kind(line[9])}
	rest := string(line[10:])
	if strings.IndexByte("+-mMwcR#", byte(e.kind)) < 0 {
		return entry{}, fmt.Errorf("kind %q: %w", e.kind, scr.ErrCorrupt)
	}
	var err error
	if e.kind != kindMark {
		var text string
		text, rest = nextWord(rest)
		if e.dataset, err = scr.ParseDatasetID(text); err != nil {
			return entry{}, fmt.Errorf("%w: %w", scr.ErrCorrupt, err)
		}
	}
	if e.hasPath() {
		if e.path, rest, err = nextPath(e.dataset, rest); err != nil {
			return entry{}, err
		}
	}
	if e.kind == kindMove {
		if e.to, rest, err = nextPath(e.dataset, rest); err != nil {
			return entry{}, err
		}
	}
	if e.hasNumber() {
		var text string
		text, rest = nextWord(rest)
		if e.number, err = strconv.ParseInt(text, 10, 64); err != nil || e.number < 0 {
			return entry{}, fmt.Errorf("number %q: %w", text, scr.ErrCorrupt)
		}
	}
	if rest != "" {
		return entry{}, fmt.Errorf("more than a line should have: %q: %w", rest, scr.ErrCorrupt)
	}
	return e, nil
}

// nextWord takes a blank and what follows up to the next one.
func nextWord(s string) (word, rest string) {
	s, ok := strings.CutPrefix(s, " ")
	if !ok {
		return "", s
	}
	if i := strings.IndexByte(s, ' '); i >= 0 {
		return s[:i], s[i:]
	}
	return s, ""
}

func nextPath(id scr.DatasetID, s string) (p, rest string, err error) {
	s, ok := strings.CutPrefix(s, " ")
	quoted, err := strconv.QuotedPrefix(s)
	if err == nil && ok {
		p, err = strconv.Unquote(quoted)
	}
	if err != nil || !ok {
		return "", "", fmt.Errorf("path in %q: %w", s, scr.ErrCorrupt)
	}
	return p, s[len(quoted):], checkPath(id, p)
}

// parseJournal reads the lines of a journal. The last one may be torn, by a
// crash while it was written, and is left out then; good is the number of bytes
// before it. Any other damage is an error that names the line.
func parseJournal(data []byte) (list []entry, good int, err error) {
	for number := 1; good < len(data); number++ {
		end := bytes.IndexByte(data[good:], '\n')
		if end < 0 {
			break // torn: the line feed is written last
		}
		e, err := parseEntry(data[good : good+end])
		if err != nil {
			if good+end+1 == len(data) {
				break
			}
			return nil, 0, fmt.Errorf("line %d: %w", number, err)
		}
		list = append(list, e)
		good += end + 1
	}
	return list, good, nil
}
