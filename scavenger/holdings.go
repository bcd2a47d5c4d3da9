package scavenger

import (
	"fmt"

	"github.com/scrfs/scrfs/scr"
)

// NodeCache is what one node has in its cache, as `scr-postrun list` prints it.
type NodeCache struct {
	Node     string          `json:"node,omitempty"`
	Datasets []CachedDataset `json:"datasets"` // by id
}

// CachedDataset is one node's part of a dataset.
type CachedDataset struct {
	ID scr.DatasetID `json:"id"`
	// Unsealed says why the dataset cannot be used: a rank of it was being
	// written when the run ended. "" for a sealed one.
	Unsealed string `json:"unsealed,omitempty"`
	// Dataset is the descriptor, the same at all ranks.
	Dataset scr.Dataset `json:"dataset"`
	// Dir is the dataset directory, relative to the prefix directory.
	Dir string `json:"dir,omitempty"`
	// Ranks is the number of ranks of the job, 0 if no file tells it.
	Ranks int        `json:"ranks,omitempty"`
	Held  []HeldRank `json:"held"` // by rank
}

// HeldRank is one rank of a dataset on one node.
type HeldRank struct {
	Rank scr.Rank `json:"rank"`
	// Missing says which file is not there or not whole; "" if all are.
	Missing string `json:"missing,omitempty"`
	// PartnerOf is the node whose files these are copies of; "" for own files.
	PartnerOf string `json:"partner_of,omitempty"`
	// Files and Bytes count the redundancy files too.
	Files int   `json:"files"`
	Bytes int64 `json:"bytes"`
	// Redundancy: the rank's redundancy file is there and whole.
	Redundancy bool `json:"redundancy"`
	// Set is the redundancy set, its Size 0 if the rank is in none.
	Set SetInfo `json:"set"`
}

// SetInfo says which redundancy set a rank is in and what it can mend.
type SetInfo struct {
	Scheme string   `json:"scheme,omitempty"` // SCR's word: SINGLE, PARTNER, XOR, RS
	ID     scr.Rank `json:"id"`               // lowest rank of the set
	Size   int      `json:"size"`             // members
	Mends  int      `json:"mends"`            // members that may be lost
}

// whole tells whether every user file of the rank is there.
func (h HeldRank) whole() bool { return h.Missing == "" }

// Validate refuses numbers that no job has, as they may come from a node whose
// memory or disk is damaged. Errors wrap scr.ErrInvalid.
func (c NodeCache) Validate() error {
	for _, d := range c.Datasets {
		if d.ID < 1 || d.ID > scr.MaxDatasetID || d.Ranks < 0 || d.Ranks > scr.MaxRanks {
			return fmt.Errorf("dataset %d of %d ranks: %w", d.ID, d.Ranks, scr.ErrInvalid)
		}
		for _, h := range d.Held {
			if h.Rank < 0 || h.Rank >= scr.MaxRanks || h.Set.Size < 0 || h.Set.Size > scr.MaxRanks || h.Bytes < 0 || h.Files < 0 {
				return fmt.Errorf("dataset %d: rank %d in a set of %d, %d files of %d bytes: %w", d.ID, h.Rank, h.Set.Size, h.Files, h.Bytes, scr.ErrInvalid)
			}
		}
	}
	return nil
}
