package xor

import (
	"errors"
	"fmt"
	"io"
	"sort"

	"github.com/scrfs/scrfs/scr"
)

// Logical is the logical file of a member: its files one after the other in the
// order of the header, then zeros without end. It may be read from several
// goroutines at once if its files may.
type Logical struct {
	files  []scr.FileMeta
	open   []io.ReaderAt
	starts []int64 // starts[i] is the offset of file i; one more for the end
}

// NewLogical takes the files of a header and a reader for each, in the same
// order. The reader of an empty file is never used and may be nil.
func NewLogical(files []scr.FileMeta, open []io.ReaderAt) (*Logical, error) {
	if len(files) != len(open) {
		return nil, fmt.Errorf("%d files in the header, %d are open: %w", len(files), len(open), scr.ErrInvalid)
	}
	l := &Logical{files: files, open: open, starts: make([]int64, len(files)+1)}
	for i, f := range files {
		if open[i] == nil && f.SizeBytes > 0 {
			return nil, fmt.Errorf("file %q: no reader: %w", f.File, scr.ErrInvalid)
		}
		l.starts[i+1] = l.starts[i] + f.SizeBytes
	}
	return l, nil
}

// Bytes returns the size of the files together, without the zeros after them.
func (l *Logical) Bytes() int64 { return l.starts[len(l.files)] }

// ReadAt fills p from offset off, with zeros where the files have ended: there
// is no io.EOF. A file that ends before its recorded size is an error that
// names it and wraps scr.ErrCorrupt; bytes beyond that size are not looked at.
func (l *Logical) ReadAt(p []byte, off int64) (int, error) {
	n, err := l.readFiles(p, off)
	if err != nil {
		return n, err
	}
	clear(p[n:])
	return len(p), nil
}

// readFiles is ReadAt without the zeros: it returns how many bytes of p are
// from files, the rest of p is as it was.
func (l *Logical) readFiles(p []byte, off int64) (int, error) {
	if off < 0 {
		return 0, fmt.Errorf("logical file: offset %d: %w", off, scr.ErrInvalid)
	}
	n := 0
	// the first file that ends after off; empty ones never do
	for i := sort.Search(len(l.files), func(i int) bool { return l.starts[i+1] > off }); i < len(l.files) && n < len(p); i++ {
		at := off + int64(n) - l.starts[i]
		part := p[n:min(int64(len(p)), int64(n)+l.files[i].SizeBytes-at)]
		got, err := readFull(l.open[i], part, at)
		n += got
		if err != nil {
			return n, fmt.Errorf("file %q: %w", l.files[i].File, err)
		}
	}
	return n, nil
}

// readFull is ReadAt of bytes that must be there.
func readFull(r io.ReaderAt, p []byte, off int64) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	n, err := r.ReadAt(p, off)
	switch {
	case n == len(p):
		return n, nil // an io.EOF with the last bytes is no error
	case err == nil || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		return n, fmt.Errorf("ends at byte %d, before its recorded size: %w", off+int64(n), scr.ErrCorrupt)
	}
	return n, fmt.Errorf("byte %d: %w", off+int64(n), err)
}
