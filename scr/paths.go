package scr

import (
	"fmt"
	"path"
	"strings"
)

// Names of SCR's files and directories.
const (
	scrDir      = ".scr"
	indexName   = "index.scr"
	flushName   = "flush.scr"
	haltName    = "halt.scr"
	nodesName   = "nodes.scr"
	currentName = "scr.current"
	summaryName = "summary.scr"
	masterName  = "filemap.scrinfo"
	xferName    = "transfer.scrinfo"
	lockSuffix  = ".lock"
)

// Paths names every file and directory of one family. All names are relative
// and cleaned: those of the prefix directory to it, those of the cache and the
// control directory to the job's directory there (JobDir).
//
// Where a method takes dir, it is the dataset directory relative to the prefix
// directory, as DatasetDir gives it and, in F11 and F14, as the index has it.
type Paths struct {
	Family Family
}

// JobDir is a job's directory below the base of the cache or of the control
// directories: <user>/scr.<jobid>. Errors wrap ErrEscape.
func JobDir(user, jobID string) (string, error) {
	for _, s := range []string{user, jobID} {
		if s == "" || s == "." || s == ".." || strings.ContainsAny(s, "/\x00") {
			return "", fmt.Errorf("job directory of user %s, job %s: %w", quote(user), quote(jobID), ErrEscape)
		}
	}
	return path.Join(user, "scr."+jobID), nil
}

// In the prefix directory.

// Meta is the directory of the index, flush, halt and nodes files.
func (p Paths) Meta() string {
	if p.Family == F11 {
		return "."
	}
	return scrDir
}

// Index is the list of datasets.
func (p Paths) Index() string { return path.Join(p.Meta(), indexName) }

// Flush says where each dataset is.
func (p Paths) Flush() string { return path.Join(p.Meta(), flushName) }

// Halt holds the conditions that end the job.
func (p Paths) Halt() string { return path.Join(p.Meta(), haltName) }

// Nodes holds the number of nodes of the last run.
func (p Paths) Nodes() string { return path.Join(p.Meta(), nodesName) }

// Current is F11's symbolic link to the dataset directory to restart from; ""
// in the other families, which keep it in the index.
func (p Paths) Current() string {
	if p.Family == F11 {
		return currentName
	}
	return ""
}

// DatasetDir is the directory of a dataset. Root is the dataset's one root
// directory, "" if it has none or several or loose files; only F14 uses it.
func (p Paths) DatasetDir(id DatasetID, root string) string {
	switch {
	case p.Family == F11:
		return DatasetName(id)
	case p.Family == F14 && root != "":
		return path.Clean(root)
	}
	return path.Join(scrDir, DatasetName(id))
}

// SCRDir is the directory in which SCR's files of a dataset lie: the dataset
// directory itself (F11, F12) or .scr in it (F14).
func (p Paths) SCRDir(dir string) string {
	if p.Family == F14 {
		return path.Join(dir, scrDir)
	}
	return path.Clean(dir)
}

// NameBase is the directory to which the names in a dataset's summary, rank2file
// and rank filemaps are relative: the dataset directory, in F12 the prefix.
func (p Paths) NameBase(dir string) string {
	if p.Family == F12 {
		return "."
	}
	return path.Clean(dir)
}

// Resolve turns a name found in such a file into one relative to the prefix
// directory. A name that leads out of the prefix directory gives ErrEscape.
func (p Paths) Resolve(dir, name string) (string, error) {
	rel, err := inside(p.NameBase(dir), name)
	if err != nil {
		return "", fmt.Errorf("name %s in dataset directory %s: %w", quote(name), quote(dir), err)
	}
	return rel, nil
}

// NameIn is the reverse of Resolve: the name that a file, given relative to the
// prefix directory, has in those files. It may begin with "../".
func (p Paths) NameIn(dir, rel string) string {
	base, rel := p.NameBase(dir), path.Clean(rel)
	if base == "." {
		return rel
	}
	from, to := strings.Split(base, "/"), strings.Split(rel, "/")
	same := 0
	for same < len(from) && same < len(to)-1 && from[same] == to[same] {
		same++
	}
	up := strings.Repeat("../", len(from)-same)
	return up + strings.Join(to[same:], "/")
}

// Summary tells whether the dataset is complete.
func (p Paths) Summary(dir string) string { return path.Join(p.SCRDir(dir), summaryName) }

// Rank2File is the top of the rank2file map; F11 has none, it is in the summary.
func (p Paths) Rank2File(dir string) string { return path.Join(p.SCRDir(dir), "rank2file.scr") }

// Rank2FilePart is the part of the rank2file map of one level, 0 for a leaf,
// that begins at a rank.
func (p Paths) Rank2FilePart(dir string, level int, first Rank) string {
	return path.Join(p.SCRDir(dir), fmt.Sprintf("rank2file.%d.%d.scr", level, first))
}

// RankFilemap is the filemap that a scavenge leaves for a rank.
func (p Paths) RankFilemap(dir string, r Rank) string {
	return path.Join(p.SCRDir(dir), p.RankFilemapName(r))
}

// Redundancy is a redundancy file after a scavenge. Name is XORName or the like.
func (p Paths) Redundancy(dir, name string) string { return path.Join(p.SCRDir(dir), name) }

// Container is container c of a dataset, counted from 0.
func (p Paths) Container(dir string, c int) string {
	return path.Join(p.SCRDir(dir), fmt.Sprintf("ctr.%d.scr", c))
}

// In the cache.

// CacheDataset is the cached dataset. Descriptor is the INDEX of the redundancy
// descriptor in use; only F11 has it in the name.
func (p Paths) CacheDataset(id DatasetID, descriptor int) string {
	if p.Family == F11 {
		return fmt.Sprintf("index.%d/dataset.%d", descriptor, id)
	}
	return DatasetName(id)
}

// CacheRedundancy is a redundancy file in the cache: beside the user files, in
// F12 in a directory .scr of its own.
func (p Paths) CacheRedundancy(id DatasetID, descriptor int, name string) string {
	if p.Family == F12 {
		return path.Join(p.CacheDataset(id, descriptor), scrDir, name)
	}
	return path.Join(p.CacheDataset(id, descriptor), name)
}

// In the control directory. These are the same in every family.

// MasterFilemap lists the filemaps of the node's processes.
func (p Paths) MasterFilemap() string { return masterName }

// ProcessFilemap is the filemap of the k-th process of the node, from 0.
func (p Paths) ProcessFilemap(k int) string { return fmt.Sprintf("filemap_%d.scrinfo", k) }

// Transfer holds the orders and the progress of an asynchronous flush.
func (p Paths) Transfer() string { return xferName }

// ControlFlush is the node's own copy of the flush file; only scrfs has it.
func (p Paths) ControlFlush() string { return flushName }

// Lock is the file that guards a file which is replaced by rename.
func (p Paths) Lock(name string) string { return name + lockSuffix }
