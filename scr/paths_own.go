package scr

import (
	"fmt"
	"path"
	"strings"
)

// Names that only scrfs has. They lie in .scr directories, where SCR does not
// look. All are relative to the prefix directory.

// Epoch is the file whose creation makes a node the leader of epoch n.
func (p Paths) Epoch(n int64) string { return path.Join(scrDir, fmt.Sprintf("epoch.%d", n)) }

// ParseEpoch reads the base name of an Epoch file.
func ParseEpoch(base string) (n int64, ok bool) {
	digits, ok := strings.CutPrefix(base, "epoch.")
	if !ok {
		return 0, false
	}
	n, err := parseNumber(digits, 0, MaxDatasetID)
	return n, err == nil
}

// IDBlock is the file whose creation reserves a block of dataset ids.
func (p Paths) IDBlock(first DatasetID) string {
	return path.Join(scrDir, fmt.Sprintf("ids.%d", first))
}

// ParseIDBlock reads the base name of an IDBlock file.
func ParseIDBlock(base string) (first DatasetID, ok bool) {
	digits, ok := strings.CutPrefix(base, "ids.")
	if !ok {
		return 0, false
	}
	first, err := ParseDatasetID(digits)
	return first, err == nil
}

// Stage is the directory in which a dataset is put together before it is
// renamed: beside its root, so that group, quota and layout are inherited from
// the same parent. Root is as in DatasetDir.
func (p Paths) Stage(id DatasetID, root string) string {
	return path.Join(path.Dir(path.Clean(root)), scrDir, fmt.Sprintf("stage.%d", id))
}

// Publish is the journal of a publication that takes several renames.
func (p Paths) Publish(id DatasetID) string {
	return path.Join(scrDir, fmt.Sprintf("publish.%d", id))
}

// Fenced keeps what an overtaken node had and nobody wants yet.
func (p Paths) Fenced() string { return path.Join(scrDir, "fenced") }
