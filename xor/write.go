package xor

import (
	"fmt"
	"hash/crc32"
	"io"

	"github.com/scrfs/scrfs/scr"
)

// filesWriter cuts a logical file into its files, one open at a time.
type filesWriter struct {
	sink  Sink
	metas []scr.FileMeta
	done  []scr.FileMeta // finished, with their CRC
	open  io.WriteCloser // the file metas[len(done)], nil if not yet asked for
	bytes int64          // written to it
	crc   uint32         // of these
}

func newFilesWriter(sink Sink, metas []scr.FileMeta) *filesWriter {
	return &filesWriter{sink: sink, metas: metas, done: make([]scr.FileMeta, 0, len(metas))}
}

// write takes the next bytes of the logical file. Beyond the last file there is
// padding, which must be zeros.
func (w *filesWriter) write(data []byte) error {
	for len(data) > 0 && len(w.done) < len(w.metas) {
		if err := w.ensureOpen(); err != nil {
			return err
		}
		meta := w.metas[len(w.done)]
		part := data[:min(int64(len(data)), meta.SizeBytes-w.bytes)]
		if err := w.append(part); err != nil {
			return fmt.Errorf("file %q: %w", meta.File, err)
		}
		data = data[len(part):]
		if w.bytes == meta.SizeBytes {
			if err := w.closeFile(); err != nil {
				return err
			}
		}
	}
	for i, b := range data {
		if b != 0 {
			return fmt.Errorf("padding: byte %d after the files is %#02x, a survivor differs from what was encoded: %w",
				i, b, scr.ErrCorrupt)
		}
	}
	return nil
}

// finish makes the empty files at the end and returns all meta data.
func (w *filesWriter) finish() ([]scr.FileMeta, error) {
	for len(w.done) < len(w.metas) {
		if err := w.ensureOpen(); err != nil {
			return nil, err
		}
		if want := w.metas[len(w.done)].SizeBytes; w.bytes != want {
			panic(fmt.Sprintf("BUG: file %d has %d bytes of %d at the end", len(w.done), w.bytes, want))
		}
		if err := w.closeFile(); err != nil {
			return nil, err
		}
	}
	return w.done, nil
}

func (w *filesWriter) ensureOpen() error {
	if w.open != nil {
		return nil
	}
	meta := w.metas[len(w.done)]
	f, err := w.sink.File(len(w.done), meta)
	if err != nil {
		return fmt.Errorf("file %q: %w", meta.File, err)
	}
	w.open, w.bytes, w.crc = f, 0, 0
	return nil
}

func (w *filesWriter) append(part []byte) error {
	if len(part) == 0 {
		return nil
	}
	w.crc = crc32.Update(w.crc, crc32.IEEETable, part)
	w.bytes += int64(len(part))
	return writeAll(w.open, part)
}

func (w *filesWriter) closeFile() error {
	meta := w.metas[len(w.done)]
	err := w.open.Close()
	w.open = nil
	if err != nil {
		return fmt.Errorf("file %q: close: %w", meta.File, err)
	}
	if meta.HasCRC && meta.CRC != scr.CRC(w.crc) {
		return fmt.Errorf("file %q: rebuilt with crc %v, recorded is %v: %w", meta.File, scr.CRC(w.crc), meta.CRC, scr.ErrCorrupt)
	}
	meta.CRC, meta.HasCRC = scr.CRC(w.crc), true
	w.done = append(w.done, meta)
	return nil
}

// abandon closes what is open after an error that the caller reports.
func (w *filesWriter) abandon() {
	if w.open != nil {
		_ = w.open.Close() // the file is worthless already
		w.open = nil
	}
}

// redundancyWriter writes one redundancy file: its header at once, then the
// payload.
type redundancyWriter struct {
	open  io.WriteCloser
	meta  scr.FileMeta
	crc   uint32
	bytes int64
	want  int64
}

func newRedundancyWriter(sink Sink, h Header, f scr.Family) (*redundancyWriter, error) {
	name := h.FileName().Format(f)
	open, err := sink.Redundancy(h)
	if err != nil {
		return nil, fmt.Errorf("file %q: %w", name, err)
	}
	head := h.Encode(f)
	w := &redundancyWriter{
		open: open,
		meta: scr.FileMeta{File: name, Type: scr.XORFile, Ranks: h.Ranks, Complete: true},
		want: int64(len(head)) + h.ChunkBytes,
	}
	if err := w.write(head); err != nil {
		w.abandon()
		return nil, err
	}
	return w, nil
}

func (w *redundancyWriter) write(data []byte) error {
	w.crc = crc32.Update(w.crc, crc32.IEEETable, data)
	w.bytes += int64(len(data))
	if err := writeAll(w.open, data); err != nil {
		return fmt.Errorf("file %q: %w", w.meta.File, err)
	}
	return nil
}

func (w *redundancyWriter) finish() (scr.FileMeta, error) {
	if w.bytes != w.want {
		panic(fmt.Sprintf("BUG: redundancy file has %d bytes of %d at the end", w.bytes, w.want))
	}
	err := w.open.Close()
	w.open = nil
	if err != nil {
		return scr.FileMeta{}, fmt.Errorf("file %q: close: %w", w.meta.File, err)
	}
	w.meta.SizeBytes = w.bytes
	w.meta.CRC, w.meta.HasCRC = scr.CRC(w.crc), true
	return w.meta, nil
}

func (w *redundancyWriter) abandon() {
	if w.open != nil {
		_ = w.open.Close() // the file is worthless already
		w.open = nil
	}
}

func writeAll(w io.Writer, data []byte) error {
	n, err := w.Write(data)
	if err == nil && n < len(data) {
		err = io.ErrShortWrite
	}
	return err
}
