package cachestore

import (
	"errors"
	"fmt"
	"os"

	"github.com/scrfs/scrfs/internal/disk"
)

// journal is the file to which lines are appended. It is not safe for use by
// several goroutines at a time.
type journal struct {
	control disk.FS
	file    disk.File // nil if the file could not be opened after a rewrite
	size    int64     // bytes of whole lines
	torn    bool      // something may stand after them
	lines   int       // since it was last rewritten
}

// rewrite replaces the journal by the given lines, whole or not at all.
func (j *journal) rewrite(list []entry) error {
	var data []byte
	for _, e := range list {
		data = append(data, e.line()...)
	}
	if err := disk.WriteFile(j.control, journalName, data, filePerm); err != nil {
		return err
	}
	// The old file has no name any more: nothing is lost with it.
	if j.file != nil {
		j.file.Close()
	}
	j.file, j.size, j.torn, j.lines = nil, int64(len(data)), false, len(list)
	return j.open()
}

func (j *journal) open() error {
	f, err := j.control.OpenFile(journalName, os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("open journal: %w", err)
	}
	j.file = f
	return nil
}

// add writes lines in one piece. After an error none of them counts.
func (j *journal) add(list ...entry) error {
	if _, err := j.handle(); err != nil {
		return err
	}
	if j.torn {
		if err := j.file.Truncate(j.size); err != nil {
			return fmt.Errorf("mend journal: %w", err)
		}
		j.torn = false
	}
	var data []byte
	for _, e := range list {
		data = append(data, e.line()...)
	}
	if _, err := j.file.WriteAt(data, j.size); err != nil {
		j.torn = true
		if terr := j.file.Truncate(j.size); terr == nil {
			j.torn = false
		}
		return fmt.Errorf("write journal: %w", err)
	}
	j.size += int64(len(data))
	j.lines += len(list)
	return nil
}

func (j *journal) close() error {
	if j.file == nil {
		return nil
	}
	err := errors.Join(j.file.Sync(), j.file.Close())
	j.file = nil
	if err != nil {
		return fmt.Errorf("close journal: %w", err)
	}
	return nil
}

// handle is the open file. It stays open until the journal is rewritten or
// closed.
func (j *journal) handle() (disk.File, error) {
	if j.file == nil {
		if err := j.open(); err != nil {
			return nil, err
		}
	}
	return j.file, nil
}
