package scr

import (
	"fmt"

	"github.com/scrfs/scrfs/kvtree"
)

// FileType tells what wrote a file.
type FileType int

// UserFile is written by the application. XORFile and RSFile hold redundancy.
const (
	UserFile FileType = iota
	XORFile
	RSFile
)

// String is SCR's word since F14: USER, XOR or RS.
func (t FileType) String() string {
	switch t {
	case UserFile:
		return "USER"
	case XORFile:
		return "XOR"
	case RSFile:
		return "RS"
	}
	return fmt.Sprintf("FileType(%d)", int(t))
}

func (t FileType) text(f Family) string {
	if t == UserFile && f == F11 {
		return "FULL"
	}
	return t.String()
}

func parseFileType(s string) (FileType, error) {
	switch s {
	case "USER", "FULL", "PARTNER": // PARTNER: only SCR's notes have it, for a copy
		return UserFile, nil
	case "XOR":
		return XORFile, nil
	case "RS":
		return RSFile, nil
	}
	return 0, fmt.Errorf("%s is not USER, FULL, XOR or RS: %w", quote(s), ErrInvalid)
}

// FileMeta says what a file must be (SCR's meta data). A redundancy file has
// only File, Type, Ranks, SizeBytes, Complete and the checksum.
type FileMeta struct {
	// File is the name in the cache, relative to the cached dataset.
	File string
	Type FileType
	// Ranks is the number of ranks of the job, 0 if not known.
	Ranks int
	// Orig is the name as the application gave it; it may hold directories.
	Orig string
	// Path is the absolute directory in the prefix directory as it was named
	// then, and Name the base name in it. Both are hostile until Below.
	Path, Name string
	SizeBytes  int64
	// Complete: the file is valid.
	Complete bool
	// CRC counts only if HasCRC.
	CRC    CRC
	HasCRC bool
	// Attr holds the keys that scrfs adds; nil if there are none.
	Attr *FileAttr
}

// Tree returns the meta data as family f writes it.
func (m FileMeta) Tree(f Family) *kvtree.Tree {
	t := kvtree.New()
	putText(t, keyFile, m.File)
	t.PutString(keyType, m.Type.text(f))
	if m.Ranks != 0 {
		t.PutInt(keyRanks, int64(m.Ranks))
	}
	putText(t, "ORIG", m.Orig)
	putText(t, keyPath, m.Path)
	putText(t, keyName, m.Name)
	t.PutInt(keySize, m.SizeBytes)
	putBool(t, keyComplete, m.Complete)
	if m.HasCRC {
		t.PutString(keyCRC, m.CRC.String())
	}
	if m.Attr != nil {
		m.Attr.put(t)
	}
	return t
}

// FileMetaFromTree reads the meta data of any family. TYPE must be there, and
// SIZE unless the file is incomplete, which is how a killed job leaves files
// that it was writing. Errors wrap ErrInvalid.
func FileMetaFromTree(t *kvtree.Tree) (FileMeta, error) {
	f := fields{tree: t, record: "file meta data"}
	m := FileMeta{File: f.optText(keyFile)}
	if m.File != "" {
		f.record += " of " + quote(m.File)
	}
	if s, ok := f.need(keyType); ok {
		kind, err := parseFileType(s)
		if err != nil {
			f.fail("key %s: value %w", keyType, err)
		}
		m.Type = kind
	}
	m.Ranks = int(f.optNumber(keyRanks, 1, MaxRanks, 0))
	m.Orig = f.optText("ORIG")
	m.Path = f.optText(keyPath)
	m.Name = f.optText(keyName)
	m.Complete = f.optBool(keyComplete)
	if m.Complete || t.Has(keySize) { // a file still being written has no size
		m.SizeBytes = f.bytes(keySize)
	}
	m.CRC, m.HasCRC = f.optCRC(keyCRC)
	m.Attr = attrFromTree(&f)
	if f.err != nil {
		return FileMeta{}, f.err
	}
	return m, nil
}
