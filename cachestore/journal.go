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
	file    disk.File // nil if it was never opened, or rewriting it failed
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
	err := disk.WriteFile(j.control, journalName, data, filePerm)
	// The old file may have no name any more, and after an error nobody knows
	// which one has it: it is looked for when the next line is written.
	if j.file != nil {
		_ = j.file.Close()
	}
	j.file = nil
	if err != nil {
		return err
	}
	_, err = j.handle()
	return err
}

// handle is the open file. It stays open until the journal is rewritten or
// closed.
func (j *journal) handle() (disk.File, error) {
	if j.file != nil {
		return j.file, nil
	}
	data, err := disk.ReadFile(j.control, journalName)
	if err != nil {
		return nil, err
	}
	list, good, err := parseJournal(data)
	if err != nil {
		return nil, fmt.Errorf("journal %s: %w", journalName, err)
	}
	f, err := j.control.OpenFile(journalName, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	j.file, j.size, j.torn, j.lines = f, int64(good), good < len(data), len(list)
	return f, nil
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
