package main

import (
	"fmt"
	"strings"
	"text/tabwriter"

	urfave "github.com/urfave/cli/v2"

	"github.com/scrfs/scrfs/indexer"
	"github.com/scrfs/scrfs/scr"
)

// entryJSON is a dataset of the index as --json shows it.
type entryJSON struct {
	ID         scr.DatasetID    `json:"id"`
	Name       string           `json:"name"`
	Family     string           `json:"family"`
	Complete   bool             `json:"complete"`
	Current    bool             `json:"current"`
	Checkpoint scr.CheckpointID `json:"checkpoint,omitempty"`
	Files      int64            `json:"files"`
	SizeBytes  int64            `json:"size_bytes"`
	Flushed    []scr.Stamp      `json:"flushed,omitempty"`
	Fetched    []scr.Stamp      `json:"fetched,omitempty"`
	Failed     []scr.Stamp      `json:"failed,omitempty"`
}

func entryOf(e indexer.Entry) entryJSON {
	out := entryJSON{
		ID: e.ID, Name: e.Name, Family: e.Family.String(), Complete: e.Complete == scr.LimitOf(1), Current: e.Current,
		Flushed: e.Flushed, Fetched: e.Fetched, Failed: e.Failed,
	}
	if d := e.Dataset; d != nil {
		out.Checkpoint, out.Files, out.SizeBytes = d.Checkpoint, d.Files, d.SizeBytes
	}
	return out
}

func showEntries(c *urfave.Context, entries []indexer.Entry) error {
	list := make([]entryJSON, len(entries))
	for i, e := range entries {
		list[i] = entryOf(e)
	}
	if c.Bool("json") {
		return writeJSON(c.App.Writer, list)
	}
	t := tabwriter.NewWriter(c.App.Writer, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "DATASET\tVALID\tCURRENT\tCHECKPOINT\tFILES\tBYTES\tFLUSHED\tNAME")
	for _, e := range list {
		ckpt, flushed := "-", "-"
		if e.Checkpoint != 0 {
			ckpt = e.Checkpoint.String()
		}
		if n := len(e.Flushed); n > 0 {
			flushed = string(e.Flushed[n-1])
		}
		fmt.Fprintf(t, "%d\t%s\t%s\t%s\t%d\t%d\t%s\t%s\n", e.ID, valid(e), mark(e.Current), ckpt, e.Files, e.SizeBytes, flushed, e.Name)
	}
	return t.Flush()
}

// valid is YES for what one can restart from as far as the index knows.
func valid(e entryJSON) string {
	switch {
	case !e.Complete:
		return "no"
	case len(e.Failed) > 0:
		return "failed"
	}
	return "yes"
}

func mark(b bool) string {
	if b {
		return "*"
	}
	return ""
}

func showEntry(c *urfave.Context, e indexer.Entry, what string) error {
	if c.Bool("json") {
		return writeJSON(c.App.Writer, entryOf(e))
	}
	_, err := fmt.Fprintf(c.App.Writer, "dataset %d (%s) %s\n", e.ID, e.Name, what)
	return err
}

// reportJSON is what --add and --verify found and did.
type reportJSON struct {
	ID        scr.DatasetID `json:"id"`
	Name      string        `json:"name"`
	Dir       string        `json:"dir"`
	Family    string        `json:"family"`
	Already   bool          `json:"already"`
	Ranks     int           `json:"ranks"`
	Files     int           `json:"files"`
	SizeBytes int64         `json:"size_bytes"`
	Rebuilt   []rebuiltJSON `json:"rebuilt"`
	Problems  []problemJSON `json:"problems"`
}

type rebuiltJSON struct {
	Set       scr.Rank `json:"set"`
	Rank      scr.Rank `json:"rank"`
	Files     int      `json:"files"`
	SizeBytes int64    `json:"size_bytes"`
	Kept      []string `json:"kept,omitempty"`
}

type problemJSON struct {
	Rank scr.Rank `json:"rank"`
	File string   `json:"file,omitempty"`
	What string   `json:"what"`
}

func reportOf(r indexer.Report) reportJSON {
	out := reportJSON{
		ID: r.Dataset.ID, Name: r.Name, Dir: r.Dir, Family: r.Family.String(), Already: r.Already, Ranks: r.Ranks, Files: r.Files, SizeBytes: r.SizeBytes,
		Rebuilt: rebuiltOf(r.Rebuilt), Problems: []problemJSON{},
	}
	if r.Scan != nil {
		for _, p := range append(r.Scan.Invalid, r.Scan.Problems...) {
			out.Problems = append(out.Problems, problemJSON{p.Rank, p.Name, p.Err.Error()})
		}
	}
	return out
}

func rebuiltOf(list []indexer.RebuiltRank) []rebuiltJSON {
	out := []rebuiltJSON{}
	for _, b := range list {
		out = append(out, rebuiltJSON{b.Set, b.Rank, b.Files, b.SizeBytes, b.Kept})
	}
	return out
}

func showReport(c *urfave.Context, r indexer.Report, done string) error {
	if c.Bool("json") {
		return writeJSON(c.App.Writer, reportOf(r))
	}
	showRebuilt(c, r.Rebuilt)
	if r.Already {
		_, err := fmt.Fprintf(c.App.Writer, "dataset %d (%s) is complete and in the index already\n", r.Dataset.ID, r.Name)
		return err
	}
	_, err := fmt.Fprintf(c.App.Writer, "dataset %d (%s) %s: %d ranks, %d files, %d bytes\n", r.Dataset.ID, r.Name, done, r.Ranks, r.Files, r.SizeBytes)
	return err
}

func showRebuilt(c *urfave.Context, list []indexer.RebuiltRank) {
	for _, b := range list {
		fmt.Fprintf(c.App.Writer, "rank %d rebuilt from set %d: %d files, %d bytes\n", b.Rank, b.Set, b.Files, b.SizeBytes)
		if len(b.Kept) > 0 {
			fmt.Fprintf(c.App.Writer, "rank %d: other files were in the way and are now %s\n", b.Rank, strings.Join(b.Kept, ", "))
		}
	}
}
