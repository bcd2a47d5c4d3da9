package scr

import (
	"math"

	"github.com/scrfs/scrfs/kvtree"
)

// Dataset describes a group of files that were written together (SCR's dataset
// descriptor). It stands under DSETDESC in filemaps and under DSET in redundancy
// files, summaries and the index.
//
// The zero value of a string means that it is not known; it is then not written.
type Dataset struct {
	// ID counts datasets from 1.
	ID DatasetID
	// Name is scr.dataset.<id> in F11 and F14, and what the application said in
	// F12.
	Name string
	// CreatedMicros is the time of creation in microseconds since the Unix
	// epoch; 0 if not known.
	CreatedMicros int64
	// User, JobName, JobID and Cluster say who made it, each if known.
	User, JobName, JobID, Cluster string
	// Checkpoint counts checkpoints from 1; 0 if one cannot restart from it.
	Checkpoint CheckpointID
	// Files and SizeBytes count the files of all ranks, without redundancy files.
	Files, SizeBytes int64
	// Complete: every rank said that its files are valid.
	Complete bool
	// Output: the dataset is output that the application must find in the prefix
	// directory. Only F12 can say it; in the others it is lost.
	Output bool
}

// Tree returns the descriptor as family f writes it.
func (d Dataset) Tree(f Family) *kvtree.Tree {
	t := kvtree.New()
	t.PutInt("ID", int64(d.ID))
	putText(t, keyName, d.Name)
	if f == F12 {
		putBool(t, "FLAG_CKPT", d.Checkpoint != 0)
		putBool(t, "FLAG_OUTPUT", d.Output)
	}
	if d.CreatedMicros != 0 {
		t.PutInt("CREATED", d.CreatedMicros)
	}
	putText(t, "USER", d.User)
	putText(t, "JOBNAME", d.JobName)
	putText(t, "JOBID", d.JobID)
	putText(t, "CLUSTER", d.Cluster)
	if d.Checkpoint != 0 {
		t.PutInt(keyCkpt, int64(d.Checkpoint))
	}
	t.PutInt(keyFiles, d.Files)
	t.PutInt(keySize, d.SizeBytes)
	putBool(t, keyComplete, d.Complete)
	return t
}

// DatasetFromTree reads the descriptor of any family. ID must be there; counts
// must not be negative. Errors wrap ErrInvalid.
func DatasetFromTree(t *kvtree.Tree) (Dataset, error) {
	f := fields{tree: t, record: "dataset descriptor"}
	d := Dataset{
		ID:            DatasetID(f.number("ID", 1, MaxDatasetID)),
		Name:          f.optText(keyName),
		CreatedMicros: f.optNumber("CREATED", 0, math.MaxInt64, 0),
		User:          f.optText("USER"),
		JobName:       f.optText("JOBNAME"),
		JobID:         f.optText("JOBID"),
		Cluster:       f.optText("CLUSTER"),
		Checkpoint:    CheckpointID(f.optNumber(keyCkpt, 0, MaxDatasetID, 0)),
		Files:         f.optNumber(keyFiles, 0, math.MaxInt64, 0),
		SizeBytes:     f.optNumber(keySize, 0, math.MaxInt64, 0),
		Complete:      f.optBool(keyComplete),
		Output:        f.optBool("FLAG_OUTPUT"),
	}
	if f.tree.Has("FLAG_CKPT") && !f.optBool("FLAG_CKPT") {
		d.Checkpoint = 0 // F12 may leave the number of the last checkpoint there
	}
	if f.err != nil {
		return Dataset{}, f.err
	}
	return d, nil
}
